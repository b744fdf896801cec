"""The columns of a task's table, and those that plugins add."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchsuite.boards.markdown import NOTHING, escape, fixed, interval, plain, significant
from benchsuite.boards.rows import STEADY
from benchsuite.boards.statistics import estimate

if TYPE_CHECKING:
    from benchsuite.boards.board import Board
    from benchsuite.boards.rows import Published, Row
    from benchsuite.boards.taskboard import TaskBoard
    from benchsuite.contracts.cards import Metric
    from benchsuite.host import Catalogue

_log = logging.getLogger(__name__)

SECONDS = "Seconds depend on the machine: never compare them across machines."
SHARED = "No record was measured alone: other cells ran on the machine at the same time."
UNSTEADY = (
    f"The reference's own forward became slower or faster by more than a factor of {STEADY:g} during a measurement."
)


@dataclass
class Notes:
    """The numbered notes below one table, in the order in which they are first marked."""

    lines: list[str] = field(default_factory=list)

    def mark(self, line: str) -> str:
        """Return the mark of the note ``line`` (Markdown)."""
        if line not in self.lines:
            self.lines.append(line)
        return f"<sup>{self.lines.index(line) + 1}</sup>"


@dataclass(frozen=True)
class Column:
    """A column: its heading (Markdown) and one cell (Markdown) for each row of the task."""

    heading: str
    cells: tuple[str, ...]
    optional: bool = True
    """Left out where no cell says anything."""


@dataclass(frozen=True)
class Extra:
    """A column that a plugin adds to every table of a board."""

    heading: str
    cells: Mapping[tuple[str, str], str]
    """By task and entry."""


def own_columns(task: TaskBoard, notes: Notes) -> list[Column]:
    """Return the columns of ``task``'s table; their notes are added to ``notes`` from left to right."""
    rows = task.rows
    metric = task.metric
    reference = task.reference
    against = "" if reference is None else f" to {escape(reference.entry.label)}"
    every = [
        Column("Method", tuple(name_cell(row) for row in rows), optional=False),
        Column(heading_of(metric), tuple(interval(row.value, metric.digits) for row in rows), optional=False),
        *(Column(heading_of(other), tuple(_other(row, other) for row in rows)) for other in task.metrics[1:]),
        Column(
            f"Difference{against}",
            tuple(interval(row.difference, metric.digits, signed=True) for row in rows),
        ),
        Column("Over tasks", tuple(_range(row, metric) for row in rows)),
        Column("Wins", tuple(wins_cell(row, task) for row in rows)),
        Column("Rank", tuple(rank_cell(row) for row in rows)),
        Column("Cost (forwards)", tuple(_cost(row, notes) for row in rows)),
    ]
    seconds = tuple(seconds_cell(row) for row in rows)
    mark = notes.mark(SECONDS) if any(cell != NOTHING for cell in seconds) else ""
    every += [
        Column(f"Seconds{mark}", seconds),
        Column("Size ratio", tuple(number_cell(row.size, 3) for row in rows)),
        Column("Agreement (%)", tuple(number_cell(row.agreement, 2) for row in rows)),
        Column("Ran as", tuple(escape(row.execution) or NOTHING for row in rows)),
        Column("Published", tuple(_published(row, metric, notes) for row in rows)),
        Column("Gap", tuple(gap_cell(row) for row in rows)),
        Column("Seeds", tuple(f"{row.done}/{row.wanted}" for row in rows), optional=False),
        Column("Failures", tuple(failures_cell(row) for row in rows), optional=False),
    ]
    return [column for column in every if not column.optional or any(cell != NOTHING for cell in column.cells)]


def heading_of(metric: Metric) -> str:
    """Return the metric's name and unit."""
    name = escape(metric.name.replace("_", " ").capitalize())
    return f"{name} ({escape(metric.unit)})" if metric.unit else name


def name_cell(row: Row) -> str:
    """Return the label with what a reader must know before anything else."""
    marks = [" (sham)"] if row.entry.sham else []
    marks += [" (card not found)"] if row.entry.card is None else []
    return escape(row.entry.label) + "".join(marks)


def rank_cell(row: Row) -> str:
    """Return ``2``, or ``1-3`` where the place is not certain."""
    if row.ranks is None:
        return NOTHING
    best, worst = row.ranks.best, row.ranks.worst
    return str(best) if best == worst else f"{best}-{worst}"


def wins_cell(row: Row, task: TaskBoard) -> str:
    """Return on how many of the shared seeds the row beats the reference.

    Nothing where quantizers compete: they are asked to lose little, and do not set out to win.
    """
    if row.won is None or row.difference is None or (task.card is not None and "quantizer" in task.card.factors):
        return NOTHING
    return f"{row.won}/{row.difference.n}"


def seconds_cell(row: Row) -> str:
    """Return the median quantization time in seconds."""
    return NOTHING if row.cost is None or row.cost.seconds is None else significant(row.cost.seconds)


def number_cell(value: float | None, digits: int) -> str:
    """Return a number in fixed notation."""
    return NOTHING if value is None else fixed(value, digits)


def gap_cell(row: Row) -> str:
    """Return the gap to each published figure."""
    return "; ".join(_gap(published) for published in row.published) or NOTHING


def failures_cell(row: Row) -> str:
    """Return the cells that are not ok, by status."""
    return ", ".join(f"{number} {status}" for status, number in row.failures.items()) or NOTHING


def _other(row: Row, metric: Metric) -> str:
    return interval(estimate(list(row.samples[metric.name].values())), metric.digits)


def _cost(row: Row, notes: Notes) -> str:
    cost = row.cost
    if cost is None:
        return NOTHING
    marks = ("" if cost.alone else notes.mark(SHARED)) + ("" if cost.steady else notes.mark(UNSTEADY))
    ok = len(row.records) - sum(row.failures.values())
    return significant(cost.ratio) + ("" if cost.n == ok else f" ({cost.n})") + marks


def _range(row: Row, metric: Metric) -> str:
    if not row.tasks:
        return NOTHING
    return f"{fixed(min(row.tasks.values()), metric.digits)} to {fixed(max(row.tasks.values()), metric.digits)}"


def _published(row: Row, ranking: Metric, notes: Notes) -> str:
    return "; ".join(_figure(published, ranking, notes) for published in row.published) or NOTHING


def _figure(published: Published, ranking: Metric, notes: Notes) -> str:
    reported, metric, difference = published.reported, published.metric, published.difference
    of = "" if metric.name == ranking.name else f"{escape(metric.name.replace('_', ' '))} "
    theirs = "" if difference is None else f" ({fixed(difference, metric.digits, signed=True)})"
    note = f"Published: {escape(reported.source)}." + (f" {escape(reported.note)}" if reported.note else "")
    return of + fixed(reported.value, metric.digits) + theirs + notes.mark(note)


def _gap(published: Published) -> str:
    if published.gap is None:
        return NOTHING
    of_values = " (values)" if published.difference is None else ""
    return fixed(published.gap, published.metric.digits, signed=True) + of_values


def extra_columns(board: Board, catalogue: Catalogue) -> list[Extra]:
    """Return the columns that plugins add, in the order of the plugins and of the headings.

    A column whose function raises, or returns no text, for any row is left out with one warning line.
    """
    extras: list[Extra] = []
    for plugin, offered in catalogue.call("benchsuite_columns", board=board.kind):
        if not isinstance(offered, Mapping):
            _log.warning("plugin %r: benchsuite_columns returned no mapping; its columns are left out", plugin)
            continue
        for heading in sorted(offered, key=str):
            extra = _extra(plugin, heading, offered[heading], board)
            extras += [] if extra is None else [extra]
    return extras


def _extra(plugin: str, heading: Any, function: Callable[..., Any], board: Board) -> Extra | None:
    try:
        cells = {(task.name, row.entry.id): _cell(function, row) for task in board.sections for row in task.rows}
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's column must not cost the board
        _log.warning(
            "plugin %r: the column %r is left out: %s: %s", plugin, heading, type(error).__name__, plain(str(error))
        )
        return None
    return Extra(escape(f"{heading} ({plugin})"), cells)


def _cell(function: Callable[..., Any], row: Row) -> str:
    # Copies, so that no column can change what the next one, or the board, is made of.
    text = function([record.model_copy(deep=True) for record in row.records])
    if not isinstance(text, str):
        raise TypeError(f"it returned {type(text).__name__}, not text")
    return escape(text) or NOTHING
