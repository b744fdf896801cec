"""The timing protocol on a clock that we turn by hand."""

from __future__ import annotations

import pytest
import torch

from benchsuite.tasks.timing import Clock, Timing, interleave

CPU = torch.device("cpu")


class Hands:
    """A clock that stands still until something takes time."""

    def __init__(self):
        self.time = 0.0

    def __call__(self):
        return self.time

    def take(self, seconds):
        self.time += seconds


def measure(forwards, calls):
    """Interleave a reference and a call that take the given seconds one after another (the last for ever)."""
    hands, events = Hands(), []

    def spend(name, seconds):
        events.append(name)
        hands.take(seconds.pop(0) if len(seconds) > 1 else seconds[0])

    def call(clock):
        hands.take(1000)  # preparing: not counted
        with clock:
            spend("call", calls)
        hands.take(1000)  # checking: not counted
        return len(events)

    return interleave(lambda: spend("forward", forwards), call, CPU, hands), events


def test_ratios_and_drift_by_hand():
    timing = Timing(call=(6.0, 4.0), forward=(1.0, 2.0, 3.0), results=(None, None))
    assert timing.ratios == (4.0, 1.6)
    assert timing.cost_ratio == pytest.approx(2.8)
    assert timing.seconds == 5.0
    assert timing.forward_seconds == 2.0
    assert timing.drift == 3.0


def test_an_expensive_call_is_measured_once_between_two_references():
    timing, events = measure(forwards=[0.5], calls=[1.0])
    # One warm-up, then at least three runs of the reference on each side.
    assert events == ["forward"] * 4 + ["call"] + ["forward"] * 3
    assert timing.call == (1.0,)
    assert timing.cost_ratio == 2.0


def test_a_cheap_call_is_measured_seven_times():
    timing, _ = measure(forwards=[0.5], calls=[0.01])
    assert len(timing.call) == len(timing.results) == 7
    assert len(timing.forward) == 8


def test_calls_end_with_the_budget():
    timing, _ = measure(forwards=[0.5], calls=[0.7])
    assert len(timing.call) == 3  # 2.1 seconds; after two calls 0.6 of the 2 seconds were left


def test_a_fast_reference_is_run_until_twenty_milliseconds_have_passed():
    _, events = measure(forwards=[2**-8], calls=[5.0])  # 3.9 ms, exact in binary: five runs take 19.5 ms
    assert events.count("forward") == 1 + 2 * 6


def test_the_warm_up_is_not_measured_and_each_side_is_a_median():
    warm_up, before, after = [100.0], [1.0, 9.0, 2.0], [3.0, 3.0, 5.0]
    timing, _ = measure(forwards=[*warm_up, *before, *after], calls=[5.0])
    assert timing.forward == (2.0, 3.0)
    assert timing.ratios == (2.0,)
    assert timing.drift == 1.5


def test_results_are_those_of_the_calls_in_order():
    timing, _ = measure(forwards=[0.5], calls=[0.9, 0.9, 0.9])
    assert list(timing.results) == sorted(timing.results)
    assert len(timing.results) == 3


def test_a_failing_call_is_not_swallowed():
    def call(clock):
        with clock:
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        interleave(lambda: None, call, CPU)


def test_the_real_clock_counts_what_happens_inside():
    import time

    clock = Clock(CPU)
    with clock:
        time.sleep(0.02)
    assert 0.02 <= clock.seconds < 5
