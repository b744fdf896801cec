"""The lines of a board as numbers: one for each competitor on each task."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchsuite.boards.entries import Entry, entry_of
from benchsuite.boards.statistics import Estimate, Ranks, Sample, differences, estimate, paired

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchsuite.boards.counted import Recipe
    from benchsuite.contracts.cards import Kind, Metric, Reported
    from benchsuite.host import Catalogue
    from benchsuite.store.records import CellRecord

#: The reference's forward may have changed by this factor between the first and the last timed block.
STEADY = 1.25
#: Names under which protocols record the time that ``cost_ratio`` is of.
SECONDS = ("quantization_seconds", "probe_seconds")


@dataclass(frozen=True)
class Cost:
    """What a method costs before it can be used."""

    ratio: float
    """Median over seeds, in forwards of the reference model."""
    seconds: float | None
    """Median over the same records."""
    n: int
    """How many records the medians are of."""
    alone: bool
    """Whether no other cell ran while these were measured."""
    steady: bool
    """Whether the reference's own forward kept its pace during each of them."""


@dataclass(frozen=True)
class Published:
    """A figure that the method's authors printed, beside ours."""

    reported: Reported
    metric: Metric
    gap: float | None
    """Our difference to the reference minus theirs; where they print no reference, our value minus theirs."""

    @property
    def difference(self) -> float | None:
        """Their value minus their reference's."""
        reference = self.reported.reference
        return None if reference is None else self.reported.value - reference


@dataclass(frozen=True)
class Row:
    """One competitor on one task."""

    entry: Entry
    reference: bool
    records: tuple[CellRecord, ...]
    """Of every status, by seed."""
    samples: Mapping[str, Sample]
    """For each metric the value of each seed."""
    value: Estimate | None
    difference: Estimate | None
    """To the reference over shared seeds; None for the reference itself."""
    won: int | None
    """On how many of those seeds it was better than the reference; None for the reference itself."""
    cost: Cost | None
    size: float | None
    """Stored bytes over the reference's, median over seeds."""
    agreement: float | None
    """Per cent of test nodes, mean over seeds."""
    execution: str
    """How the products ran, e.g. ``simulated``."""
    published: tuple[Published, ...]
    wanted: int
    """How many seeds there should be."""
    ranks: Ranks | None = None
    failures: Mapping[str, int] = field(default_factory=dict)
    tasks: Mapping[str, float] = field(default_factory=dict)
    """On a group of tasks: the mean of each. Empty on a task."""

    @property
    def done(self) -> int:
        """How many seeds have a value."""
        return 0 if self.value is None else self.value.n

    @property
    def complete(self) -> bool:
        """Whether every seed that there should be has a value."""
        return self.done >= self.wanted


def competitors(
    recipes: Iterable[Recipe], kind: Kind, catalogue: Catalogue
) -> tuple[dict[str, dict[str, list[CellRecord]]], dict[str, Entry]]:
    """Return the records by task, then by entry, both sorted, and by seed; and the entries by their ids."""
    entries: dict[str, Entry] = {}
    found: dict[str, dict[str, list[CellRecord]]] = defaultdict(lambda: defaultdict(list))
    for recipe in recipes:
        entry = entry_of(recipe.records[0], kind, catalogue)
        entries[entry.id] = entry
        found[recipe.key["task"]][entry.id] += recipe.records
    ordered = {task: {id_: sorted(own, key=_seed) for id_, own in sorted(by.items())} for task, by in found.items()}
    return dict(sorted(ordered.items())), entries


def _seed(record: CellRecord) -> int:
    return record.key["seed"]


def cost_of(records: Iterable[CellRecord]) -> Cost | None:
    """Return the cost from the records that were measured alone; from all of them where none was.

    Args:
        records: those that are ok; one without a cost is passed over.
    """
    measured = [(each.measurements, each.alone) for each in records if each.measurements.get("cost_ratio") is not None]
    if not measured:
        return None
    alone = [values for values, alone in measured if alone]
    used = alone or [values for values, _ in measured]
    low, high = 1 / STEADY, STEADY
    return Cost(
        ratio=statistics.median(_numbers([values["cost_ratio"] for values in used])),
        seconds=_median([_seconds(values) for values in used]),
        n=len(used),
        alone=bool(alone),
        steady=all([low <= drift <= high for drift in _numbers([values.get("drift") for values in used])]),
    )


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _median(values: Sequence[float | None]) -> float | None:
    numbers = _numbers(values)
    return statistics.median(numbers) if numbers else None


def _seconds(measurements: Mapping[str, float | None]) -> float | None:
    for name in SECONDS:
        if name in measurements:
            return measurements[name]
    return None


def _size(measurements: Mapping[str, float | None]) -> float | None:
    """Return stored bytes over the reference's."""
    stored, reference = measurements.get("stored_bytes"), measurements.get("reference_bytes")
    return stored / reference if stored is not None and reference else None


def samples_of(records: Sequence[CellRecord], metrics: Sequence[Metric]) -> dict[str, Sample]:
    """Return for each metric the value of each seed that is ok and has one."""
    ok = [(record.key["seed"], record.metrics) for record in records if record.status == "ok"]
    return {m.name: {seed: values[m.name] for seed, values in ok if m.name in values} for m in metrics}


def published_of(
    entry: Entry, task: str, metrics: Sequence[Metric], samples: Mapping[str, Sample], reference: Mapping[str, Sample]
) -> tuple[Published, ...]:
    """Return the card's figures for this task, these parameters and partners: by metric, then in the card's order.

    Args:
        entry: the competitor.
        task: name of the task, or of the group of tasks.
        metrics: those of the task.
        samples: for each of them the competitor's values.
        reference: the same of the reference; empty where there is none.
    """
    card = entry.card
    if card is None:
        return ()
    return tuple(
        Published(reported, metric, _gap(reported, samples[metric.name], reference.get(metric.name, {})))
        for metric in metrics
        for reported in card.reported
        if (reported.task, reported.metric) == (task, metric.name)
        and card.resolve(reported.params) == entry.params
        and set(reported.partners.values()) <= set(entry.partners)
    )


def _gap(reported: Reported, ours: Sample, reference: Sample) -> float | None:
    found = estimate(list(ours.values())) if reported.reference is None else paired(ours, reference)
    theirs = reported.value - (reported.reference or 0)
    return None if found is None else found.mean - theirs


def gains(ours: Sample, theirs: Sample, metric: Metric) -> Sample:
    """Return for each seed that both have by how much ours is better, in the metric's unit."""
    sign = 1 if metric.higher_is_better else -1
    return {seed: sign * (ours[seed] - theirs[seed]) for seed in sorted(ours.keys() & theirs.keys())}


def against_reference(
    reference: bool, samples: Mapping[str, Sample], theirs: Mapping[str, Sample], metric: Metric
) -> tuple[Estimate | None, int | None]:
    """Return the paired difference to the reference, and the number of seeds that are better than it.

    Both are None for the reference itself, and where no seed is shared.
    """
    ours, others = samples[metric.name], theirs.get(metric.name, {})
    if reference:
        return None, None
    apart = differences(ours, others)
    better = [value > 0 for value in apart] if metric.higher_is_better else [value < 0 for value in apart]
    return estimate(apart), sum(better) if apart else None


def execution_of(records: Sequence[CellRecord]) -> str:
    """Return the ways in which the products of the model ran, all that occur, joined by ``+``."""
    ways: set[str] = set()
    seen: object = None
    for record in records:
        ran = record.execution
        if ran is not seen and record.status == "ok" and isinstance(ran, dict):
            ways.update(map(str, ran.values()))
            seen = ran  # records that came from the index share it
    return "+".join(sorted(ways))


@dataclass(frozen=True)
class Field:
    """What all rows of a task share."""

    task: str
    metrics: tuple[Metric, ...]
    wanted: int
    reference: Mapping[str, Mapping[str, Sample]]
    """For each device the reference's samples by metric; empty where there is none."""


def make_row(entry: Entry, records: Sequence[CellRecord], field: Field, reference: bool) -> Row:
    """Return the row of ``entry``.

    Args:
        entry: the competitor.
        records: its records, by seed.
        field: what the task's rows share.
        reference: whether it is the reference itself.
    """
    metric = field.metrics[0]
    samples = samples_of(records, field.metrics)
    theirs = field.reference.get(entry.device, {})
    difference, won = against_reference(reference, samples, theirs, metric)
    ok = [record for record in records if record.status == "ok"]
    measured = [record.measurements for record in ok]
    agreement = _numbers([values.get("agreement") for values in measured])
    failed = Counter(r.status for r in records if r.status != "ok") if len(ok) < len(records) else {}
    return Row(
        entry=entry,
        reference=reference,
        records=tuple(records),
        samples=samples,
        value=estimate(list(samples[metric.name].values())),
        difference=difference,
        won=won,
        cost=cost_of(ok),
        size=_median([_size(values) for values in measured]),
        agreement=statistics.fmean(agreement) if agreement else None,
        execution=execution_of(records),
        published=published_of(entry, field.task, field.metrics, samples, theirs),
        wanted=field.wanted,
        failures=dict(sorted(failed.items())),
    )
