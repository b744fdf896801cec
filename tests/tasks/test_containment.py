"""Whatever a method does to the process, those who come after it find it as it was."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from benchsuite.tasks.containment import contained

CPU = torch.device("cpu")


def state():
    return (
        random.getstate(),
        np.random.get_state()[1].tolist(),
        torch.random.get_rng_state().tolist(),
        torch.get_default_dtype(),
        torch.get_num_threads(),
        torch.is_grad_enabled(),
    )


def draw():
    return random.random(), np.random.rand(), torch.rand(1).item()


def vandalise():
    draw()
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(2)
    torch.set_grad_enabled(not torch.is_grad_enabled())


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("fail", [True, False])
def test_everything_is_put_back(grad, fail):
    with torch.set_grad_enabled(grad):
        before = state()
        try:
            with contained(0, CPU):
                vandalise()
                if fail:
                    raise RuntimeError("on purpose")
        except RuntimeError:
            assert fail
        assert state() == before


def test_inside_the_state_is_known():
    torch.set_num_threads(2)
    try:
        with torch.no_grad(), contained(0, CPU):
            assert torch.get_default_dtype() == torch.float32
            assert torch.get_num_threads() == 1
            assert torch.is_grad_enabled()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


def test_the_global_streams_follow_the_seed():
    drawn = []
    for seed in (5, 5, 2**63 - 1):
        with contained(seed, CPU):
            drawn.append(draw())
        vandalised = draw()
        assert vandalised != drawn[-1]
    assert drawn[0] == drawn[1] != drawn[2]
