"""The statistics of a board: t intervals, paired differences, Holm's correction, ranges of ranks.

Means and deviations come from the standard library's exactly rounded sums, so that the order of the records and the
machine that makes the board change no digit.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

from scipy import special

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Two-sided level of every interval and of every family of tests.
LEVEL = 0.05

#: One value for each seed.
Sample = dict[int, float]


@dataclass(frozen=True)
class Estimate:
    """A mean with the half-width of its 95 % interval."""

    mean: float
    half: float | None
    """None where one value alone was seen: it says nothing about its own spread."""
    n: int


@dataclass(frozen=True)
class Ranks:
    """The best and the worst place that an entry may have in its group, both from 1."""

    best: int
    worst: int


def estimate(values: Sequence[float]) -> Estimate | None:
    """Return the mean of ``values`` with its t interval (sample standard deviation, n - 1 degrees of freedom).

    Args:
        values: finite numbers in any order.

    Returns:
        None where there is no value.
    """
    n = len(values)
    if n == 0:
        return None
    mean = statistics.fmean(values)
    if n == 1:
        return Estimate(mean, None, 1)
    return Estimate(mean, _quantile(n - 1) * deviation(values) / math.sqrt(n), n)


@lru_cache(maxsize=1024)
def _quantile(freedom: int) -> float:
    return float(special.stdtrit(freedom, 1 - LEVEL / 2))


def deviation(values: Sequence[float]) -> float:
    """Return the sample standard deviation of at least two values, to the last bit or the one before.

    ``statistics.stdev`` adds exact fractions; that takes ten times as long, and boards take thousands of deviations.
    """
    n, mean = len(values), statistics.fmean(values)
    off = [value - mean for value in values]
    # The mean is rounded, so the deviations from it do not quite add up to zero: the second term mends that.
    squares = math.fsum(each * each for each in off) - math.fsum(off) ** 2 / n
    return math.sqrt(max(squares, 0.0) / (n - 1))


def differences(ours: Mapping[int, float], theirs: Mapping[int, float]) -> list[float]:
    """Return ours minus theirs for the seeds that both have."""
    if list(ours) == list(theirs):  # as nearly always: each row has every seed, in order
        return [a - b for a, b in zip(ours.values(), theirs.values(), strict=True)]
    return [ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())]


def paired(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Estimate | None:
    """Return the mean of ours minus theirs over the shared seeds, with its t interval; None without a shared seed."""
    return estimate(differences(ours, theirs))


def p_value(sample: Sequence[float]) -> float:
    """Return the two-sided p-value of the t test that the mean of paired differences is zero.

    Where all differences are one number other than zero the t statistic is infinite, though accuracies come in steps
    and a few seeds may well agree by chance; there the p-value is the sign test's, ``2 ** (1 - n)``.

    Args:
        sample: paired differences.

    Returns:
        1 where fewer than two differences, or no difference but zero, were seen: nothing can be told apart.
    """
    n = len(sample)
    if n < 2 or not any(sample):
        return 1.0
    # Differences that agree on paper differ in the last bits (81.3 - 81.2 against 80.3 - 80.2).
    scale = max(map(abs, sample))
    spread = deviation(sample)
    if spread <= 1e-9 * scale:
        return float(2.0 ** (1 - n))
    statistic = statistics.fmean(sample) / (spread / math.sqrt(n))
    return float(2 * special.stdtr(n - 1, -abs(statistic)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted by Holm's step-down procedure, in the order given.

    The k-th smallest of m (k from 0) is multiplied by m - k; no adjusted value is below that of a smaller p-value, nor
    above 1. (Holm, Scandinavian Journal of Statistics 6, 1979.)
    """
    adjusted = [1.0] * len(p_values)
    running = 0.0
    for k, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        running = max(running, (len(p_values) - k) * p_values[i])
        adjusted[i] = min(1.0, running)
    return adjusted


def wins(samples: Mapping[str, Sample], higher_is_better: bool = True) -> set[tuple[str, str]]:
    """Return the pairs (winner, loser) that the paired tests tell apart.

    All pairs of ``samples`` make one family; its p-values are corrected by :func:`holm` to the level 0.05.

    Args:
        samples: the value of each seed, by name.
        higher_is_better: False where the smaller value wins.
    """
    pairs = list(combinations(sorted(samples), 2))
    observed = [differences(samples[a], samples[b]) for a, b in pairs]
    told_apart: set[tuple[str, str]] = set()
    for (a, b), sample, p in zip(pairs, observed, holm([p_value(s) for s in observed]), strict=True):
        if p < LEVEL:
            a_wins = (statistics.fmean(sample) > 0) == higher_is_better
            told_apart.add((a, b) if a_wins else (b, a))
    return told_apart


def ranks(names: Sequence[str], won: set[tuple[str, str]]) -> dict[str, Ranks]:
    """Return each name's range of places.

    Its best place is one behind all that beat it, its worst is one ahead of all that it beats; names that nothing tells
    apart share the same range, which is how a tie shows.

    Args:
        names: those that compete.
        won: pairs (winner, loser), as :func:`wins` returns them; pairs with other names are not looked at.
    """
    beaten = {name: sum((other, name) in won for other in names) for name in names}
    beats = {name: sum((name, other) in won for other in names) for name in names}
    return {name: Ranks(1 + beaten[name], len(names) - beats[name]) for name in names}
