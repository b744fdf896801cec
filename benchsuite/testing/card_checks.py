"""Checks of one method's card and constructor: what every kind must keep before any of it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from benchsuite.contracts.cards import CONTRACT_VERSIONS, MethodCard
from benchsuite.testing.findings import finding

if TYPE_CHECKING:
    from benchsuite.testing.specimen import Specimen


def card_is_valid(specimen: Specimen) -> None:
    """The card keeps its own rules and is made for this version of the contract."""
    card = specimen.card
    try:
        MethodCard.model_validate(card.model_dump())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the card"
        raise finding(f"{place}: {first['msg']}", "a valid card", "Mend that field") from error
    wanted = CONTRACT_VERSIONS[card.kind]
    if card.contract != wanted:
        found = f"contract={card.contract} for kind {card.kind!r}"
        raise finding(found, f"version {wanted}", "Read what changed in benchsuite/contracts, then raise the number")


def card_names_its_sources(specimen: Specimen) -> str | None:
    """Published figures come with their paper, and a paper with every departure from it."""
    card = specimen.card
    if card.reported and card.paper is None:
        found = f"{len(card.reported)} published figures and no paper"
        raise finding(found, "where they were published", "Add paper=Paper(...) to the card")
    if card.paper is not None and not card.departures:
        mend = "List every way in which the code is not what the paper says or decides what it leaves open"
        raise finding("a paper and no departures", "at least one line, if only that none is known", mend)
    return None if card.paper else "no paper: a baseline, or unpublished"


def target_loads(specimen: Specimen) -> None:
    """The card's target imports and takes the card's parameters by keyword."""
    specimen.make()


def target_quantizes(specimen: Specimen) -> None:
    """What the target makes has the method ``quantize``."""
    method = specimen.make()
    if not callable(getattr(method, "quantize", None)):
        found = f"{specimen.card.target} makes {type(method).__name__}, which has no quantize()"
        raise finding(found, "a Quantizer", "Write quantize(self, job), see benchsuite/contracts/quantizer.py")
