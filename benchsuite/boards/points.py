"""What a board's picture shows, as numbers; :mod:`benchsuite.boards.picture` draws it, and needs matplotlib."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchsuite.boards.board import Board
    from benchsuite.boards.statistics import Estimate
    from benchsuite.boards.taskboard import TaskBoard

#: Where a difference lies farther from zero than this, the axis is logarithmic beyond one point.
LINEAR_UP_TO = 5.0


@dataclass(frozen=True)
class Point:
    """One competitor on one task."""

    family: str
    """What shares a colour: the label without bit-width."""
    bits: int | None
    sham: bool
    cost: float
    difference: Estimate


def points(task: TaskBoard) -> list[Point]:
    """Return what can be drawn of ``task``: rows with a difference and a positive cost."""
    return [
        Point(row.entry.family, row.entry.bits, row.entry.sham, row.cost.ratio, row.difference)
        for row in task.rows
        if row.difference is not None and row.cost is not None and row.cost.ratio > 0
    ]


def bent(found: Iterable[Point]) -> bool:
    """Return whether the difference axis is logarithmic beyond one point, since some point lies far from zero."""
    return any(abs(point.difference.mean) > LINEAR_UP_TO for point in found)


def tag(board: Board) -> str:
    """Return the text by which a picture names the records that it was made from."""
    return f"records {board.counted.fingerprint}"
