"""Which records count: those under the key that a run would plan today."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchsuite.errors import UsageError
from benchsuite.store.records import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from benchsuite.contracts.cards import Kind
    from benchsuite.host import Catalogue
    from benchsuite.store import Store
    from benchsuite.store.records import CellRecord


@dataclass(frozen=True)
class Counted:
    """The records behind one board."""

    records: tuple[CellRecord, ...]
    """One for each cell, sorted by cell."""
    stale: int
    """Cells that were left out because method, task, data or protocol have changed since."""

    @property
    def newest(self) -> str:
        """When the newest of the records was started, to the second; an empty text where there is none."""
        newest = max((record.started for record in self.records), default="")
        return f"{newest[:19].replace('T', ' ')} UTC" if newest else ""

    @property
    def fingerprint(self) -> str:
        """Hash of the records' own hashes: what the board was made from."""
        return digest(sorted(record.hash for record in self.records))


def count(store: Store, catalogue: Catalogue, kind: Kind) -> Counted:
    """Return the records of ``kind`` that count.

    A record counts while its method's version and parameters, and its task's version, configuration and protocol, are
    those of the cards. What no card says (the data's hash; everything about a task or a method that is not installed
    any more) is taken as the newest record has it.
    """
    cells = [record for _, record in sorted(store.latest().items()) if kind in record.key["methods"]]
    current = [record for record in cells if _task_is_current(record, catalogue)]
    current = [record for record in current if _methods_are_current(record, catalogue)]
    current = _newest_variant(current, lambda record: [("", record.key["task"], _task_variant(record))])
    current = _newest_variant(current, _method_variants)
    return Counted(tuple(current), len(cells) - len(current))


def _task_is_current(record: CellRecord, catalogue: Catalogue) -> bool:
    key = record.key
    card = catalogue.tasks.get(key["task"])
    if card is None:
        return True
    wanted = (card.version, card.protocol, digest(dict(card.config)))
    return (key["task_version"], key["protocol"], key["config"]) == wanted


def _methods_are_current(record: CellRecord, catalogue: Catalogue) -> bool:
    return all(_is_current(kind, method, catalogue) for kind, method in record.key["methods"].items())


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


def _task_variant(record: CellRecord) -> str:
    key = record.key
    return json.dumps([key["task_version"], key["config"], key["data"], key["protocol"]])


def _method_variants(record: CellRecord) -> Iterable[Variant]:
    return [(kind, method["name"], method["version"]) for kind, method in record.key["methods"].items()]


def _newest_variant(records: list[CellRecord], variants: Callable[[CellRecord], Iterable[Variant]]) -> list[CellRecord]:
    """Return the records all of whose variants are, for their subject, those of the subject's newest record."""
    newest: dict[tuple[str, str], tuple[str, str]] = defaultdict(lambda: ("", ""))
    for record in records:
        for kind, name, variant in variants(record):
            newest[kind, name] = max(newest[kind, name], (record.started, variant))
    return [r for r in records if all(newest[kind, name][1] == variant for kind, name, variant in variants(r))]
