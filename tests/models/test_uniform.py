"""Uniform grids by hand, and the packing of codes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchsuite.models.uniform import affine, pack, symmetric, unpack


def test_a_signed_grid_of_three_bits_by_hand():
    grid = symmetric(torch.tensor(6.0), 3)
    assert (grid.low, grid.high, grid.scale.item()) == (-3, 3, 2.0)
    x = torch.tensor([-9.0, -6.0, -2.9, 0.0, 1.0, 1.1, 3.0, 5.0, 5.1, 100.0])
    codes = [-3, -3, -1, 0, 0, 1, 2, 2, 3, 3]  # 1.0, 3.0 and 5.0 lie half way: to the even code
    assert grid.codes(x).tolist() == codes
    assert grid.fake(x).tolist() == [2.0 * code for code in codes]


def test_an_unsigned_grid_of_two_bits_by_hand():
    grid = affine(torch.tensor(-1.0), torch.tensor(2.0), 2)
    assert (grid.low, grid.high, grid.scale.item(), grid.zero.item()) == (0, 3, 1.0, 1.0)
    x = torch.tensor([-5.0, -1.0, -0.4, 0.0, 0.6, 2.0, 9.0])
    assert grid.codes(x).tolist() == [0, 0, 1, 1, 2, 3, 3]
    assert grid.fake(x).tolist() == [-1, -1, 0, 0, 1, 2, 2]


@pytest.mark.parametrize(("low", "high"), [(0.5, 2.0), (-2.0, -0.5)])
def test_an_affine_range_is_widened_to_hold_zero(low, high):
    grid = affine(torch.tensor(low), torch.tensor(high), 8)
    assert grid.fake(torch.zeros(1)).item() == 0.0
    ends = sorted(grid.values(torch.tensor([0.0, 255.0])).tolist())
    assert ends == pytest.approx(sorted([0.0, low if high < 0 else high]))


def test_an_empty_range_has_scale_one_and_keeps_zero():
    for grid in (symmetric(torch.tensor(0.0), 8), affine(torch.tensor(0.0), torch.tensor(0.0), 8)):
        assert grid.scale == 1
        assert not grid.fake(torch.zeros(3)).any()


def test_scales_broadcast():
    grid = symmetric(torch.tensor([[7.0], [14.0]]), 4)
    assert grid.codes(torch.tensor([[7.0, 3.4], [7.0, 3.4]])).tolist() == [[7, 3], [4, 2]]


@given(st.integers(2, 8), st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=30))
def test_rounding_errs_by_at_most_half_a_step_and_is_idempotent(bits, values):
    x = torch.tensor(values)
    for grid in (symmetric(x.abs().amax(), bits), affine(x.amin(), x.amax(), bits)):
        rounded = grid.fake(x)
        slack = 1e-5 * x.abs().amax() + 1e-30
        # The integer zero point moves the affine grid by up to half a step, so an end may lose another half.
        assert bool(((x - rounded).abs() <= grid.scale * (1.0 if grid.low == 0 else 0.5) + slack).all())
        torch.testing.assert_close(grid.fake(rounded), rounded)
        assert len(grid.codes(x).unique()) <= 2**bits


def test_the_gradient_passes_straight_through():
    x = torch.tensor([-9.0, 0.3, 9.0], requires_grad=True)
    symmetric(torch.tensor(1.0), 4).fake(x).backward(torch.tensor([1.0, 2.0, 3.0]))
    assert x.grad.tolist() == [1, 2, 3]


@pytest.mark.parametrize("needs_grad", [False, True])
def test_rounding_leaves_its_argument_alone(needs_grad):
    x = torch.tensor([0.3, 0.7], requires_grad=needs_grad)
    symmetric(torch.tensor(1.0), 2).fake(x)
    assert x.tolist() == pytest.approx([0.3, 0.7])


def test_packing_by_hand():
    # 1, 2, 3 in two bits, lowest bit first: 10 01 11, so the byte is 1 + 8 + 16 + 32.
    assert pack(torch.tensor([1, 2, 3]), 2).tolist() == [57]
    # 5 in three bits: 101; three of them take nine bits: 10110110 1.
    assert pack(torch.tensor([5, 5, 5]), 3).tolist() == [0b01101101, 0b1]
    assert pack(torch.tensor([0, 255, 7]), 8).tolist() == [0, 255, 7]


@given(st.integers(1, 8), st.data())
def test_unpacking_undoes_packing(bits, data):
    shape = tuple(data.draw(st.lists(st.integers(0, 5), min_size=0, max_size=3)))
    codes = torch.from_numpy(data.draw(arrays("uint8", shape, elements=st.integers(0, 2**bits - 1))).copy())
    packed = pack(codes, bits)
    assert packed.dtype == torch.uint8
    assert packed.numel() == -(-codes.numel() * bits // 8)
    assert torch.equal(unpack(packed, bits, shape), codes)
