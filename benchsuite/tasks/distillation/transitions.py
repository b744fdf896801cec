"""How the training loss answers when blocks are appended, and loss curves short enough for a record.

The quantities of arXiv 2608.13156, with windows as shares of the phase: there, phases have 50,000 steps, the
excess is taken over 1,000 and 5,000 of them, and the loss is smoothed over 200.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SHORT, LONG, SMOOTHING = 0.02, 0.1, 0.004
#: A mean over fewer steps than this is noise, however short the phase.
FEWEST = 5


@dataclass(frozen=True)
class Transition:
    """What an append did to the training loss, in nats and steps. The baseline is the mean before the append."""

    jump: float
    """Loss with the new blocks minus without them: same weights otherwise, same batch, before any update."""
    excess_short: float
    """Mean loss minus baseline over the first 2 % of the phase."""
    excess_long: float
    """The same over the first 10 %."""
    recovery_steps: float | None
    """First step at which the smoothed loss is back at the baseline; None if it never is."""

    def measurements(self, number: int) -> dict[str, float | None]:
        """Return the numbers as a record holds them, for the ``number``-th append."""
        return {f"append{number}_{name}": value for name, value in asdict(self).items()}


def transition(before: Sequence[float], after: Sequence[float], jump: float) -> Transition:
    """Measure one append.

    Args:
        before: losses of the phase before it.
        after: losses of the phase that begins with it.
        jump: see :class:`Transition`.
    """
    smoothing = _window(after, SMOOTHING)
    baseline = fmean(before[-_window(before, SHORT) :])
    return Transition(
        jump=jump,
        excess_short=fmean(after[: _window(after, SHORT)]) - baseline,
        excess_long=fmean(after[: _window(after, LONG)]) - baseline,
        recovery_steps=_recovery(after, baseline, smoothing),
    )


def _recovery(losses: Sequence[float], baseline: float, window: int) -> float | None:
    for end in range(window, len(losses) + 1):
        if fmean(losses[end - window : end]) <= baseline:
            return float(end)
    return None


def _window(losses: Sequence[float], share: float) -> int:
    return min(len(losses), max(FEWEST, round(share * len(losses))))


def curve(losses: Sequence[float], points: int) -> list[tuple[int, float]]:
    """Return at most ``points`` pairs of a number of steps and the mean loss since the pair before."""
    size = math.ceil(len(losses) / points)
    starts = range(0, len(losses), size)
    return [(min(start + size, len(losses)), fmean(losses[start : start + size])) for start in starts]
