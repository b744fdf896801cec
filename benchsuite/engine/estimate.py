"""How long the cells that are left will take, learnt from those that are done."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from benchsuite.store.order import moment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchsuite.engine.cells import Cell
    from benchsuite.store.records import CellKey, CellRecord

#: Of the newest durations so many count: machines and code get faster.
_WINDOW = 20


class Durations:
    """Wall times of cells by what they have in common.

    Args:
        records: earlier records, of which the ok ones count.
    """

    def __init__(self, records: Iterable[CellRecord] = ()) -> None:
        self._seen: dict[tuple[str, ...], list[float]] = defaultdict(list)
        for record in sorted(records, key=moment):
            self.learn(record)

    def learn(self, record: CellRecord) -> None:
        """Take one more record into account."""
        if record.status == "ok":
            for level in _levels(record.key):
                self._seen[level].append(record.seconds)

    def expect(self, cell: Cell) -> float | None:
        """Return the seconds that ``cell`` will take; None where nothing is known.

        The median over the same methods on the same task; or else over the same methods, the same task, or all.
        """
        for level in _levels(cell.key()):
            if level in self._seen:
                return statistics.median(self._seen[level][-_WINDOW:])
        return None

    def remaining(self, cells: Iterable[Cell], jobs: int) -> float | None:
        """Return the seconds that ``cells`` will take with ``jobs`` at a time; None where nothing is known."""
        expected = [self.expect(cell) for cell in cells]
        known = [seconds for seconds in expected if seconds is not None]
        if len(known) < len(expected):
            return None
        return sum(known) / jobs


def _levels(key: CellKey | dict[str, Any]) -> list[tuple[str, ...]]:
    """Return what a cell has in common with others, the most telling first."""
    methods = key["methods"]
    names = sorted(f"{kind}={method['name']}{sorted(method['params'].items())}" for kind, method in methods.items())
    return [("both", str(key["task"]), *names), ("methods", *names), ("task", str(key["task"])), ("all",)]
