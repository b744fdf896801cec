"""The boards on a screen: one narrow table for each task."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from benchsuite.boards.board import make_board
from benchsuite.boards.columns import (
    failures_cell,
    gap_cell,
    heading_of,
    number_cell,
    rank_cell,
    seconds_cell,
    wins_cell,
)
from benchsuite.boards.markdown import NOTHING, fixed, plain, significant
from benchsuite.boards.matrix_page import contrast_lines
from benchsuite.contracts.cards import KINDS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from benchsuite.boards.falsifiers import Fires, Verdict
    from benchsuite.boards.rows import Row
    from benchsuite.boards.statistics import Estimate
    from benchsuite.boards.taskboard import TaskBoard
    from benchsuite.contracts.cards import Metric
    from benchsuite.host import Catalogue
    from benchsuite.store import Store

#: Widest table, in characters.
WIDTH = 100
#: How a verdict is put.
_SAYS: dict[Fires, str] = {"yes": "fires", "open": "open", "no": "does not fire"}
#: A name longer than this is folded before a column is left out for it.
NAME = 20
#: Headings in the order in which they are left out on a narrow terminal.
LEAST_MISSED = ("Size", "Gap", "Seconds", "Rank", "Forwards", "Wins")


def render_screen(store: Store, catalogue: Catalogue, console: Console, tasks: Collection[str] | None = None) -> None:
    """Print a table for each task or group: at most 100 columns wide, and plain text where ``console`` is no terminal.

    On a narrow terminal the columns that a reader misses least are left out.

    Args:
        store: all records.
        catalogue: all cards.
        console: where to print.
        tasks: names of the tasks to show; None shows all that have records.
    """
    for kind in KINDS:
        for task in make_board(store, catalogue, kind, tasks).overview:
            if task.card is not None and kind != task.card.factors[-1]:
                continue  # a task of several factors is shown once
            below = contrast_lines(task, catalogue)
            if console.is_terminal:
                console.print(_section(task, below, min(WIDTH, console.width), lines=True))
            else:
                console.print(_plain(_section(task, below, WIDTH, lines=False)), soft_wrap=True)


def _plain(section: Group) -> Text:
    """Lay out at full width: a console that is no terminal claims 80 columns, which no file has."""
    paper = Console(file=io.StringIO(), width=WIDTH, color_system=None)
    with paper.capture() as capture:
        paper.print(section)
    return Text("\n".join(line.rstrip() for line in capture.get().splitlines()))


def _section(task: TaskBoard, contrasts: Sequence[str], width: int, lines: bool) -> Group:
    title = task.name if task.card is None else f"{task.name}: {task.card.summary}"
    below = [Text(line) for line in [*_below(task), *map(plain, contrasts)]]
    return Group(Text(plain(title), style="bold"), _table(task, width, lines), *below, Text(""))


def _table(task: TaskBoard, width: int, lines: bool) -> Table:
    made = Table(box=box.SIMPLE_HEAD if lines else None, pad_edge=False, collapse_padding=lines)
    made.add_column("Method", overflow="fold")
    longest = max(len(_name(row)) for row in task.rows)
    columns = _fitting(_columns(task), width - 2 - min(longest, NAME))
    for heading in columns:
        made.add_column(Text(plain(heading)), justify="right", no_wrap=True)
    for i, row in enumerate(task.rows):
        # Text, not str: what comes from a record is no markup.
        made.add_row(Text(_name(row)), *(Text(cells[i]) for cells in columns.values()))
    return made


def _fitting(columns: dict[str, list[str]], width: int) -> dict[str, list[str]]:
    """Leave out columns, the least missed first, until the rest fits into ``width``."""
    kept = dict(columns)
    for heading in LEAST_MISSED:
        if sum(2 + max(map(len, [name, *cells])) for name, cells in kept.items()) > width:
            kept.pop(heading, None)
    return kept


def _columns(task: TaskBoard) -> dict[str, list[str]]:
    metric, rows, reference = task.metric, task.rows, task.reference
    against = "" if reference is None else f"- {reference.entry.label}"
    columns = {
        heading_of(metric): [_interval(row.value, metric) for row in rows],
        against: [_interval(row.difference, metric, signed=True) for row in rows],
        "Wins": [wins_cell(row, task) for row in rows],
        "Rank": [rank_cell(row) for row in rows],
        "Forwards": [_cost(row) for row in rows],
        "Seconds": [seconds_cell(row) for row in rows],
        "Size": [number_cell(row.size, 2) for row in rows],
        "Gap": [gap_cell(row) for row in rows],
        "Seeds": [f"{row.done}/{row.wanted}" for row in rows],
    }
    return {heading: cells for heading, cells in columns.items() if any(cell != NOTHING for cell in cells)}


def _interval(estimate: Estimate | None, metric: Metric, signed: bool = False) -> str:
    if estimate is None:
        return NOTHING
    half = "" if estimate.half is None else f" ± {fixed(estimate.half, metric.digits)}"
    return fixed(estimate.mean, metric.digits, signed) + half


def _cost(row: Row) -> str:
    return NOTHING if row.cost is None else significant(row.cost.ratio) + ("" if row.cost.alone else "*")


def _verdicts(verdicts: Sequence[Verdict]) -> list[str]:
    """Return one line for each method whose card names falsifiers: which of them fire, are open, do not fire."""
    lines = []
    for method in dict.fromkeys(verdict.method for verdict in verdicts):
        own = [verdict for verdict in verdicts if verdict.method == method]
        told = [(says, [v.name for v in own if v.fires == fires]) for fires, says in _SAYS.items()]
        lines.append(
            f"Falsifiers of {method}: " + "; ".join(f"{says}: {', '.join(names)}" for says, names in told if names)
        )
    return lines


def _name(row: Row) -> str:
    return row.entry.label + (" (sham)" if row.entry.sham else "") + (" (no card)" if row.entry.card is None else "")


def _below(task: TaskBoard) -> list[str]:
    lines = [plain(remark) for remark in task.remarks]
    lines += [f"{_name(row)}: {failures_cell(row)}" for row in task.rows if row.failures]
    lines += _verdicts(task.verdicts)
    if any(row.cost is not None and not row.cost.alone for row in task.rows):
        lines.append("* measured while other cells ran")
    return lines
