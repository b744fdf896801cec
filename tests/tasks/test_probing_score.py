"""The protocol's formulas: by hand, against other formulas, and on norms where the answer is a theorem."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from benchsuite.errors import ProtocolError
from benchsuite.tasks.probing_bench import spectrum
from benchsuite.tasks.probing_score import Spectrum, orthonormal

D = 24


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def rows(n, d=D, seed=0, dtype=torch.float64):
    """Generic input whose mean over the features is not zero."""
    mixing = torch.randn(d, d, generator=generator(seed), dtype=torch.float64)
    return (0.5 + torch.randn(n, d, generator=generator(seed + 1), dtype=torch.float64) @ mixing).to(dtype)


def scale(d=D, seed=0):
    """Magnitudes 0.25 to 4 and both signs."""
    signs = torch.where(torch.rand(d, generator=generator(seed)) < 0.5, -1.0, 1.0).double()
    signs[:2] = torch.tensor([1.0, -1.0])
    return signs * torch.exp(1.4 * (2 * torch.rand(d, generator=generator(seed + 9), dtype=torch.float64) - 1))


def layer_norm(x, gamma, beta, eps=1e-5):
    return nn.functional.layer_norm(x, x.shape[-1:], gamma.to(x.dtype), beta.to(x.dtype), eps)


def rms_norm(x, gamma):
    return gamma * x / x.square().mean(-1, keepdim=True).sqrt()


def unit(vector):
    return (vector / vector.norm()).numpy()[None]


def diagonal(*singular, n=None, distinct=None, epsilon=1e-7):
    d = len(singular)
    tokens = n or 10 * d
    return Spectrum(np.array(singular, float), np.eye(d), tokens, distinct or tokens, epsilon)


# By hand


def test_by_hand():
    truth = diagonal(4.0, 2.0, 0.0, n=30)
    assert truth.mean_eigenvalue == pytest.approx(20 / 90)
    assert truth.tolerance == pytest.approx(30 * 1e-7 * 4)
    assert truth.floor == pytest.approx(144e-12 / 30 / (20 / 90))
    assert truth.kernel == 1
    # Along (0, 3, 4)/5 the variance is (2 * 0.6)^2 / 30, the cosine with e_3 is 0.8.
    basis = np.array([[0.0, 0.6, 0.8]])
    assert truth.quotient(basis) == pytest.approx(1.44 / 30 / (20 / 90))
    assert truth.cosine(basis) == pytest.approx(0.8)
    assert truth.above_floor(basis) == pytest.approx(math.log10(1.44 / 144e-12))


def test_where_none_is_dead_the_direction_of_least_variance_stands_for_it():
    truth = diagonal(4.0, 2.0, 1.0)
    assert truth.kernel == 0
    assert truth.cosine(np.eye(3)[2:]) == 1
    assert truth.cosine(np.eye(3)[:1]) == 0


def test_several_dead_directions_are_compared_as_a_space():
    truth = diagonal(4.0, 2.0, 0.0, 0.0)
    assert truth.kernel == 2
    turned = np.array([[0, 0, 1, 1], [0, 0, 1, -1]]) / math.sqrt(2)
    assert truth.cosine(turned) == pytest.approx(1)
    assert truth.verdict(turned, present=True)
    half = np.array([[0, 1.0, 0, 0], [0, 0, 1, 0]])
    assert truth.cosine(half) == 0
    assert not truth.verdict(half, present=True)


@pytest.mark.parametrize(
    ("singular", "basis", "present", "right"),
    [
        ((3, 2, 0), [[0, 0, 1]], True, True),
        ((3, 2, 0), [[0, 0, -1]], True, True),
        ((3, 2, 0), [[0, 0.02, 1]], True, False),  # cosine 0.9998
        ((3, 2, 0), [[0, 0, 1]], False, False),  # denies what is there
        ((3, 2, 0), [[0, 1, 0], [0, 0, 1]], True, False),  # one too many
        ((3, 0, 0), [[0, 0, 1]], True, False),  # one too few
        ((3, 2, 1), [[0, 0, 1]], True, False),  # claims what is not there
        ((3, 2, 1), [[1, 0, 0]], False, True),
    ],
)
def test_verdicts(singular, basis, present, right):
    rows_ = np.array(basis, float)
    assert diagonal(*singular).verdict(orthonormal(rows_), present) is right


def test_a_claim_that_points_well_but_varies_is_wrong():
    # Aligned to 1 - 5e-9, and still 1e4 times above a floor that fp64 puts at nothing.
    truth = diagonal(3.0, 2.0, 0.0, epsilon=2e-16)
    basis = orthonormal(np.array([[0, 1e-4, 1.0]]))
    assert truth.cosine(basis) > 0.99999
    assert truth.above_floor(basis) > 4
    assert not truth.verdict(basis, present=True)


def test_the_floor_belongs_to_the_forward_and_not_to_the_svd():
    y = layer_norm(rows(200), scale(), torch.zeros(D))
    floors = [spectrum(y.to(dtype)).floor for dtype in (torch.float64, torch.float32, torch.float16)]
    steps = [torch.finfo(dtype).eps for dtype in (torch.float64, torch.float32, torch.float16)]
    assert floors[1] / floors[0] == pytest.approx((steps[1] / steps[0]) ** 2, rel=1e-2)
    assert floors[2] / floors[1] == pytest.approx((steps[2] / steps[1]) ** 2, rel=1e-2)


@pytest.mark.parametrize(
    ("claim", "wanted"),
    [
        ([[3.0, 0, 0], [3, 4, 0]], [[1, 0, 0], [0, 1, 0]]),
        ([[1e-200, 0, 0]], [[1, 0, 0]]),
        ([[1.0, 0, 0], [2, 0, 0]], None),
        ([[0.0, 0, 0]], None),
        (np.zeros((0, 3)), None),
        (np.eye(3)[[0, 1, 2, 0]], None),
    ],
)
def test_a_claim_becomes_a_basis_of_its_span(claim, wanted):
    basis = orthonormal(np.array(claim, float))
    if wanted is None:
        assert basis is None
    else:
        np.testing.assert_allclose(basis.T @ basis, np.array(wanted, float).T @ np.array(wanted, float), atol=1e-12)


def test_the_quotient_is_that_of_the_covariance():
    y = rows(100)
    truth = spectrum(y)
    covariance = np.cov(y.numpy().T, bias=True)
    u = unit(scale())
    assert truth.quotient(u) == pytest.approx((u @ covariance @ u.T).item() / (np.trace(covariance) / D))
    assert truth.mean_eigenvalue == pytest.approx(np.trace(covariance) / D)


def test_activations_that_say_nothing_are_refused():
    with pytest.raises(ProtocolError, match="same for all tokens"):
        spectrum(torch.ones(50, D))
    with pytest.raises(ProtocolError, match="not finite"):
        spectrum(torch.full((50, D), torch.nan))


# Theorems


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), eps=st.sampled_from([1e-12, 1e-5, 0.1]), n=st.integers(2 * D, 5 * D))
def test_after_layer_norm_the_inverse_scale_is_dead_for_every_token(seed, eps, n):
    gamma, beta = scale(seed=seed), torch.randn(D, generator=generator(seed), dtype=torch.float64)
    u = (1 / gamma) / (1 / gamma).norm()
    for dtype, most in ((torch.float64, 1e-14), (torch.float32, 1e-6)):
        x = rows(n, seed=seed).to(dtype)
        y = layer_norm(x, gamma, beta, eps).double()
        centred = y - beta.to(dtype).double()
        assert ((centred @ u).abs() / y.norm(dim=1)).max() < most
        assert spectrum(y.to(dtype)).cosine(unit(1 / gamma)) >= 0.9999


def test_neither_the_scale_nor_ones_nor_magnitudes_are_dead():
    gamma = scale()
    truth = spectrum(layer_norm(rows(240), gamma, torch.zeros(D)))
    assert truth.verdict(unit(1 / gamma), present=True)
    for wrong in (gamma, torch.ones(D).double(), 1 / gamma.abs()):
        assert truth.cosine(unit(wrong)) < 0.9
        assert not truth.verdict(unit(wrong), present=True)


@pytest.mark.parametrize("zeros", [0, 1, 2, 5])
def test_the_kernel_has_one_dimension_or_one_for_each_zero(zeros):
    gamma = scale()
    gamma[:zeros] = 0
    truth = spectrum(layer_norm(rows(240), gamma, torch.randn(D, generator=generator())))
    assert truth.kernel == max(1, zeros)
    if zeros:
        assert truth.verdict(np.eye(D)[:zeros], present=True)


@pytest.mark.parametrize("seed", range(5))
def test_after_rms_norm_nothing_is_dead_unless_tokens_have_no_mean(seed):
    gamma, x = scale(seed=seed), rows(240, seed=seed)
    truth = spectrum(rms_norm(x, gamma))
    u = unit(1 / gamma)
    assert truth.kernel == 0
    assert 0.1 < truth.quotient(u) < 10
    assert truth.verdict(u, present=False)
    free = spectrum(rms_norm(x - x.mean(-1, keepdim=True), gamma))
    assert free.kernel == 1
    assert free.verdict(u, present=True)


@pytest.mark.parametrize("n", [D // 2, D - 1])
def test_with_fewer_tokens_than_features_there_is_a_quotient_and_no_cosine(n):
    gamma = scale()
    truth = spectrum(layer_norm(rows(n), gamma, torch.zeros(D)))
    u = unit(1 / gamma)
    assert truth.kernel is None
    assert truth.cosine(u) is None
    assert not truth.verdict(u, present=True)
    assert not truth.verdict(u, present=False)
    assert truth.quotient(u) < 1e-28


def test_repeated_tokens_do_not_count():
    y = layer_norm(rows(D // 2).repeat(10, 1), scale(), torch.zeros(D))
    truth = spectrum(y)
    assert (truth.tokens, truth.distinct) == (5 * D, D // 2)
    assert truth.cosine(unit(1 / scale())) is None
