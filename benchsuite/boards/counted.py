"""Which records count: those under the key that a run would plan today."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from benchsuite.errors import UsageError
from benchsuite.store.order import moment
from benchsuite.store.records import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from benchsuite.contracts.cards import Kind
    from benchsuite.host import Catalogue
    from benchsuite.store import Store
    from benchsuite.store.records import CellKey, CellRecord


@dataclass(frozen=True)
class Recipe:
    """Records whose keys agree in all but the seed: where one of them counts, all do."""

    key: CellKey
    """The key of the first."""
    records: list[CellRecord]

    @cached_property
    def newest(self) -> tuple[str, str]:
        """When the last of the records was made."""
        return max(map(moment, self.records))


@dataclass(frozen=True)
class Counted:
    """The records behind one board."""

    recipes: tuple[Recipe, ...]
    """All that have records that count. What is equal may be in several of them."""
    stale: int
    """Cells that were left out because method, task, data or protocol have changed since."""

    @cached_property
    def records(self) -> tuple[CellRecord, ...]:
        """One for each cell, in no order that means anything."""
        return tuple(record for recipe in self.recipes for record in recipe.records)

    @cached_property
    def newest(self) -> str:
        """When the newest of the records was started, to the second; an empty text where there is none."""
        newest = max((record.started for record in self.records), default="")
        return f"{newest[:19].replace('T', ' ')} UTC" if newest else ""

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the records' own hashes: what the board was made from."""
        return digest(sorted(record.hash for record in self.records))


def count(store: Store, catalogue: Catalogue, kind: Kind) -> Counted:
    """Return the records of ``kind`` that count.

    A record counts while its method's version and parameters, and its task's version, configuration and protocol, are
    those of the cards. What no card says (the data's hash; everything about a task or a method that is not installed
    any more) is taken as the newest record has it.
    """
    recipes = _recipes(store.latest().values(), kind)
    current = [recipe for recipe in recipes if _task_is_current(recipe, catalogue)]
    current = [recipe for recipe in current if _methods_are_current(recipe, catalogue)]
    current = _newest_variant(current, lambda recipe: [("", recipe.key["task"], _task_variant(recipe))])
    current = _newest_variant(current, _method_variants)
    return Counted(tuple(current), _number(recipes) - _number(current))


def _number(recipes: Iterable[Recipe]) -> int:
    return sum(len(recipe.records) for recipe in recipes)


def _recipes(records: Iterable[CellRecord], kind: Kind) -> list[Recipe]:
    """Group the records of ``kind``, in one go: there may be a hundred thousand.

    Equal methods are told by being one object, which they are in records that a store read.
    """
    found: dict[tuple[object, ...], Recipe] = {}
    for record in records:
        key = record.key
        methods, task, data = key["methods"], key["task"], key["data"]
        same = (id(methods), task, data, key["config"], key["task_version"], key["protocol"], key["device"])
        recipe = found.get(same)
        if recipe is not None:
            recipe.records.append(record)
        elif kind in methods:
            found[same] = Recipe(key, [record])
    return list(found.values())


def _task_is_current(recipe: Recipe, catalogue: Catalogue) -> bool:
    key = recipe.key
    card = catalogue.tasks.get(key["task"])
    if card is None:
        return True
    wanted = (card.version, card.protocol, digest(dict(card.config)))
    return (key["task_version"], key["protocol"], key["config"]) == wanted


def _methods_are_current(recipe: Recipe, catalogue: Catalogue) -> bool:
    return all(_is_current(kind, method, catalogue) for kind, method in recipe.key["methods"].items())


def _is_current(kind: str, method: Mapping[str, Any], catalogue: Catalogue) -> bool:
    card = catalogue.methods.get(method["name"])
    if card is None:
        return True
    if (card.kind, card.version) != (kind, method["version"]):
        return False
    try:
        return bool(card.resolve(method["params"]) == method["params"])
    except UsageError:  # a parameter has gone, or the value is outside its domain now
        return False


#: What a variant is of (a kind or nothing, and a name), and which variant it is.
Variant = tuple[str, str, str]


def _task_variant(recipe: Recipe) -> str:
    key = recipe.key
    return json.dumps([key["task_version"], key["config"], key["data"], key["protocol"]])


def _method_variants(recipe: Recipe) -> Iterable[Variant]:
    return [(kind, method["name"], method["version"]) for kind, method in recipe.key["methods"].items()]


def _newest_variant(recipes: list[Recipe], variants: Callable[[Recipe], Iterable[Variant]]) -> list[Recipe]:
    """Return the recipes all of whose variants are, for their subject, those of the subject's newest record."""
    found: dict[tuple[str, str], dict[str, list[Recipe]]] = defaultdict(lambda: defaultdict(list))
    for recipe in recipes:
        for kind, name, variant in variants(recipe):
            found[kind, name][variant].append(recipe)
    newest = {subject: _newest(own) for subject, own in found.items()}
    return [r for r in recipes if all(newest[kind, name] == variant for kind, name, variant in variants(r))]


def _newest(variants: Mapping[str, Sequence[Recipe]]) -> str:
    if len(variants) == 1:  # as nearly all are; no record need be looked at
        return next(iter(variants))
    return max((max(recipe.newest for recipe in own), variant) for variant, own in variants.items())[1]
