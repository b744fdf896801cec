"""One task of a board, or one group of tasks, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchsuite.boards.falsifiers import Verdict
    from benchsuite.boards.rows import Row
    from benchsuite.contracts.cards import Metric, TaskCard


@dataclass(frozen=True)
class TaskBoard:
    """One task of a board."""

    name: str
    card: TaskCard | None
    """None where no plugin offers the task any more."""
    protocol: str
    metrics: tuple[Metric, ...]
    """The first is the one that ranks."""
    seeds: tuple[int, ...]
    """All seeds that any row has a record of."""
    rows: tuple[Row, ...]
    """The reference first, then by bit-width and value."""
    remarks: tuple[str, ...]
    """Why there are no differences, or a group has no ranks; plain text."""
    verdicts: tuple[Verdict, ...] = ()
    """What the falsifiers on the methods' cards say."""

    @property
    def metric(self) -> Metric:
        """The metric that ranks."""
        return self.metrics[0]

    @property
    def reference(self) -> Row | None:
        """The reference's row (on the CPU where there are several), or None."""
        return next((row for row in self.rows if row.reference), None)
