"""Intervals, paired differences, Holm's correction, ranks: by hand, and against scipy."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchsuite.boards.statistics import Estimate, Ranks, deviation, estimate, holm, p_value, paired, ranks, wins

numbers = st.floats(-100, 100).map(lambda x: round(x, 1))
samples = st.lists(numbers, min_size=2, max_size=12)
probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def test_interval_by_hand():
    """Of 1, 2, 3: standard deviation 1, and 4.302653 is the 97.5 % quantile of t with 2 degrees of freedom."""
    found = estimate([1.0, 2.0, 3.0])
    assert found.mean == 2.0
    assert found.n == 3
    assert found.half == pytest.approx(4.302653 / math.sqrt(3), abs=1e-6)


@given(samples.filter(lambda values: len(set(values)) > 1))
def test_interval_is_scipys(values):
    found = estimate(values)
    low, high = stats.t.interval(0.95, len(values) - 1, loc=sum(values) / len(values), scale=stats.sem(values))
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high), abs=1e-9)


def test_one_value_has_no_spread_and_none_has_no_mean():
    assert estimate([81.5]) == Estimate(81.5, None, 1)
    assert estimate([]) is None


def test_equal_values_have_an_interval_of_width_zero():
    assert estimate([81.3] * 4) == Estimate(81.3, 0.0, 4)


@given(samples, st.randoms())
def test_order_changes_no_bit(values, random):
    shuffled = random.sample(values, len(values))
    assert estimate(values) == estimate(shuffled)


def test_paired_difference_takes_shared_seeds_alone():
    found = paired({0: 80.0, 1: 82.0, 7: 10.0}, {1: 81.0, 0: 80.5, 3: 99.0})
    assert (found.mean, found.n) == (0.25, 2)
    assert paired({0: 1.0}, {1: 1.0}) is None
    assert paired({0: 3.0}, {0: 1.0}) == Estimate(2.0, None, 1)


@settings(deadline=None)
@given(st.lists(st.tuples(numbers, numbers), min_size=3, max_size=12))
def test_p_value_is_scipys_paired_t_test(pairs):
    ours, theirs = zip(*pairs, strict=True)
    sample = [a - b for a, b in pairs]
    if max(sample) - min(sample) < 1e-6:
        return
    assert p_value(sample) == pytest.approx(float(stats.ttest_rel(ours, theirs).pvalue), rel=1e-6, abs=1e-12)


def test_p_value_where_the_t_test_has_none():
    assert p_value([]) == 1.0
    assert p_value([5.0]) == 1.0
    assert p_value([0.0] * 10) == 1.0
    # Equal but for the last bits: as surprising as n coins that fall alike.
    assert p_value([81.3 - 81.2, 80.3 - 80.2, 79.3 - 79.2]) == 2.0**-2
    assert p_value([-1.0] * 10) == 2.0**-9


def test_holm_by_hand():
    """Sorted 0.01, 0.03, 0.04 times 3, 2, 1 is 0.03, 0.06, 0.04; the last must not fall below the one before."""
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(probabilities)
def test_holm_lies_between_the_raw_value_and_bonferronis(p_values):
    for raw, adjusted in zip(p_values, holm(p_values), strict=True):
        assert raw <= adjusted <= min(1.0, len(p_values) * raw)


@given(probabilities, st.randoms())
def test_holm_does_not_depend_on_the_order(p_values, random):
    order = random.sample(range(len(p_values)), len(p_values))
    adjusted = holm(p_values)
    assert holm([p_values[i] for i in order]) == [adjusted[i] for i in order]


def seeds(*values: float) -> dict[int, float]:
    return dict(enumerate(values))


CLEAR = {
    "good": seeds(90.0, 91.2, 92.1, 90.4, 91.0),
    "same": seeds(90.1, 91.1, 92.0, 90.5, 91.1),
    "bad": seeds(80.0, 81.1, 82.3, 80.2, 80.8),
}


def test_wins_tells_apart_what_differs_and_nothing_else():
    assert wins(CLEAR) == {("good", "bad"), ("same", "bad")}
    assert wins(CLEAR, higher_is_better=False) == {("bad", "good"), ("bad", "same")}


def test_two_values_without_shared_seeds_are_a_tie():
    assert wins({"a": {0: 1.0, 1: 1.1}, "b": {2: 9.0, 3: 9.1}}) == set()


def test_the_family_is_corrected():
    """One pair with p = 0.02 wins alone, and no more beside two pairs of which nothing is known."""
    sample = [1.0, 3.0, 2.0, 0.2, 1.6, -0.2]
    assert 0.05 / 3 < p_value(sample) < 0.05
    pair = {"a": seeds(*sample), "b": seeds(*[0.0] * 6)}
    assert wins(pair) == {("a", "b")}
    assert wins({**pair, "c": {}}) == set()


def test_ranks_are_ranges_and_ties_share_them():
    names = ["good", "same", "bad"]
    assert ranks(names, wins(CLEAR)) == {"good": Ranks(1, 2), "same": Ranks(1, 2), "bad": Ranks(3, 3)}
    assert ranks(["a", "b"], set()) == {"a": Ranks(1, 2), "b": Ranks(1, 2)}


@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] < pair[1])))
def test_every_rank_range_is_one(pairs):
    names = [str(i) for i in range(6)]
    for found in ranks(names, {(str(a), str(b)) for a, b in pairs}).values():
        assert 1 <= found.best <= found.worst <= 6


@given(
    st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 6)), min_size=2, max_size=30),
    st.sampled_from([0.0, 80.0, 1e9]),
)
def test_the_deviation_is_that_of_exact_fractions(values, shift):
    """The standard library's works on fractions, and rounds once at the end."""
    moved = [value + shift for value in values]
    exact = statistics.stdev(moved)
    assert deviation(moved) == pytest.approx(exact, rel=1e-12, abs=1e-13 * max(map(abs, moved)))
    assert deviation(moved[::-1]) == deviation(moved)
