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
    ``quantization_seconds``, ``drift``, ``agreement``, ``size``. A measurement that a record lacks is NaN, as are all
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
    for name in ("cost_ratio", "quantization_seconds", "drift", "agreement"):
        line[name] = _number(measured.get(name))
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
        seconds=_optional(used["quantization_seconds"].median()),
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
    entry: Entry, task: str, metric: str, value: Estimate | None, difference: Estimate | None
) -> tuple[Published, ...]:
    """Return the card's figures for this task, metric, parameters and partners, in the card's order."""
    card = entry.card
    if card is None:
        return ()
    matching = [
        r
        for r in card.reported
        if (r.task, r.metric) == (task, metric)
        and card.resolve(r.params) == entry.params
        and set(r.partners.values()) <= set(entry.partners)
    ]
    return tuple(Published(reported, _gap(reported, value, difference)) for reported in matching)


def _gap(reported: Reported, value: Estimate | None, difference: Estimate | None) -> float | None:
    if reported.reference is None:
        return None if value is None else value.mean - reported.value
    return None if difference is None else difference.mean - (reported.value - reported.reference)


def gains(ours: Sample, theirs: Sample, metric: Metric) -> Sample:
    """Return for each seed that both have by how much ours is better, in the metric's unit."""
    sign = 1 if metric.higher_is_better else -1
    return {seed: sign * (ours[seed] - theirs[seed]) for seed in sorted(ours.keys() & theirs.keys())}


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
    theirs = field.reference.get(entry.device, {}).get(metric.name, {})
    value = estimate(list(samples[metric.name].values()))
    difference = None if reference else paired(samples[metric.name], theirs)
    ok = lines[lines["ok"]]
    agreement = estimate(ok["agreement"].dropna().tolist())
    return Row(
        entry=entry,
        reference=reference,
        records=tuple(records),
        samples=samples,
        value=value,
        difference=difference,
        won=None if difference is None else sum(g > 0 for g in gains(samples[metric.name], theirs, metric).values()),
        cost=cost_of(ok),
        size=_optional(ok["size"].median()),
        agreement=None if agreement is None else agreement.mean,
        execution=execution_of(records),
        published=published_of(entry, field.task, metric.name, value, difference),
        wanted=field.wanted,
        failures=dict(sorted(Counter(r.status for r in records if r.status != "ok").items())),
    )
