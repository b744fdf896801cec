"""Ranges: percentiles against an oracle, running and averaged ranges by hand, what is kept and stored."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.models import ranges
from benchsuite.models.adjacency import adjacency
from benchsuite.models.backbones import build_backbone
from benchsuite.models.ranges import OPERANDS, Percentile, RangeFiller, calibrate, extremes, fill
from benchsuite.models.sites import Role
from benchsuite.models.uniform import unpack
from benchsuite.testing.toys import toy_graph

FINITE = st.floats(-100, 100, width=32)


def ends(pair):
    return pair[0].item(), pair[1].item()


def oracle(values, count, tail):
    """Percentile by sorting: k-th smallest and k-th largest of ``values`` and the zeros left out."""
    whole = sorted([*values.flatten().tolist(), *[0.0] * (count - values.numel())])
    k = max(1, int(tail * count))
    return min(0.0, whole[k - 1]), max(0.0, whole[count - k])


@pytest.fixture
def structure():
    return adjacency(toy_graph(), "gcn")


@pytest.mark.parametrize(
    ("values", "expected"), [([1.0, 3.0], (0, 3)), ([-2.0, -1.0], (-2, 0)), ([-1.0, 5.0], (-1, 5)), ([0.0], (0, 0))]
)
def test_extremes_hold_zero(values, expected):
    assert ends(extremes(torch.tensor(values))) == expected


def test_percentile_by_hand():
    values = torch.arange(-10.0, 11.0)[torch.randperm(21, generator=torch.Generator().manual_seed(0))]
    # k = floor(0.1 * 21) = 2: second smallest and second largest.
    assert ends(Percentile(0.1)(values)) == (-9, 9)
    assert ends(Percentile(0.0)(values)) == (-10, 10)


@settings(deadline=None, max_examples=200)
@given(st.lists(FINITE, min_size=1, max_size=60), st.floats(0, 0.5), st.integers(0, 40))
def test_percentile_is_the_sorted_one_unless_it_collapses(values, tail, zeros):
    values = torch.tensor(values)
    measure = Percentile(tail)
    found, expected = ends(measure(values, zeros)), oracle(values, values.numel() + zeros, tail)
    if measure.collapsed:
        assert expected == (0, 0)
        expected = oracle(values[values != 0], int(values.count_nonzero()), tail)
    assert found == expected


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 10**6), st.floats(0.0001, 0.3), st.sampled_from(["normal", "ties", "sparse", "positive", "strides"])
)
def test_selection_from_a_sample_is_exact(seed, tail, kind):
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(3 * ranges._SAMPLE + 7, generator=generator)
    if kind == "ties":
        values = (values * 2).round()
    elif kind == "sparse":
        values[torch.rand(len(values), generator=generator) < 0.9] = 0
    elif kind == "positive":
        values = values.abs()
    elif kind == "strides":
        values[::3] *= 1000  # the sample sees large values alone: its bound is too high
    k = max(1, int(tail * len(values)))
    lowest = values.kthvalue(k).values.clamp(max=0).item()
    highest = values.kthvalue(len(values) - k + 1).values.clamp(min=0).item()
    measure = Percentile(tail)
    found = ends(measure(values))
    assert measure.collapsed or found == (lowest, highest)
    assert not measure.collapsed or (lowest, highest) == (0, 0)


def test_a_percentile_that_collapses_leaves_the_zeros_out():
    values = torch.zeros(1000)
    values[:5] = torch.tensor([1.0, 2.0, 3.0, 4.0, 50.0])
    measure = Percentile(0.4)
    # The 400th largest of 1,000 is zero; of the five others the second largest is 4.
    assert ends(measure(values)) == (0, 4)
    assert measure.collapsed == 1
    assert ends(Percentile(0.4)(values[:5], zeros=995)) == (0, 4)


def test_all_zeros_do_not_count_as_a_collapse():
    measure = Percentile(0.1)
    assert ends(measure(torch.zeros(30))) == (0, 0)
    assert measure.collapsed == 0


def test_running_extremes_only_grow(structure):
    filler = RangeFiller(8)
    for batch, expected in (([-1.0, 2.0], (-1, 2)), ([0.5, 1.0], (-1, 2)), ([-3.0, 4.0], (-3, 4))):
        filler(torch.tensor(batch), structure)
        assert ends((filler.low, filler.high)) == expected


def test_the_moving_average_starts_at_the_first_range(structure):
    filler = RangeFiller(8, momentum=0.25)
    filler(torch.tensor([-4.0, 8.0]), structure)
    assert ends((filler.low, filler.high)) == (-4, 8)
    filler(torch.tensor([0.0, 4.0]), structure)
    # -4 + 0.25 * (0 + 4) and 8 + 0.25 * (4 - 8)
    assert ends((filler.low, filler.high)) == (-3, 7)


def test_two_bits_by_hand(structure):
    filler = RangeFiller(2)
    values = torch.tensor([[-1.0, 0.4], [2.0, 1.6]])
    # Range -1 .. 2, scale 1, zero point 1: codes 0 1 / 3 3.
    assert filler(values, structure).tolist() == [[-1, 0], [2, 2]]
    filler.eval()
    assert filler(torch.tensor([[-9.0, 9.0]]), structure).tolist() == [[-1, 2]]


def test_ranges_are_frozen_in_eval_mode(structure):
    filler = RangeFiller(4)
    filler(torch.tensor([0.0, 1.0]), structure)
    filler.eval()(torch.tensor([-5.0, 5.0]), structure)
    assert ends((filler.low, filler.high)) == (0, 1)


def test_before_any_observation_the_tensor_gives_the_range(structure):
    filler = RangeFiller(2).eval()
    assert filler(torch.tensor([0.0, 1.6, 3.0]), structure).tolist() == [0, 2, 3]
    assert not filler.ready


def test_empty_tensors_pass_and_leave_no_range(structure):
    filler = RangeFiller(4, Percentile(0.01))
    assert filler(torch.zeros(0, 3), structure).shape == (0, 3)
    assert not filler.ready
    assert filler.eval()(torch.zeros(0, 3), structure).shape == (0, 3)


def test_the_gradient_passes_straight_through(structure):
    values = torch.tensor([-1.0, 0.3, 2.0], requires_grad=True)
    (RangeFiller(2)(values, structure) * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert values.grad.tolist() == [1, 2, 3]


def test_a_state_dict_fits_a_fresh_filler(structure):
    old, new = RangeFiller(4, momentum=0.1), RangeFiller(4, momentum=0.1)
    values = torch.tensor([-1.0, 0.3, 2.0])
    expected = old(values, structure)
    new.load_state_dict(old.state_dict())
    assert torch.equal(new.eval()(values, structure), expected)


def test_a_packed_weight_unpacks_to_what_the_model_uses(structure):
    filler = RangeFiller(3)
    weight = torch.randn(5, 7, generator=torch.Generator().manual_seed(1))
    used = filler(weight, structure)
    codes = unpack(filler.packed(weight)["codes"], 3, (5, 7)).float()
    assert torch.equal(filler.grid(weight).values(codes), used)


def test_calibration_observes_the_float_values():
    graph, model = toy_graph(), build_backbone("gcn", 12, 3, seed=0)
    expected = model.eval()(graph)
    seen = {}
    for name, site in model.sites():
        site.register_forward_pre_hook(lambda _, args, name=name: seen.update({name: args[0].detach()}))
    model(graph)
    fill(model, OPERANDS, lambda site: RangeFiller(2))
    expected_values = dict(seen)
    calibrate(model, graph)
    for name, site in model.sites():
        if site.role in OPERANDS:
            assert ends((site.filler.low, site.filler.high)) == ends(extremes(expected_values[name]))
    assert not torch.equal(model(graph), expected)


def test_fill_touches_the_named_roles_alone():
    model = build_backbone("gat", 12, 3, seed=0)
    fill(model, {Role.WEIGHT}, lambda site: RangeFiller(8))
    assert {site.role for _, site in model.sites() if site.filler is not None} == {Role.WEIGHT}
    assert sum(site.filler is not None for _, site in model.sites()) == 6
