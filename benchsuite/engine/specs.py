"""Read ``--plugin`` specifications: ``NAME`` or ``NAME[param=value,param=v1|v2]``."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchsuite.engine.cells import MethodRef, method_ref
from benchsuite.errors import UsageError, near

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from benchsuite.contracts.cards import MethodCard, Parameter, Scalar
    from benchsuite.host import Catalogue

_SPEC = re.compile(r"(?P<name>[^\[\]\s]+)\s*(?:\[(?P<inside>[^\[\]]*)\])?")


@dataclass(frozen=True)
class Spec:
    """One ``--plugin`` value, taken apart."""

    name: str
    """A plugin, a method, or ``PLUGIN/METHOD``."""
    pins: Mapping[str, tuple[str, ...]]
    """For each parameter in brackets its values, as text."""


@dataclass(frozen=True)
class Choice:
    """A method with every parameter decided."""

    card: MethodCard
    ref: MethodRef


def parse_spec(text: str) -> Spec:
    """Take ``text`` apart.

    Raises:
        UsageError: it is not of the form ``NAME[param=value,param=v1|v2]``.
    """
    match = _SPEC.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--plugin {text!r} cannot be read", "Write NAME or NAME[param=value,param=v1|v2]")
    pins: dict[str, tuple[str, ...]] = {}
    for part in filter(None, map(str.strip, (match["inside"] or "").split(","))):
        name, equals, values = (piece.strip() for piece in part.partition("="))
        if not (name and equals and values) or name in pins:
            raise UsageError(f"--plugin {text!r}: {part!r} cannot be read", "Write each parameter once, as param=value")
        pins[name] = tuple(value.strip() for value in values.split("|"))
    return Spec(match["name"], pins)


def choose(catalogue: Catalogue, texts: Iterable[str]) -> list[Choice]:
    """Return the methods that specifications name, with parameters, each once, in the order named.

    A plugin's name stands for all of its methods; pins then select those that have the parameters. A parameter that is
    not pinned takes its card's grid, or its default where there is none.

    Raises:
        UsageError: an unknown name, parameter or value.
        PluginError: the name is a broken plugin's.
    """
    choices: dict[tuple[str, str], Choice] = {}
    for spec in map(parse_spec, texts):
        for card in _cards(catalogue, spec):
            for params in _expand(card, spec.pins):
                choice = Choice(card, method_ref(card, params))
                choices.setdefault((card.name, choice.ref.label), choice)
    return list(choices.values())


def _cards(catalogue: Catalogue, spec: Spec) -> Sequence[MethodCard]:
    plugin, slash, method = spec.name.partition("/")
    if slash:
        cards: Sequence[MethodCard] = [card for card in _of_plugin(catalogue, plugin) if card.name == method]
        if not cards:
            names = [card.name for card in _of_plugin(catalogue, plugin)]
            raise UsageError(f"plugin {plugin!r} has no method {method!r}", near(method, names))
    elif _is_plugin(catalogue, spec.name):
        cards = _of_plugin(catalogue, spec.name)
    else:
        cards = [_method(catalogue, spec.name)]
    fitting = [card for card in cards if spec.pins.keys() <= {parameter.name for parameter in card.parameters}]
    if not fitting:
        _complain(cards, spec)
    return fitting


def _complain(cards: Sequence[MethodCard], spec: Spec) -> None:
    """Say which parameter none of ``cards`` has; or that no card has all of them."""
    if len(cards) == 1:
        for name in spec.pins:
            cards[0].parameter(name)
    known = {parameter.name for card in cards for parameter in card.parameters}
    for name in spec.pins:
        if name not in known:
            raise UsageError(f"no method of plugin {spec.name!r} has a parameter {name!r}", near(name, known))
    raise UsageError(f"no method of plugin {spec.name!r} has all of the parameters " + ", ".join(spec.pins))


def _is_plugin(catalogue: Catalogue, name: str) -> bool:
    return any(plugin.name == name for plugin in catalogue.plugins)


def _of_plugin(catalogue: Catalogue, name: str) -> Sequence[MethodCard]:
    if not _is_plugin(catalogue, name):
        raise UsageError(f"there is no plugin {name!r}", near(name, [plugin.name for plugin in catalogue.plugins]))
    cards = catalogue.methods_of(name)
    if not cards:
        raise UsageError(f"plugin {name!r} offers no method", "See: benchsuite list plugins")
    return cards


def _method(catalogue: Catalogue, name: str) -> MethodCard:
    """Return the method ``name``; where there is none, offer near names of methods and of plugins."""
    broken = {plugin.name for plugin in catalogue.broken}
    if name in catalogue.methods or name in broken:
        return catalogue.method(name)
    known = {*catalogue.methods, *(plugin.name for plugin in catalogue.plugins if catalogue.methods_of(plugin.name))}
    raise UsageError(f"there is no plugin or method {name!r}", near(name, known))


def _expand(card: MethodCard, pins: Mapping[str, tuple[str, ...]]) -> Iterator[dict[str, Scalar]]:
    values = [_values(parameter, pins.get(parameter.name)) for parameter in card.parameters]
    names = [parameter.name for parameter in card.parameters]
    for combination in itertools.product(*values):
        yield dict(zip(names, combination, strict=True))


def _values(parameter: Parameter, pinned: tuple[str, ...] | None) -> tuple[Scalar, ...]:
    if pinned is not None:
        return tuple(map(parameter.parse, pinned))
    return parameter.grid or (parameter.default,)
