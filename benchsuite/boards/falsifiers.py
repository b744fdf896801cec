"""What a method's card said beforehand would refute it, and whether the records do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from benchsuite.boards.rows import gains
from benchsuite.boards.statistics import estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchsuite.boards.entries import Entry
    from benchsuite.boards.rows import Row
    from benchsuite.boards.statistics import Estimate, Sample
    from benchsuite.contracts.cards import Claim, Metric

#: ``no``: the margin's interval lies above zero. ``yes``: its mean does not. ``open``: neither; more seeds may decide.
Fires = Literal["yes", "no", "open"]


@dataclass(frozen=True)
class Verdict:
    """One falsifier of one method on one task."""

    method: str
    """Label of the method that makes the claim."""
    name: str
    """What was changed."""
    arm: str
    """Label of the row that decides."""
    rule: str
    """The margin as a formula: g(X) is the gain of X over the reference on one seed, more being better."""
    margin: Estimate
    """Over the seeds that all rows in it share; it must be above zero."""
    above: int
    """On how many of them it is."""
    source: str
    """Who named the falsifier."""

    @property
    def fires(self) -> Fires:
        """Whether the claim is refuted; one seed alone leaves it open."""
        if self.margin.half is None:
            return "open"
        if self.margin.mean <= 0:
            return "yes"
        return "no" if self.margin.mean > self.margin.half else "open"


def verdicts(rows: Sequence[Row], metric: Metric) -> tuple[Verdict, ...]:
    """Return what the falsifiers of all rows' cards say, in the order of rows and cards.

    The first line of each method is its claim itself, that it gains over the reference. A falsifier whose arm has no
    records here says nothing and has no line. Methods and arms count at their default parameters alone.

    Args:
        rows: of one task, the reference among them.
        metric: the one that ranks.
    """
    found: list[Verdict] = []
    for row in rows:
        if row.entry.card is not None and row.entry.card.falsifiers and _at_defaults(row.entry):
            found += _verdicts_of(row, rows, metric)
    return tuple(found)


def _verdicts_of(row: Row, rows: Sequence[Row], metric: Metric) -> list[Verdict]:
    reference = next((r for r in rows if r.reference and r.entry.device == row.entry.device), None)
    card = row.entry.card
    if reference is None or card is None:
        return []
    theirs = reference.samples[metric.name]
    own, label = gains(row.samples[metric.name], theirs, metric), row.entry.label
    found: list[Verdict | None] = [
        _verdict(label, "no gain", label, f"g({label})", list(own.values()), "the claim itself")
    ]
    for falsifier in card.falsifiers:
        arm = next((r for r in rows if r.entry.method == falsifier.arm and _is_arm_of(r.entry, row.entry)), None)
        if arm is not None:
            other = gains(arm.samples[metric.name], theirs, metric)
            margins, rule = _margins(falsifier.claim, own, other), _rule(falsifier.claim, label, arm.entry.label)
            found.append(_verdict(label, falsifier.name, arm.entry.label, rule, margins, falsifier.source))
    return [verdict for verdict in found if verdict is not None]


def _verdict(method: str, name: str, arm: str, rule: str, margins: Sequence[float], source: str) -> Verdict | None:
    margin = estimate(margins)
    if margin is None:
        return None
    return Verdict(method, name, arm, rule, margin, sum(value > 0 for value in margins), source)


def _margins(claim: Claim, own: Sample, arm: Sample) -> list[float]:
    if claim == "persists":
        return list(arm.values())
    factor = 2 if claim == "bounds" else 1
    return [factor * own[seed] - arm[seed] for seed in sorted(own.keys() & arm.keys())]


def _rule(claim: Claim, method: str, arm: str) -> str:
    if claim == "persists":
        return f"g({arm})"
    return f"{'2 ' if claim == 'bounds' else ''}g({method}) - g({arm})"


def _is_arm_of(arm: Entry, entry: Entry) -> bool:
    return _at_defaults(arm) and (arm.partners, arm.device) == (entry.partners, entry.device)


def _at_defaults(entry: Entry) -> bool:
    return entry.card is not None and entry.card.resolve({}) == entry.params
