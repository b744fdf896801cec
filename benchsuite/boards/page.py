"""The text of a board's page and of the index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchsuite.boards.columns import Notes, extra_columns, heading_of, name_cell, own_columns
from benchsuite.boards.curves import has_curves
from benchsuite.boards.markdown import NOTHING, environment, escape, fixed, interval, table
from benchsuite.boards.matrix_page import matrix_text
from benchsuite.boards.points import bent, points
from benchsuite.boards.provenance import provenance, spans
from benchsuite.store.scan import collector_paused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchsuite.boards.board import Board
    from benchsuite.boards.columns import Extra
    from benchsuite.boards.rows import Row
    from benchsuite.boards.taskboard import TaskBoard
    from benchsuite.contracts.cards import Kind
    from benchsuite.host import Catalogue
    from benchsuite.store import Store

_TITLES: dict[Kind, str] = {
    "quantizer": "Quantizers",
    "norm_placement": "Norm placements",
    "curriculum": "Curricula",
    "probe": "Probes",
}

INDEX_TITLE = "Leaderboards"


def title_of(kind: Kind) -> str:
    """Return the heading of a kind's page."""
    return _TITLES[kind]


@collector_paused()
def page_text(board: Board, store: Store, catalogue: Catalogue) -> str:
    """Return the generated part of a board's page: Markdown that ends in a newline.

    Args:
        board: the board.
        store: where it was made from; the footer needs the environments and the number of problems.
        catalogue: asked for the columns that plugins add.
    """
    extras = extra_columns(board, catalogue)
    cards = board.cards
    rendered: str = (
        environment()
        .get_template("board.md.j2")
        .render(
            summary=_summary(board),
            picture=_picture(board, catalogue),
            tasks=[
                {**_section(task, extras), "matrix": matrix_text(task, board.kind, catalogue)}
                for task in board.sections
            ],
            cards=list(cards.values()),
            unknown=[name for name in board.methods if name not in cards],
            provenance=provenance(board, store),
        )
    )
    return rendered


def index_text(boards: Sequence[Board]) -> str:
    """Return the generated part of the index: one line for each board."""
    rows = [
        [
            f"[{title_of(board.kind)}]({board.kind}.md)",
            str(len(board.counted.records)),
            str(len(board.methods)),
            str(len(board.tasks)),
            escape(board.counted.newest),
        ]
        for board in boards
    ]
    headers = ["Board", "Records", "Methods", "Tasks", "Newest record"]
    rendered: str = environment().get_template("index.md.j2").render(boards=table(headers, rows))
    return rendered


def _summary(board: Board) -> str:
    """Return the table of methods by tasks: value, and in brackets the difference to the reference."""
    ordered: dict[str, Row] = {}
    for row in sorted((row for task in board.overview for row in task.rows), key=_place):
        ordered.setdefault(row.entry.id, row)
    by_task = [{row.entry.id: row for row in task.rows} for task in board.overview]
    rows = [
        [
            name_cell(first),
            *(_summary_cell(rows.get(entry), task) for rows, task in zip(by_task, board.overview, strict=True)),
        ]
        for entry, first in ordered.items()
    ]
    return table(["Method", *(_task_heading(task) for task in board.overview)], rows)


def _place(row: Row) -> tuple[bool, float, str, str]:
    width = float("inf") if row.entry.bits is None else float(row.entry.bits)
    return not row.reference, -width, row.entry.label, row.entry.id


def _task_heading(task: TaskBoard) -> str:
    return escape(task.name) + ("" if task.card else " (card not found)")


def _summary_cell(row: Row | None, task: TaskBoard) -> str:
    if row is None or row.value is None:
        return NOTHING
    digits = task.metric.digits
    difference = "" if row.difference is None else f" ({fixed(row.difference.mean, digits, signed=True)})"
    return fixed(row.value.mean, digits) + difference + ("" if row.complete else f" {row.done}/{row.wanted}")


def _picture(board: Board, catalogue: Catalogue) -> dict[str, str] | None:
    if has_curves(board, catalogue):
        return {
            "file": f"{board.kind}.svg",
            "title": "Training loss against steps and against active-layer tokens, one row of panels per task",
            "caption": "Training loss of each arm, mean over seeds and over the steps since the point before; a dot is "
            "where a block was appended. Right: against the work done, where a step with fewer active blocks counts "
            "for less.",
        }
    drawn = [point for task in board.overview for point in points(task)]
    if not drawn:
        return None
    scale = " The difference axis is linear from -1 to 1 and logarithmic beyond." if bent(drawn) else ""
    lower = [escape(task.name) for task in board.overview if points(task) and not task.metric.higher_is_better]
    down = f" Where lower is better ({', '.join(lower)}) the axis points down." if lower else ""
    return {
        "file": f"{board.kind}.svg",
        "title": "Difference to the reference against cost, one panel per task",
        "caption": "Paired mean difference to the reference with its 95 % interval, against the cost in forwards of "
        f"the reference model. Top left is best: much gained or little lost, little spent.{scale}{down}",
    }


def _section(task: TaskBoard, extras: Sequence[Extra]) -> dict[str, Any]:
    notes = Notes()
    columns = own_columns(task, notes)
    headers = [column.heading for column in columns] + [extra.heading for extra in extras]
    cells = [column.cells for column in columns]
    cells += [tuple(extra.cells[task.name, row.entry.id] for row in task.rows) for extra in extras]
    return {
        "name": task.name,
        "about": _about(task),
        "table": table(headers, [list(row) for row in zip(*cells, strict=True)]),
        "notes": notes.lines,
        "remarks": task.remarks,
        "verdicts": _verdicts(task),
    }


def _verdicts(task: TaskBoard) -> str:
    """Return the table of what would refute a method and whether it does; nothing where no card names anything."""
    if not task.verdicts:
        return ""
    digits = task.metric.digits
    rows = [
        [
            f"{escape(verdict.method)}: {escape(verdict.name)}",
            escape(verdict.rule),
            interval(verdict.margin, digits, signed=True),
            f"{verdict.above}/{verdict.margin.n}",
            verdict.fires,
            escape(verdict.source),
        ]
        for verdict in task.verdicts
    ]
    return table(["Falsifier", "Must be above zero", "Is", "Seeds above", "Fires", "Named by"], rows)


def _about(task: TaskBoard) -> str:
    summary = "Card not found: no plugin offers this task any more." if task.card is None else f"{task.card.summary}."
    better = "higher" if task.metric.higher_is_better else "lower"
    rule = f"{heading_of(task.metric)}: {better} is better."
    return f"{escape(summary)} {rule} Protocol {escape(task.protocol)}, seeds {spans(task.seeds)}."
