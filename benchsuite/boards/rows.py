"""The lines of a board as numbers: one for each competitor on each task."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from benchsuite.boards.entries import Entry, entry_of
from benchsuite.boards.statistics import Estimate, Ranks, Sample, estimate, paired

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


def record_frame(
    records: Sequence[CellRecord], kind: Kind, catalogue: Catalogue
) -> tuple[pd.DataFrame, dict[str, Entry]]:
    """Return one line per record, and the entries that its column ``entry`` names.

    Columns: ``position`` (index into ``records``), ``task``, ``entry``, ``seed``, ``ok``, ``alone``, ``cost_ratio``,
    ``drift``, ``agreement``, ``seconds``, ``size``. A measurement that a record lacks is NaN, as are all
    those of a record that is not ok.
    """
    entries: dict[str, Entry] = {}
    lines: list[dict[str, Any]] = []
    for position, record in enumerate(records):
        entry = entry_of(record, kind, catalogue)
        entries[entry.id] = entry
        lines.append(_line(position, record, entry.id))
    return pd.DataFrame(lines), entries


def _line(position: int, record: CellRecord, entry: str) -> dict[str, Any]:
    ok = record.status == "ok"
    measured = record.measurements if ok else {}
    line: dict[str, Any] = {"position": position, "task": record.key["task"], "entry": entry}
    line |= {"seed": record.key["seed"], "ok": ok, "alone": record.alone}
    for name in ("cost_ratio", "drift", "agreement"):
        line[name] = _number(measured.get(name))
    line["seconds"] = next((measured[name] for name in SECONDS if name in measured), float("nan"))
    stored, reference = measured.get("stored_bytes"), measured.get("reference_bytes")
    return line | {"size": stored / reference if stored is not None and reference else float("nan")}


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def cost_of(lines: pd.DataFrame) -> Cost | None:
    """Return the cost from the records that were measured alone; from all of them where none was."""
    measured = lines[lines["cost_ratio"].notna()]
    if measured.empty:
        return None
    alone = measured[measured["alone"]]
    used = measured if alone.empty else alone
    drift = used["drift"].dropna()
    return Cost(
        ratio=float(used["cost_ratio"].median()),
        seconds=_optional(used["seconds"].median()),
        n=len(used),
        alone=not alone.empty,
        steady=bool(drift.between(1 / STEADY, STEADY).all()),
    )


def _optional(value: float) -> float | None:
    return None if pd.isna(value) else float(value)


def samples_of(records: Sequence[CellRecord], metrics: Sequence[Metric]) -> dict[str, Sample]:
    """Return for each metric the value of each seed that is ok and has one."""
    ok = [record for record in records if record.status == "ok"]
    return {m.name: {r.key["seed"]: r.metrics[m.name] for r in ok if m.name in r.metrics} for m in metrics}


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
    difference = None if reference else paired(ours, others)
    return difference, None if difference is None else sum(gain > 0 for gain in gains(ours, others, metric).values())


def execution_of(records: Sequence[CellRecord]) -> str:
    """Return the ways in which the products of the model ran, all that occur, joined by ``+``."""
    ways: set[str] = set()
    for record in records:
        ran = record.notes.get("execution")
        if record.status == "ok" and isinstance(ran, dict):
            ways |= {str(way) for way in ran.values()}
    return "+".join(sorted(ways))


@dataclass(frozen=True)
class Field:
    """What all rows of a task share."""

    task: str
    metrics: tuple[Metric, ...]
    wanted: int
    reference: Mapping[str, Mapping[str, Sample]]
    """For each device the reference's samples by metric; empty where there is none."""


def make_row(entry: Entry, lines: pd.DataFrame, records: Sequence[CellRecord], field: Field, reference: bool) -> Row:
    """Return the row of ``entry``.

    Args:
        entry: the competitor.
        lines: its lines of :func:`record_frame`.
        records: its records, by seed.
        field: what the task's rows share.
        reference: whether it is the reference itself.
    """
    metric = field.metrics[0]
    samples = samples_of(records, field.metrics)
    theirs = field.reference.get(entry.device, {})
    difference, won = against_reference(reference, samples, theirs, metric)
    ok = lines[lines["ok"]]
    agreement = estimate(ok["agreement"].dropna().tolist())
    return Row(
        entry=entry,
        reference=reference,
        records=tuple(records),
        samples=samples,
        value=estimate(list(samples[metric.name].values())),
        difference=difference,
        won=won,
        cost=cost_of(ok),
        size=_optional(ok["size"].median()),
        agreement=None if agreement is None else agreement.mean,
        execution=execution_of(records),
        published=published_of(entry, field.task, field.metrics, samples, theirs),
        wanted=field.wanted,
        failures=dict(sorted(Counter(r.status for r in records if r.status != "ok").items())),
    )
