"""Checks the cards that a plugin offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from benchsuite.contracts.cards import CONTRACT_VERSIONS, MethodCard
from benchsuite.host.info import PhaseError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchsuite.contracts.cards import Frozen
    from benchsuite.errors import UsageError

__all__ = ["explain", "validated"]

_SHOWN = 3


def validated(cards: Sequence[Any], hook: str, card_class: type[Frozen], package: str) -> tuple[Any, ...]:
    """Return the cards, checked and sorted by name.

    Args:
        cards: what ``hook`` returned.
        hook: for messages.
        card_class: what each must be.
        package: the plugin's top-level package, in which all targets must lie.

    Raises:
        PhaseError: a card is none, or not for this suite; the phase is "validate".
        ValidationError: a card has a wrong field.
    """
    checked: dict[str, Any] = {}
    for place, card in enumerate(cards):
        if not isinstance(card, card_class):
            wanted = card_class.__name__
            raise PhaseError("validate", f"{hook}()[{place}] is a {type(card).__name__}, not a {wanted}")
        # A second time: ``model_construct`` makes cards that nobody checked.
        sound: Any = card_class.model_validate(card.model_dump(warnings=False))
        _check_targets(sound, package)
        _check_contract(sound)
        if sound.name in checked:
            raise PhaseError("validate", f"{hook}() returned two cards named {sound.name!r}")
        checked[sound.name] = sound
    return tuple(checked[name] for name in sorted(checked))


def explain(error: ValidationError | UsageError) -> str:
    """Return one line that names the card's class, the wrong fields, and what is wrong with each."""
    if not isinstance(error, ValidationError):
        return str(error)
    causes = [f"{'.'.join(map(str, e['loc'])) or 'card'}: {e['msg']}" for e in error.errors(include_url=False)]
    more = f" (and {len(causes) - _SHOWN} more)" if len(causes) > _SHOWN else ""
    return f"{error.title}: {'; '.join(causes[:_SHOWN])}{more}"


def _check_targets(card: Any, package: str) -> None:
    for field in ("target", "fetch"):
        target = getattr(card, field, None)
        if target is None:
            continue
        module = target.partition(":")[0]
        if module.partition(".")[0] != package:
            cause = f"{card.name!r} has {field} {target!r}, which is outside the plugin's package {package!r}"
            raise PhaseError("validate", cause)


def _check_contract(card: Any) -> None:
    if not isinstance(card, MethodCard):
        return
    wanted = CONTRACT_VERSIONS[card.kind]
    if card.contract != wanted:
        cause = f"method {card.name!r} is made for {card.kind} contract {card.contract}; this benchsuite has {wanted}"
        raise PhaseError("validate", cause)
