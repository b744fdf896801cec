"""From a scale to dead directions: signs, zeros, near-zeros, extremes, and what it means for the weights that read."""

from __future__ import annotations

import math

import pytest
import torch
from benchsuite_dead_direction.direction import dead_directions, inverse_direction
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

D = 32
EPSILON = torch.finfo(torch.float32).eps


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def scale(seed=0, d=D):
    magnitude = torch.exp(2 * torch.rand(d, generator=generator(seed), dtype=torch.float64) - 1)
    return magnitude * torch.where(torch.rand(d, generator=generator(seed + 1)) < 0.4, -1.0, 1.0)


def normed(x, gamma, beta):
    return nn.functional.layer_norm(x, x.shape[-1:], gamma, beta)


def rows(n=10 * D, seed=5):
    mixing = torch.randn(D, D, generator=generator(seed), dtype=torch.float64)
    return 1 + torch.randn(n, D, generator=generator(seed + 1), dtype=torch.float64) @ mixing


def variance_along(y, basis):
    """Over the mean eigenvalue, for each row of the basis."""
    centred = y - y.mean(0)
    return (centred @ basis.T).square().mean(0) / centred.square().mean()


def test_by_hand():
    found = dead_directions(torch.tensor([1.0, -2.0, 4.0]), "layer", EPSILON)
    expected = torch.tensor([4.0, -2.0, 1.0], dtype=torch.float64) / math.sqrt(21)
    torch.testing.assert_close(found.basis, expected[None])
    assert (found.dead, found.zeros) == (True, 0)


def test_the_same_direction_after_an_rms_norm_is_a_candidate_and_not_dead():
    one, other = (dead_directions(scale(), nature, EPSILON) for nature in ("layer", "rms"))
    assert torch.equal(one.basis, other.basis)
    assert (one.dead, other.dead) == (True, False)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(1e-30, 1e30), min_size=2, max_size=12), st.integers(0, 2**12 - 1))
def test_the_formula_is_the_inverse_wherever_that_can_be_computed(values, signs):
    gamma = torch.tensor([v if signs >> i & 1 else -v for i, v in enumerate(values)], dtype=torch.float64)
    direction = inverse_direction(gamma)
    assert float(direction.norm()) == pytest.approx(1)
    product = direction * gamma
    shown = direction.abs() > 1e-290
    torch.testing.assert_close(product[shown], product[shown][:1].expand(int(shown.sum())), rtol=1e-9, atol=0)


def test_extremes_neither_overflow_nor_vanish():
    for factor in (1e-300, 1e-30, 1e30, 1e300):
        torch.testing.assert_close(inverse_direction(scale() * factor), inverse_direction(scale()))


@pytest.mark.parametrize("zeros", [1, 2, 5])
@pytest.mark.parametrize("nature", ["layer", "rms"])
def test_zeros_are_dead_after_either_norm(zeros, nature):
    gamma = scale()
    gamma[3 : 3 + zeros] = 0
    found = dead_directions(gamma, nature, EPSILON)
    assert torch.equal(found.basis, torch.eye(D, dtype=torch.float64)[3 : 3 + zeros])
    assert (found.dead, found.zeros) == (True, zeros)
    rms = gamma * rows() / rows().square().mean(-1, keepdim=True).sqrt()
    y = normed(rows(), gamma, scale(9)) if nature == "layer" else rms
    assert variance_along(y, found.basis).max() < 1e-28


def test_a_single_zero_is_the_limit_of_the_inverse():
    gamma = scale()
    gamma[3] = 1e-4
    near = dead_directions(gamma, "layer", EPSILON)
    gamma[3] = 0
    limit = dead_directions(gamma, "layer", EPSILON)
    assert (near.zeros, limit.zeros) == (0, 1)
    assert float((near.basis @ limit.basis.T).abs()) > 1 - 1e-6


def test_what_counts_as_zero_depends_on_the_forward():
    gamma = scale()
    gamma[[3, 7]] = 1e-9
    single = dead_directions(gamma, "layer", torch.finfo(torch.float32).eps)
    double = dead_directions(gamma, "layer", torch.finfo(torch.float64).eps)
    assert (single.zeros, double.zeros) == (2, 0)
    assert torch.equal(single.basis, torch.eye(D, dtype=torch.float64)[[3, 7]])
    assert variance_along(normed(rows(), gamma, gamma), double.basis).max() < 1e-28


def test_where_the_scale_is_zero_everything_is_dead():
    found = dead_directions(torch.zeros(4), "layer", EPSILON)
    assert torch.equal(found.basis, torch.eye(4, dtype=torch.float64))
    assert (found.dead, found.zeros) == (True, 4)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_dead_and_the_wrong_signs_are_not(seed):
    gamma, beta = scale(seed), scale(seed + 50)
    y = normed(rows(seed=seed), gamma, beta)
    found = dead_directions(gamma, "layer", EPSILON)
    assert variance_along(y, found.basis).max() < 1e-28
    assert variance_along(y, found.basis.abs()).max() > 1e-3


def test_weights_that_read_the_norm_may_move_along_it():
    """W + a u^T with c - a (u . beta) computes what W with c does; along another direction it does not."""
    gamma, beta = scale(), scale(9)
    y = normed(rows(), gamma, beta)
    weight, bias, a = (torch.randn(*s, generator=generator(3), dtype=torch.float64) for s in ((7, D), (7,), (7,)))
    u = dead_directions(gamma, "layer", EPSILON).basis[0]
    v = torch.randn(D, generator=generator(4), dtype=torch.float64)
    before = nn.functional.linear(y, weight, bias)
    along = nn.functional.linear(y, weight + torch.outer(a, u), bias - a * (u @ beta))
    across = nn.functional.linear(y, weight + torch.outer(a, v / v.norm()), bias - a * (v @ beta / v.norm()))
    torch.testing.assert_close(along, before, rtol=0, atol=1e-12)
    assert (across - before).abs().max() > 0.1


def test_without_the_bias_correction_the_head_moves_by_one_constant():
    gamma, beta = scale(), scale(9)
    y, u = normed(rows(), gamma, beta), dead_directions(scale(), "layer", EPSILON).basis[0]
    moved = y @ u
    torch.testing.assert_close(moved, (u @ beta).expand_as(moved), rtol=0, atol=1e-12)
