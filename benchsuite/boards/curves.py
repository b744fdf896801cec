"""The loss curves of a board's arms as numbers; :mod:`benchsuite.boards.curves_picture` draws them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchsuite.boards.matrix import make_matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchsuite.boards.board import Board
    from benchsuite.boards.rows import Row
    from benchsuite.boards.taskboard import TaskBoard
    from benchsuite.host import Catalogue

#: The samples that a curve is made of: a loss, and what was spent until then in two units.
LOSS, STEPS, SPENT = "curve_loss", "curve_step", "curve_layer_tokens"


@dataclass(frozen=True)
class Curve:
    """One arm, averaged over seeds."""

    first: str
    """Level of the first factor."""
    second: str
    steps: tuple[float, ...]
    spent: tuple[float, ...]
    """Active-layer tokens."""
    loss: tuple[float, ...]
    appends: tuple[int, ...]
    """Indices of the points that lie right behind an append."""
    seeds: int


def curves(task: TaskBoard, catalogue: Catalogue) -> list[Curve]:
    """Return the curves of ``task``'s arms, in the order of the matrix; those without samples have none."""
    matrix = make_matrix(task, catalogue)
    if matrix is None:
        return []
    arms = [(a, b) for a in matrix.levels[0] for b in matrix.levels[1] if (a, b) in matrix.rows]
    made = [_curve(arm, matrix.rows[arm]) for arm in arms]
    return [curve for curve in made if curve is not None]


def has_curves(board: Board, catalogue: Catalogue) -> bool:
    """Return whether the board's picture is one of curves: on the page of curricula, where records have some."""
    return board.kind == "curriculum" and any(curves(task, catalogue) for task in board.tasks)


def _curve(arm: tuple[str, str], row: Row) -> Curve | None:
    series = [_series(record.samples) for record in row.records if record.status == "ok"]
    whole = [each for each in series if each is not None]
    # Arms of a task have the same phases; a record of another length is of another version and left out.
    whole = [each for each in whole if each.shape == whole[0].shape]
    if not whole:
        return None
    steps, spent, loss = (tuple(float(value) for value in line) for line in np.mean(whole, axis=0))
    return Curve(*arm, steps, spent, loss, _appends(row, steps), len(whole))


def _appends(row: Row, steps: Sequence[float]) -> tuple[int, ...]:
    """Return where other blocks became active than before, as the first record says."""
    phases: Any = row.records[0].notes.get("phases")
    if not isinstance(phases, list) or not all(isinstance(phase, dict) for phase in phases):
        return ()
    found, done, before = [], 0.0, None
    for phase in phases:
        if before is not None and phase.get("active") != before:
            found.append(next((i for i, step in enumerate(steps) if step > done), len(steps) - 1))
        done, before = done + float(phase.get("steps", 0)), phase.get("active")
    return tuple(found)


def _series(samples: dict[str, list[float | None]]) -> np.ndarray | None:
    """Return steps, spent and loss of one record, ``[3, points]``; None where one is missing or not a number."""
    lines: Sequence[list[float | None]] = [samples.get(name, []) for name in (STEPS, SPENT, LOSS)]
    if not lines[0] or len({len(line) for line in lines}) > 1 or any(None in line for line in lines):
        return None
    return np.array(lines, dtype=np.float64)
