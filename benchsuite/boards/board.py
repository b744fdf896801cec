"""A whole board as data: the tasks of one kind, their rows, their ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from benchsuite.boards.counted import Counted, count
from benchsuite.boards.falsifiers import verdicts
from benchsuite.boards.groups import overview
from benchsuite.boards.ranking import order, ranked
from benchsuite.boards.rows import Field, competitors, make_row, samples_of
from benchsuite.boards.taskboard import TaskBoard
from benchsuite.contracts.cards import Metric
from benchsuite.store.scan import collector_paused

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from benchsuite.boards.entries import Entry
    from benchsuite.contracts.cards import Kind, MethodCard, TaskCard
    from benchsuite.host import Catalogue
    from benchsuite.store import Store
    from benchsuite.store.records import CellRecord


@dataclass(frozen=True)
class Board:
    """One kind's board."""

    kind: Kind
    tasks: tuple[TaskBoard, ...]
    counted: Counted

    @cached_property
    def overview(self) -> tuple[TaskBoard, ...]:
        """Groups of tasks, pooled, and the tasks that are in none."""
        return overview(self.tasks)

    @property
    def sections(self) -> tuple[TaskBoard, ...]:
        """Everything that has a table: the groups, then each task."""
        return (*(found for found in self.overview if found not in self.tasks), *self.tasks)

    @property
    def cards(self) -> dict[str, MethodCard]:
        """Cards of the methods on the board, by name."""
        cards = {row.entry.method: row.entry.card for task in self.tasks for row in task.rows}
        return {name: card for name, card in sorted(cards.items()) if card is not None}

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods on the board."""
        return tuple(sorted({row.entry.method for task in self.tasks for row in task.rows}))


@collector_paused()
def make_board(store: Store, catalogue: Catalogue, kind: Kind, tasks: Collection[str] | None = None) -> Board:
    """Make the board of ``kind``.

    Args:
        store: all records.
        catalogue: all cards.
        kind: the kind of method that competes.
        tasks: names of the tasks to keep; None keeps all.
    """
    counted = count(store, catalogue, kind)
    recipes = tuple(recipe for recipe in counted.recipes if tasks is None or recipe.key["task"] in tasks)
    counted = replace(counted, recipes=recipes)
    by_task, entries = competitors(recipes, kind, catalogue)
    boards = [_task_board(task, own, entries, catalogue) for task, own in by_task.items()]
    return Board(kind, tuple(boards), counted)


def _task_board(
    task: str, by_entry: Mapping[str, Sequence[CellRecord]], entries: Mapping[str, Entry], catalogue: Catalogue
) -> TaskBoard:
    card = catalogue.tasks.get(task)
    records = [record for own in by_entry.values() for record in own]
    metrics = _metrics(card, records)
    references = _references(by_entry, entries, card)
    seeds = tuple(sorted({record.key["seed"] for record in records}))
    field = Field(
        task=task,
        metrics=metrics,
        wanted=max(len(seeds), 0 if card is None else card.seeds),
        reference={entries[e].device: samples_of(by_entry[e], metrics) for e in references},
    )
    rows = [make_row(entries[e], own, field, e in references) for e, own in by_entry.items()]
    rows, remarks = ranked(rows, metrics[0])
    if not references and card is not None:
        names = " x ".join(name for _, name in sorted(card.reference.items()))
        remarks = [f"No record of the reference {names}: no differences.", *remarks]
    # All have one: records under another protocol than the newest do not count.
    protocol = records[0].key["protocol"]
    ordered = tuple(sorted(rows, key=lambda row: order(row, metrics[0])))
    judged = verdicts(ordered, metrics[0])
    return TaskBoard(task, card, protocol, metrics, seeds, ordered, tuple(remarks), judged)


def _references(
    records: Mapping[str, Sequence[CellRecord]], entries: Mapping[str, Entry], card: TaskCard | None
) -> list[str]:
    """Return the entries that are the reference: one for each device, with its parameters at their defaults."""
    if card is None or set(card.reference) != set(card.factors):
        return []
    wanted = dict(card.reference)
    found = []
    for entry, own in records.items():
        names = {kind: method["name"] for kind, method in own[0].key["methods"].items()}
        method_card = entries[entry].card
        defaults = entries[entry].params if method_card is None else method_card.resolve({})
        if names == wanted and entries[entry].params == defaults:
            found.append(entry)
    return found


def _metrics(card: TaskCard | None, records: Sequence[CellRecord]) -> tuple[Metric, ...]:
    if card is not None:
        return card.metrics
    names = sorted({name for record in records for name in record.metrics}) or ["value"]
    # Not validated: a record may hold a name that no card could have.
    return tuple(Metric.model_construct(name=name, unit="", higher_is_better=True, digits=2) for name in names)
