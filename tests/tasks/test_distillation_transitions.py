"""How the loss answers to an append, on curves whose answers can be read off."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchsuite.tasks.distillation.transitions import curve, transition


def test_a_step_up_that_decays_in_a_line():
    """Phases of 500 steps: windows of 10 and 50; smoothing over the least, 5."""
    before = [3.0] * 490 + [2.0] * 10
    after = [3.0 - step / 50 for step in range(100)] + [1.0] * 400
    found = transition(before, after, jump=0.9)
    assert found.jump == 0.9
    assert found.excess_short == pytest.approx(1 - 4.5 / 50)
    assert found.excess_long == pytest.approx(1 - 24.5 / 50)
    # 3 - s/50 is 2 at s = 50; the mean of steps 48 to 52 is the first that is not above 2.
    assert found.recovery_steps == 53


def test_a_loss_that_never_comes_back_has_no_recovery():
    assert transition([1.0] * 100, [1.1] * 100, 0.1).recovery_steps is None


def test_measurements_name_the_append():
    names = transition([1.0] * 10, [1.0] * 10, 0.0).measurements(2)
    assert set(names) == {
        "append2_jump",
        "append2_excess_short",
        "append2_excess_long",
        "append2_recovery_steps",
    }


@given(losses=st.lists(st.floats(0, 10), min_size=1, max_size=200), points=st.integers(1, 50))
def test_a_curve_is_short_and_loses_nothing_of_the_mean(losses, points):
    found = curve(losses, points)
    assert len(found) <= points
    assert found[-1][0] == len(losses)
    steps = [0, *(step for step, _ in found)]
    total = sum((end - start) * mean for start, (end, mean) in zip(steps, found, strict=False))
    assert total == pytest.approx(sum(losses), abs=1e-6)
