"""Batch normalisation against torch's."""

from __future__ import annotations

import torch
from torch import nn

from benchsuite.models.norm import BatchNorm


def test_it_equals_torch_in_training_and_after():
    own, oracle = BatchNorm(5), nn.BatchNorm1d(5)
    generator = torch.Generator().manual_seed(0)
    for _ in range(4):
        x = 3 + 2 * torch.randn(20, 5, generator=generator)
        torch.testing.assert_close(own(x), oracle(x))
    x = torch.randn(7, 5, generator=generator)
    torch.testing.assert_close(own.eval()(x), oracle.eval()(x))
    torch.testing.assert_close(own.var, oracle.running_var)


def test_a_single_node_and_none_at_all_pass():
    norm = BatchNorm(3)
    one = torch.tensor([[1.0, 2.0, 3.0]])
    torch.testing.assert_close(norm(one), one, rtol=1e-4, atol=1e-4)
    assert norm(one[:0]).shape == (0, 3)
    assert norm.eval()(one[:0]).shape == (0, 3)


def test_resetting_forgets():
    norm = BatchNorm(3)
    norm(torch.rand(10, 3))
    norm.gain.data.fill_(5.0)
    norm.reset_parameters()
    fresh = BatchNorm(3).state_dict()
    assert all(torch.equal(tensor, fresh[name]) for name, tensor in norm.state_dict().items())
