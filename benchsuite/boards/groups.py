"""Groups of tasks as lines of their own: on each seed the mean over the group's tasks."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from benchsuite.boards.ranking import order, ranked
from benchsuite.boards.rows import Cost, Row, against_reference, published_of
from benchsuite.boards.statistics import estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchsuite.boards.statistics import Sample
    from benchsuite.boards.taskboard import TaskBoard


def overview(tasks: Sequence[TaskBoard]) -> tuple[TaskBoard, ...]:
    """Return what stands for ``tasks`` where there is no room for all: each group once, and the others as they are.

    A group is pooled where at least two of its tasks are on the board, have one factor, and agree in protocol, metrics
    and reference.
    """
    members: dict[tuple[object, ...], list[TaskBoard]] = defaultdict(list)
    for task in tasks:
        members[_group(task)].append(task)
    shown = [found[0] if len(found) == 1 else _pooled(found) for found in members.values()]
    return tuple(sorted(shown, key=lambda task: task.name))


def _group(task: TaskBoard) -> tuple[object, ...]:
    card = task.card
    if card is None or not card.group or len(card.factors) != 1:
        return ("", task.name)
    return card.group, card.protocol, card.metrics, tuple(card.reference.items())


def _pooled(tasks: Sequence[TaskBoard]) -> TaskBoard:
    first = tasks[0]
    assert first.card is not None
    by_entry: dict[str, list[Row]] = defaultdict(list)
    for task in tasks:
        for row in task.rows:
            by_entry[row.entry.id].append(row)
    references = {rows[0].entry.device: _samples(rows, tasks) for rows in by_entry.values() if rows[0].reference}
    summary = f"Each seed's mean over {len(tasks)} tasks ({', '.join(task.name for task in tasks)})"
    name = first.card.group
    rows = [_pooled_row(name, rows, tasks, references.get(rows[0].entry.device, {})) for rows in by_entry.values()]
    rows, remarks = ranked(rows, first.metric)
    return replace(
        first,
        name=name,
        card=first.card.model_copy(update={"name": name, "summary": summary}),
        seeds=tuple(sorted({seed for task in tasks for seed in task.seeds})),
        rows=tuple(sorted(rows, key=lambda row: order(row, first.metric))),
        remarks=tuple(remarks),
        verdicts=(),
    )


def _samples(rows: Sequence[Row], tasks: Sequence[TaskBoard]) -> dict[str, Sample]:
    """Return for each metric the means of the seeds that have a value on every task of the group."""
    found: dict[str, Sample] = {}
    for metric in tasks[0].metrics:
        samples = [row.samples[metric.name] for row in rows]
        shared = set.intersection(*map(set, samples)) if len(rows) == len(tasks) else set()
        found[metric.name] = {seed: statistics.fmean(sample[seed] for sample in samples) for seed in sorted(shared)}
    return found


def _pooled_row(name: str, rows: Sequence[Row], tasks: Sequence[TaskBoard], reference: dict[str, Sample]) -> Row:
    first, metrics = rows[0], tasks[0].metrics
    samples = _samples(rows, tasks)
    difference, won = against_reference(first.reference, samples, reference, metrics[0])
    failures: Counter[str] = sum((Counter(row.failures) for row in rows), Counter())
    return replace(
        first,
        records=tuple(record for row in rows for record in row.records),
        samples=samples,
        value=estimate(list(samples[metrics[0].name].values())),
        difference=difference,
        won=won,
        cost=_cost(row.cost for row in rows),
        size=None,
        agreement=None,
        published=published_of(first.entry, name, metrics, samples, reference),
        wanted=max(row.wanted for row in rows),
        ranks=None,
        failures=dict(sorted(failures.items())),
        tasks={task.name: row.value.mean for task in tasks for row in rows if row in task.rows and row.value},
    )


def _cost(costs: Iterable[Cost | None]) -> Cost | None:
    """Return the medians over tasks."""
    known = [cost for cost in costs if cost is not None]
    if not known:
        return None
    seconds = [cost.seconds for cost in known if cost.seconds is not None]
    return Cost(
        ratio=statistics.median(cost.ratio for cost in known),
        seconds=statistics.median(seconds) if seconds else None,
        n=sum(cost.n for cost in known),
        alone=all(cost.alone for cost in known),
        steady=all(cost.steady for cost in known),
    )
