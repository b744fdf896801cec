"""The timing protocol ``timing/1`` (docs/protocols/timing.md): what one call costs, measured against a reference.

Seconds differ between machines and between minutes on one machine; the ratio of two things that ran right after each
other differs much less. So every timed call stands between two measurements of the reference.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Generic, TypeVar

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

TIMING = "timing/1"

BLOCKS = 7
"""Most calls that are timed."""
BUDGET = 2.0
"""Seconds of timed calls after which no further one begins."""
SINGLE = 1.0
"""Seconds of the first call from which on it is the only one."""
FORWARD_TIME, FORWARD_RUNS = 0.02, 3
"""Least seconds and least runs behind one measurement of the reference."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Timing(Generic[Result]):
    """What was measured: blocks of (reference, call, reference), neighbours sharing the reference between them."""

    call: tuple[float, ...]
    """Seconds of each call."""
    forward: tuple[float, ...]
    """Seconds of the reference around the calls, each a median; one more than calls."""
    results: tuple[Result, ...]
    """What each call led to."""

    @property
    def ratios(self) -> tuple[float, ...]:
        """Cost of each call in units of the reference: over the mean of its two neighbours."""
        pairs = zip(self.forward, self.forward[1:], strict=False)
        return tuple(2 * call / (before + after) for call, (before, after) in zip(self.call, pairs, strict=True))

    @property
    def seconds(self) -> float:
        """Median of the calls."""
        return statistics.median(self.call)

    @property
    def forward_seconds(self) -> float:
        """Median of the reference's measurements."""
        return statistics.median(self.forward)

    @property
    def cost_ratio(self) -> float:
        """Median of :attr:`ratios`."""
        return statistics.median(self.ratios)

    @property
    def drift(self) -> float:
        """The reference's last measurement over its first: far from 1 where the machine was not left alone."""
        return self.forward[-1] / self.forward[0]


def interleave(
    forward: Callable[[], object],
    call: Callable[[Clock], Result],
    device: torch.device,
    now: Callable[[], float] = perf_counter,
) -> Timing[Result]:
    """Measure ``call`` in blocks between measurements of ``forward``.

    Args:
        forward: the reference; run once before the clock starts.
        call: prepares a fresh copy of everything, does the timed part inside ``with clock:`` and returns its result.
            Only what happens inside the ``with`` counts.
        device: waited for before any clock is read.
        now: the clock, in seconds.
    """
    forward()
    forwards = [_forward(forward, device, now)]
    calls: list[float] = []
    results: list[Result] = []
    while not calls or (calls[0] < SINGLE and len(calls) < BLOCKS and sum(calls) < BUDGET):
        clock = Clock(device, now)
        results.append(call(clock))
        calls.append(clock.seconds)
        forwards.append(_forward(forward, device, now))
    return Timing(tuple(calls), tuple(forwards), tuple(results))


class Clock:
    """A context manager that measures its block.

    Args:
        device: waited for at both ends.
        now: the clock, in seconds.
    """

    def __init__(self, device: torch.device, now: Callable[[], float] = perf_counter) -> None:
        self.device = device
        self.seconds = 0.0
        self._now = now

    def __enter__(self) -> None:
        synchronise(self.device)
        self.seconds = -self._now()

    def __exit__(self, *error: object) -> None:
        synchronise(self.device)
        self.seconds += self._now()


def synchronise(device: torch.device) -> None:
    """Wait until ``device`` has done what it was asked to; a CPU always has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _forward(forward: Callable[[], object], device: torch.device, now: Callable[[], float]) -> float:
    runs: list[float] = []
    while len(runs) < FORWARD_RUNS or sum(runs) < FORWARD_TIME:
        clock = Clock(device, now)
        with clock:
            forward()
        runs.append(clock.seconds)
    return statistics.median(runs)
