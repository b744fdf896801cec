"""The matrix of a two-factor task as Markdown: arms, interaction, costs, blocks, and the published figures."""

from __future__ import annotations

from statistics import fmean, median
from typing import TYPE_CHECKING

from benchsuite.boards.markdown import NOTHING, escape, fixed, interval, significant, table
from benchsuite.boards.matrix import make_matrix
from benchsuite.boards.statistics import estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchsuite.boards.matrix import Arm, Contrast, Matrix
    from benchsuite.boards.rows import Row
    from benchsuite.boards.taskboard import TaskBoard
    from benchsuite.contracts.cards import Kind
    from benchsuite.host import Catalogue

#: Measurements that say what an arm costs, and their headings.
COSTS = {
    "steps": "Steps",
    "unique_tokens": "Unique tokens",
    "total_tokens": "Total tokens",
    "active_layer_tokens": "Active-layer tokens",
    "trained_layer_tokens": "Trained-layer tokens",
}


def matrix_text(task: TaskBoard, kind: Kind, catalogue: Catalogue) -> str:
    """Return the part of a task's section that its second factor needs; nothing where it has one factor.

    The matrix stands on the page of the task's last factor. On the other page is a line that says so.
    """
    matrix = make_matrix(task, catalogue)
    if matrix is None:
        return ""
    first, second = (each.replace("_", " ") for each in matrix.kinds)
    if kind != matrix.kinds[1]:
        return f"The matrix of {first} by {second} is on the [page of the other factor]({matrix.kinds[1]}.md)."
    digits = task.metric.digits
    parts = [
        f"{first.capitalize()} by {second}, with 95 % t intervals over paired seeds (their number in brackets):",
        _arms(matrix, digits),
        *_teacher(matrix, digits),
        *_interactions(matrix, digits),
        *_published(matrix, digits),
        *_costs(matrix),
        *_appends(matrix),
        *_blocks(matrix, digits),
    ]
    return "\n\n".join(parts)


def contrast_lines(task: TaskBoard, catalogue: Catalogue) -> list[str]:
    """Return the interactions of a task as plain lines, for a screen."""
    matrix = make_matrix(task, catalogue)
    if matrix is None:
        return []
    return [
        f"I({each.first}, {each.second}) = {interval(each.estimate, task.metric.digits, signed=True)}, "
        f"{each.below} of {len(each.values)} seeds below zero"
        for each in matrix.interactions()
    ]


def _arms(matrix: Matrix, digits: int) -> str:
    heading = matrix.kinds[0].replace("_", " ").capitalize()
    rows = [
        [
            escape(first),
            *(interval(estimate(list(matrix.sample(first, b).values())), digits) for b in matrix.levels[1]),
        ]
        for first in matrix.levels[0]
    ]
    by_level: dict[str, list[Contrast]] = {}
    for effect in matrix.effects():
        by_level.setdefault(effect.first, []).append(effect)
    for first, effects in by_level.items():
        cells = [interval(effect.estimate, digits, signed=True) for effect in effects]
        rows.append([f"{escape(first)} - {escape(matrix.references[0])}", *cells])
    return table([heading, *map(escape, matrix.levels[1])], rows)


def _interactions(matrix: Matrix, digits: int) -> list[str]:
    found = matrix.interactions()
    if not found:
        return []
    first0, second0 = map(escape, matrix.references)
    rows = [
        [
            f"{escape(each.first)}, {escape(each.second)}",
            interval(each.estimate, digits, signed=True),
            f"{each.below}/{len(each.values)}",
            f"{each.above}/{len(each.values)}",
            _published_interaction(matrix, each, digits),
            ", ".join(f"{seed}: {fixed(value, digits, signed=True)}" for seed, value in each.values.items()),
        ]
        for each in found
    ]
    return [
        f"Interaction I(a, b): the difference a - {first0} under b, minus the same under {second0}, seed by seed. Zero "
        "where the two factors do not depend on each other; no sign is expected.",
        table(["Interaction", "I", "Seeds below zero", "Seeds above zero", "Published", "By seed"], rows),
    ]


def _published_interaction(matrix: Matrix, contrast: Contrast, digits: int) -> str:
    value = matrix.published_interaction(contrast.first, contrast.second)
    return NOTHING if value is None else fixed(value, digits, signed=True)


def _costs(matrix: Matrix) -> list[str]:
    rows = []
    for second in matrix.levels[1]:
        arms = [matrix.rows[first, second] for first in matrix.levels[0] if (first, second) in matrix.rows]
        means = [_mean(arms, name) for name in COSTS]
        rows.append([escape(second), *(NOTHING if mean is None else f"{round(mean):,}" for mean in means)])
    if all(cell == NOTHING for row in rows for cell in row[1:]):
        return []
    note = "What an arm costs, mean over seeds; embedding, head, teacher and evaluation are outside these units."
    return [note, table([matrix.kinds[1].capitalize(), *COSTS.values()], rows)]


def _blocks(matrix: Matrix, digits: int) -> list[str]:
    number = 0
    while any(_mean([row], f"block{number}_removal") is not None for row in matrix.rows.values()):
        number += 1
    if not number:
        return []
    rows = [
        [f"{escape(first)}, {escape(second)}", *(_block(row, block, digits) for block in range(number))]
        for (first, second), row in _in_order(matrix)
    ]
    note = (
        "Trained blocks, bottom first, mean over seeds: what the metric loses when the block is skipped; the angle "
        "between its input and output over pi; the standard deviation over tokens of the root mean square behind it. "
        "Observations, no interventions."
    )
    return [note, table(["Arm", *(f"Block {block}" for block in range(number))], rows)]


def _block(row: Row, block: int, digits: int) -> str:
    removal, angle, spread = (_mean([row], f"block{block}_{name}") for name in ("removal", "angle", "rms_std"))
    cells = [NOTHING if mean is None else fixed(mean, min(digits, 3)) for mean in (removal, angle)]
    return " / ".join([*cells, NOTHING if spread is None else significant(spread, 2)])


def _appends(matrix: Matrix) -> list[str]:
    """Return the table of what the training loss did where blocks were appended; nothing where none were."""
    rows = []
    for (first, second), row in _in_order(matrix):
        number = 1
        while _mean([row], f"append{number}_jump") is not None:
            cells = [_mean([row], f"append{number}_{name}") for name in ("jump", "excess_short", "excess_long")]
            shown = [NOTHING if cell is None else fixed(cell, 3, signed=True) for cell in cells]
            rows.append([f"{escape(first)}, {escape(second)}", str(number), *shown, _recovery(row, number)])
            number += 1
    if not rows:
        return []
    note = (
        "Appended blocks, mean over seeds: what appending changes of the training loss before any update; the mean "
        "loss above the one before the append, over the first 2 % and 10 % of the phase; the median step at which it "
        "is back, and on how many seeds it comes back."
    )
    return [note, table(["Arm", "Append", "Jump", "Excess 2 %", "Excess 10 %", "Back at step"], rows)]


def _recovery(row: Row, number: int) -> str:
    records = [record for record in row.records if record.status == "ok"]
    steps = [s for record in records if (s := record.measurements.get(f"append{number}_recovery_steps")) is not None]
    return f"{median(steps):.0f} ({len(steps)}/{len(records)})" if steps else f"never (0/{len(records)})"


def _teacher(matrix: Matrix, digits: int) -> list[str]:
    value = _mean(list(matrix.rows.values()), "teacher_cross_entropy")
    return [] if value is None else [f"The teacher itself reaches {fixed(value, digits)}."]


def _in_order(matrix: Matrix) -> list[tuple[Arm, Row]]:
    arms = [(first, second) for first in matrix.levels[0] for second in matrix.levels[1]]
    return [(arm, matrix.rows[arm]) for arm in arms if arm in matrix.rows]


def _published(matrix: Matrix, digits: int) -> list[str]:
    if not matrix.published:
        return []
    first, second = (list(dict.fromkeys(arm[i] for arm in matrix.published)) for i in (0, 1))
    first.sort(key=lambda label: (label != matrix.references[0], label))
    second.sort(key=lambda label: (label != matrix.references[1], label))
    rows = [[escape(a), *(_figure(matrix, a, b, digits) for b in second)] for a in first]
    notes = dict.fromkeys(reported.note for reported in matrix.published.values() if reported.note)
    return [
        " ".join(["Published figures.", *map(escape, notes)]),
        table([matrix.kinds[0].replace("_", " ").capitalize(), *map(escape, second)], rows),
    ]


def _figure(matrix: Matrix, first: str, second: str, digits: int) -> str:
    reported = matrix.published.get((first, second))
    return NOTHING if reported is None else fixed(reported.value, digits)


def _mean(rows: Sequence[Row], name: str) -> float | None:
    """Return the mean of a measurement over the ok records of ``rows``."""
    records = [record for row in rows for record in row.records if record.status == "ok"]
    values = [value for record in records if (value := record.measurements.get(name)) is not None]
    return fmean(values) if values else None
