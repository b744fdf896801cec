"""A task of two factors as a matrix: what each arm reaches, and whether one factor's effect depends on the other's.

For levels a and b of the two factors and their references a0 and b0, with y the metric on one seed::

    effect of a under b:   y(a, b) - y(a0, b)
    interaction I(a, b):   [y(a, b) - y(a0, b)] - [y(a, b0) - y(a0, b0)]

Both are taken seed by seed, over the seeds that all arms in them share, and only then averaged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchsuite.boards.entries import Entry, entry_of
from benchsuite.boards.statistics import estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from benchsuite.boards.rows import Row
    from benchsuite.boards.statistics import Estimate, Sample
    from benchsuite.boards.taskboard import TaskBoard
    from benchsuite.contracts.cards import Kind, MethodCard, Reported, TaskCard
    from benchsuite.host import Catalogue

#: Labels of one level of each factor.
Arm = tuple[str, str]


@dataclass(frozen=True)
class Contrast:
    """A combination of arms, seed by seed."""

    first: str
    """Level of the first factor."""
    second: str
    values: Sample

    @property
    def estimate(self) -> Estimate | None:
        """Mean and interval over the seeds."""
        return estimate(list(self.values.values()))

    @property
    def below(self) -> int:
        """Number of seeds on which it is below zero."""
        return sum(value < 0 for value in self.values.values())

    @property
    def above(self) -> int:
        """Number of seeds on which it is above zero."""
        return sum(value > 0 for value in self.values.values())


@dataclass(frozen=True)
class Matrix:
    """The arms of one task."""

    kinds: tuple[Kind, Kind]
    levels: tuple[tuple[str, ...], tuple[str, ...]]
    """Of each factor, the reference first where it has records."""
    references: Arm
    rows: Mapping[Arm, Row]
    metric: str
    published: Mapping[Arm, Reported]
    """What the cards of either factor's methods report for this task and metric; not only for arms that were run."""

    def sample(self, first: str, second: str) -> Sample:
        """Return the values of an arm by seed; empty where it has none."""
        row = self.rows.get((first, second))
        return {} if row is None else row.samples[self.metric]

    def effects(self) -> list[Contrast]:
        """Return the effect of every other level of the first factor under every level of the second."""
        reference, _ = self.references
        return [
            Contrast(first, second, _minus(self.sample(first, second), self.sample(reference, second)))
            for first in self._others(0)
            for second in self.levels[1]
        ]

    def interactions(self) -> list[Contrast]:
        """Return the interaction of every two levels that are no references, where some seed has all four arms."""
        effects = {(effect.first, effect.second): effect.values for effect in self.effects()}
        found = [
            Contrast(first, second, _minus(effects[first, second], effects.get((first, self.references[1]), {})))
            for first in self._others(0)
            for second in self._others(1)
        ]
        return [contrast for contrast in found if contrast.values]

    def published_interaction(self, first: str, second: str) -> float | None:
        """Return the interaction of the published figures; None where one of the four is missing."""
        first0, second0 = self.references
        arms = ((first, second), (first0, second), (first, second0), (first0, second0))
        figures = [self.published[arm].value for arm in arms if arm in self.published]
        if len(figures) < len(arms):
            return None
        one, two, three, four = figures
        return (one - two) - (three - four)

    def _others(self, factor: int) -> list[str]:
        return [level for level in self.levels[factor] if level != self.references[factor]]


def make_matrix(task: TaskBoard, catalogue: Catalogue) -> Matrix | None:
    """Return the matrix of ``task``; None where it has not two factors, or no reference for one of them.

    Records from several devices do not mix: the CPU's count, or those of the first device by name.
    """
    card = task.card
    if card is None or len(card.factors) != 2 or set(card.reference) != set(card.factors):
        return None
    kinds = (card.factors[0], card.factors[1])
    devices = sorted({row.entry.device for row in task.rows}, key=lambda device: (device != "cpu", device))
    rows = {_arm(row, kinds, catalogue): row for row in task.rows if row.entry.device == devices[0]}
    references = (card.reference[kinds[0]], card.reference[kinds[1]])
    return Matrix(
        kinds,
        (_ordered((a for a, _ in rows), references[0]), _ordered((b for _, b in rows), references[1])),
        references,
        rows,
        task.metric.name,
        _published(card, task.metric.name, kinds, catalogue),
    )


def _arm(row: Row, kinds: tuple[Kind, Kind], catalogue: Catalogue) -> Arm:
    """Return the row's levels as people call them: each method with the parameters that are not at their defaults."""
    entries = [replace(entry_of(row.records[0], kind, catalogue), partners=(), device="cpu") for kind in kinds]
    return entries[0].label, entries[1].label


def _ordered(labels: Iterable[str], reference: str) -> tuple[str, ...]:
    return tuple(sorted(set(labels), key=lambda label: (label != reference, label)))


def _published(card: TaskCard, metric: str, kinds: tuple[Kind, Kind], catalogue: Catalogue) -> dict[Arm, Reported]:
    found: dict[Arm, Reported] = {}
    for method in sorted(catalogue.methods.values(), key=lambda method: method.name):
        if method.kind not in kinds:
            continue
        other = kinds[1 - kinds.index(method.kind)]
        for reported in method.reported:
            if (reported.task, reported.metric) == (card.name, metric) and other in reported.partners:
                labels = {method.kind: _label(method, reported), other: reported.partners[other]}
                found.setdefault((labels[kinds[0]], labels[kinds[1]]), reported)
    return found


def _label(method: MethodCard, reported: Reported) -> str:
    return Entry("", method.name, method.resolve(reported.params), method).label


def _minus(ours: Sample, theirs: Sample) -> Sample:
    return {seed: ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())}
