"""From a curriculum's phases to legs: which documents each step sees, and where the learning rate stands.

A leg is fixed before anything is trained, so that every arm can be accounted for in every unit, and all arms of a seed
draw the same documents in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from benchsuite.contracts.curriculum import Phase
from benchsuite.errors import ProtocolError
from benchsuite.tasks.seeds import derive

if TYPE_CHECKING:
    from benchsuite.contracts.curriculum import Budget

_MEND = "The contract is in benchsuite/contracts/curriculum.py"


@dataclass(frozen=True, eq=False)
class Leg:
    """One phase with everything decided."""

    phase: Phase
    batches: tuple[np.ndarray, ...]
    """For each step the documents, ``[batch]`` int64."""
    tokens: tuple[int, ...]
    """For each step its non-pad tokens."""
    begun: int = 0
    """Steps of the learning-rate schedule that lie before this leg."""
    span: int = 0
    """Steps of the whole schedule."""

    @property
    def steps(self) -> int:
        """Number of optimiser steps."""
        return len(self.batches)

    def rate(self, step: int, warmup: float, final: float) -> float:
        """Return the learning rate of the leg's ``step`` (from 0) as a share of the peak.

        It rises in a line over the first ``warmup`` of the span, and falls as a cosine to ``final`` at its last step.
        """
        place, rising = self.begun + step, math.ceil(warmup * self.span)
        if place < rising:
            return (place + 1) / rising
        progress = (place - rising) / max(1, self.span - 1 - rising)
        return final + (1 - final) * (1 + math.cos(math.pi * progress)) / 2


class Stream:
    """The training documents of one seed, a batch at a time.

    Documents are shuffled once and cut into shards, each as long as one phase of the joint arm. A shard is replayed for
    as long as nobody asks for a fresh one, in a new order each time.

    Args:
        lengths: tokens of each document, cut to the context.
        batch: documents in a step.
        budget: length of a shard, in steps or total tokens.
        seed: the cell's.
    """

    def __init__(self, lengths: Sequence[int] | np.ndarray, batch: int, budget: Budget, seed: int) -> None:
        self.lengths = np.asarray(lengths, dtype=np.int64)
        self._batch, self._budget, self._seed = batch, budget, seed
        self._order = _shuffled(len(self.lengths), derive(seed, "documents"))
        self._end = self._shards = self._position = self._epoch = 0
        self._open()

    def next(self) -> np.ndarray:
        """Return the documents of the next step, ``[batch]`` int64."""
        if self._position == len(self._shard):
            self._epoch += 1
            self._position = 0
        if self._position == 0 and self._epoch:
            again = derive(self._seed, "replay", str(self._shards - 1), str(self._epoch))
            self._current = self._shard[_shuffled(len(self._shard), again)]
        taken: np.ndarray = self._current[self._position : self._position + self._batch]
        self._position += self._batch
        return taken

    def rewind(self) -> None:
        """Go back to the beginning of the shard, in its first order."""
        self._current, self._position, self._epoch = self._shard, 0, 0

    def fresh(self) -> None:
        """Go on to the next shard, of documents that were in none before; to the first one if nothing was taken yet.

        Raises:
            ProtocolError: the corpus has too few documents.
        """
        if self._position or self._epoch:
            self._open()

    def _open(self) -> None:
        start = self._end
        self._end = start + self._size(start)
        self._shards += 1
        self._shard = self._order[start : self._end]
        self.rewind()

    def _size(self, start: int) -> int:
        """Return the fewest whole batches from ``start`` that make a shard."""
        left = self._order[start : start + (len(self._order) - start) // self._batch * self._batch]
        per_step = self.lengths[left].reshape(-1, self._batch).sum(1)
        used = np.arange(1, len(per_step) + 1) if self._budget.unit == "steps" else per_step.cumsum()
        enough = np.flatnonzero(used >= self._budget.amount)
        if not len(enough):
            raise ProtocolError(
                f"the corpus has {len(self.lengths)} training documents, {len(left)} of them are left for data shard "
                f"{self._shards + 1}, which takes {self._budget.amount} {_words(self._budget.unit)}",
                "Take a larger corpus, a shorter phase, or a curriculum that replays its data",
            )
        return int(enough[0] + 1) * self._batch


def check_phases(returned: object, depth: int) -> list[Phase]:
    """Return what ``Curriculum.phases`` returned, if it can be trained.

    Raises:
        ProtocolError: it cannot; the message names the first phase that is wrong, and why.
    """
    if not isinstance(returned, Sequence) or not returned:
        raise ProtocolError(f"phases() returned {_brief(returned)}, not a sequence of phases", _MEND)
    seen: set[int] = set()
    for number, phase in enumerate(returned):
        problem = _problem(phase, depth, seen)
        if problem:
            raise ProtocolError(f"phase {number} {problem}", _MEND)
        seen |= set(phase.active)
    left_out = sorted(set(range(depth)) - set(returned[-1].active))
    if left_out:
        raise ProtocolError(f"the last phase leaves out block {', '.join(map(str, left_out))} of {depth}", _MEND)
    return list(returned)


def _problem(phase: object, depth: int, seen: set[int]) -> str:
    if not isinstance(phase, Phase):
        return f"is {_brief(phase)}, not a Phase"
    active, budget = phase.active, phase.budget
    checks = {
        f"has no block of {depth} in {active}": not active or not set(active) <= set(range(depth)),
        f"has its blocks out of order or twice: {active}": list(active) != sorted(set(active)),
        f"trains a block that is not active: {phase.trainable}": not set(phase.trainable) <= set(active),
        "trains nothing": not (phase.trainable or phase.train_boundary_norm or phase.train_head),
        f"has a budget of {budget.amount} {budget.unit}": not (isinstance(budget.amount, int) and budget.amount > 0),
        "copies a block though none below it was active before": phase.insertion == "copy"
        and any(source_of(block, seen) is None for block in set(active) - seen),
    }
    return next((text for text, wrong in checks.items() if wrong), "")


def source_of(block: int, seen: set[int]) -> int | None:
    """Return the block that a copy at ``block`` is taken from: the highest one below it that was active before."""
    return max((other for other in seen if other < block), default=None)


def make_legs(phases: Sequence[Phase], stream: Stream, layers_per_block: int) -> list[Leg]:
    """Draw every phase's documents and lay out the learning rate.

    Raises:
        ProtocolError: the corpus has too few documents.
    """
    legs = [_draw(phase, stream, layers_per_block) for phase in phases]
    return _scheduled(legs)


def _draw(phase: Phase, stream: Stream, layers_per_block: int) -> Leg:
    if phase.data == "rewind":
        stream.rewind()
    elif phase.data == "fresh":
        stream.fresh()
    layers = layers_per_block * len(phase.active)
    batches: list[np.ndarray] = []
    tokens: list[int] = []
    used = 0
    while used < phase.budget.amount:
        batches.append(stream.next())
        tokens.append(int(stream.lengths[batches[-1]].sum()))
        used += {"steps": 1, "total_tokens": tokens[-1]}.get(phase.budget.unit, tokens[-1] * layers)
    return Leg(phase, tuple(batches), tuple(tokens))


def _scheduled(legs: Sequence[Leg]) -> list[Leg]:
    """Let a leg that does not restart the schedule share the one of the leg before."""
    starts = [i for i, leg in enumerate(legs) if i == 0 or leg.phase.restart_schedule]
    laid: list[Leg] = []
    for start, end in zip(starts, [*starts[1:], len(legs)], strict=True):
        span, begun = sum(leg.steps for leg in legs[start:end]), 0
        for leg in legs[start:end]:
            laid.append(replace(leg, begun=begun, span=span))
            begun += leg.steps
    return laid


def _shuffled(number: int, seed: int) -> np.ndarray:
    return np.random.Generator(np.random.PCG64(seed)).permutation(number)


def _words(unit: str) -> str:
    return unit.replace("_", " ")


def _brief(value: object) -> str:
    return "nothing" if isinstance(value, Sequence) and not value else type(value).__name__
