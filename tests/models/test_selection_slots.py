"""What each slot of a residual block does to a scale per node, in double precision."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from benchsuite.contracts.graph import Graph
from benchsuite.errors import UsageError
from benchsuite.models.selection import Placed, build_model, degrees, per_graph_mean, place
from benchsuite.models.selection.model import SelectionModel
from benchsuite.testing.toys import permute, toy_graph, union

SLOTS = ("S0", "S1", "S2", "S3", "S4", "S5", "S6")


class Scale:
    """A placement of ``(1 + degree)^-1/2``, or of what ``make`` gives."""

    def __init__(self, slot, norm_after=False, make=None):
        self.slot, self.norm_after = slot, norm_after
        self.make = make or (lambda graph: (1 + degrees(graph)).rsqrt())
        self.sites = []

    def scaler(self, site):
        self.sites.append((site.block, site.width))
        return lambda x, graph: self.make(graph).to(x.dtype)


@pytest.fixture
def graph():
    """Return the toy graph in double precision, with degrees from 0 to more than 20."""
    small = toy_graph()
    return Graph(small.x.double(), small.edge_index)


def model_with(scale=None, seed=0, **options):
    model = build_model(12, seed, **{"width": 16, "heads": 2, "blocks": 2, **options})
    if scale is not None:
        place(model, scale, torch.Generator().manual_seed(9))
    return model.double().eval()


def rows(scale, graph, **options):
    with torch.no_grad():
        return model_with(scale, **options).representation(graph)


def relative(changed, original):
    return float((changed - original).norm() / original.norm())


@settings(max_examples=40, deadline=None)
@given(
    s=st.floats(1e-3, 1e3),
    eps=st.sampled_from([1e-5, 1e-3, 1e-1]),
    seed=st.integers(0, 1000),
)
def test_a_scale_before_the_norm_is_a_change_of_eps(s, eps, seed):
    x = torch.randn(5, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    left = functional.layer_norm(s * x, (16,), eps=eps)
    right = functional.layer_norm(x, (16,), eps=eps / s**2)
    torch.testing.assert_close(left, right, rtol=1e-12, atol=1e-12)


def test_behind_the_norm_the_scale_is_the_norm_of_the_row(graph):
    plain, scaled = rows(None, graph, blocks=1), rows(Scale("S3"), graph, blocks=1)
    s = (1 + degrees(graph)).rsqrt().double()
    torch.testing.assert_close(scaled.norm(dim=1), s * plain.norm(dim=1), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(scaled, s[:, None] * plain, rtol=1e-12, atol=1e-12)
    assert relative(scaled, plain) > 0.3


def with_eps(model, eps):
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = eps
    return model


@pytest.mark.parametrize("scale", [Scale("S2"), Scale("S3", norm_after=True)], ids=["before", "extra norm"])
def test_a_norm_behind_the_scale_erases_it_up_to_eps(graph, scale):
    changes = []
    for eps in (1e-5, 1e-9, 0.0):
        with torch.no_grad():
            plain = with_eps(model_with(), eps).representation(graph)
            changes.append(relative(with_eps(model_with(scale), eps).representation(graph), plain))
    assert 0 < changes[0] < 2e-2
    assert changes[1] < 1e-3 * changes[0]
    assert changes[2] < 1e-12


def test_the_leak_through_eps_would_fool_a_rank_correlation(graph):
    """Norms that differ by next to nothing are still ordered by degree: only magnitudes tell erased from kept."""
    x = torch.randn(graph.num_nodes, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    s = (1 + degrees(graph)).rsqrt().double()
    norms = functional.layer_norm(s[:, None] * x, (16,)).norm(dim=1)
    ranks = torch.stack([norms.argsort().argsort(), degrees(graph).argsort(stable=True).argsort()]).double()
    assert torch.corrcoef(ranks)[0, 1] < -0.4
    assert norms.std() / norms.mean() < 1e-3


def test_behind_relu_is_the_same_place_as_before_it(graph):
    behind_norm = rows(Scale("S3"), graph)
    for slot in ("S4", "S5"):
        torch.testing.assert_close(rows(Scale(slot), graph), behind_norm, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("slot", ["S0", "S1"])
def test_before_the_residual_sum_the_scale_is_neither_kept_nor_erased(graph, slot):
    plain, scaled = rows(None, graph, blocks=1), rows(Scale(slot), graph, blocks=1)
    s = (1 + degrees(graph)).rsqrt().double()
    assert relative(scaled, plain) > 0.05
    assert relative(scaled, s[:, None] * plain) > 0.05


@pytest.mark.parametrize("convolution", ["gat", "gcn"])
@pytest.mark.parametrize("slot", SLOTS)
def test_a_scale_of_ones_changes_nothing_in_any_slot(slot, convolution):
    ones, graph = Scale(slot, make=lambda g: torch.ones(g.num_nodes)), toy_graph()
    with torch.no_grad():
        expected, found = (model_with(s, convolution=convolution).float()(graph) for s in (None, ones))
    assert torch.equal(found, expected)


def test_a_scale_has_a_site_in_every_block_and_before_the_head_one(graph):
    in_blocks, before_head = Scale("S3"), Scale("S6")
    assert [name for name, _ in model_with(in_blocks).scales()] == [f"blocks.{i}.slots.filled.S3" for i in range(2)]
    assert [name for name, _ in model_with(before_head).scales()] == ["slots.filled.S6"]
    assert (in_blocks.sites, before_head.sites) == ([(0, 16), (1, 16)], [(2, 16)])


def test_a_constant_before_the_head_orders_no_node(graph):
    """Biases are zero at first, so the head is positively homogeneous, and a graph's nodes keep their order."""
    mean = Scale("S6", make=lambda g: per_graph_mean((1 + degrees(g)).rsqrt(), g))
    with torch.no_grad():
        plain, scaled = model_with()(graph), model_with(mean)(graph)
    assert torch.equal(plain.argsort(), scaled.argsort())
    assert not torch.allclose(plain, scaled)


def test_placing_leaves_the_models_own_weights_alone():
    plain, placed = build_model(12, 3), place(build_model(12, 3), Scale("S3", True), torch.Generator().manual_seed(1))
    own = {name: value for name, value in placed.state_dict().items() if ".slots." not in name}
    assert own.keys() == plain.state_dict().keys()
    assert all(torch.equal(own[name], value) for name, value in plain.state_dict().items())
    assert set(placed.state_dict()) - set(own)


def test_a_seed_decides_the_weights_and_the_global_stream_does_not():
    first = build_model(12, 3).state_dict()
    torch.manual_seed(5)
    second, other = build_model(12, 3).state_dict(), build_model(12, 4).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["entry.weight"], other["entry.weight"])
    assert not first["entry.bias"].any()


def test_only_a_node_wise_norm_erases_a_scale(graph):
    """A norm over all entries of a graph, PyG's default, keeps it: in such a backbone there is nothing to put back."""
    x = torch.randn(graph.num_nodes, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    scaled = (1 + degrees(graph)).rsqrt().double()[:, None] * x
    assert relative(functional.layer_norm(scaled, (16,)), functional.layer_norm(x, (16,))) < 1e-3
    assert relative(functional.layer_norm(scaled, x.shape), functional.layer_norm(x, x.shape)) > 0.1


@pytest.mark.parametrize("convolution", ["gat", "gcn"])
def test_scores_follow_a_permutation_of_the_nodes(convolution):
    graph, model = toy_graph(), model_with(Scale("S3"), convolution=convolution).float()
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        torch.testing.assert_close(model(permute(graph, order)), model(graph)[order], rtol=1e-4, atol=1e-4)


def test_a_graph_is_scored_in_a_union_as_alone(graph):
    other = toy_graph(nodes=25, seed=4)
    other = Graph(other.x.double(), other.edge_index)
    model = model_with(Scale("S3"))
    with torch.no_grad():
        alone, together = torch.cat([model(graph), model(other)]), model(union(graph, other))
    torch.testing.assert_close(together, alone, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("slot", SLOTS)
@pytest.mark.parametrize("nodes", [0, 1, 7])
def test_graphs_without_edges_are_scored(nodes, slot):
    bare = Graph(torch.rand(nodes, 12).double(), torch.zeros(2, 0, dtype=torch.long))
    with torch.no_grad():
        scores = model_with(Scale(slot, norm_after=True))(bare)
    assert scores.shape == (nodes,)
    assert scores.isfinite().all()


def test_means_are_taken_graph_by_graph():
    pair = union(toy_graph(nodes=5), toy_graph(nodes=3, seed=1))
    values = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0, 30.0])
    assert per_graph_mean(values, pair).tolist() == [3.0] * 5 + [20.0] * 3
    assert per_graph_mean(values[:5], toy_graph(nodes=5)).tolist() == [3.0] * 5


def test_what_does_not_fit_is_refused():
    with pytest.raises(UsageError, match=r"no convolution 'gta'\. Did you mean 'gat'"):
        SelectionModel(2, convolution="gta")
    with pytest.raises(UsageError, match="3 heads do not divide a width of 16"):
        SelectionModel(2, width=16, heads=3)


def test_the_extra_norm_is_a_module_of_its_own():
    placed = Placed(lambda x, graph: x.new_ones(len(x)), 4, norm_after=True)
    assert isinstance(placed.norm, nn.LayerNorm)
    assert isinstance(Placed(lambda x, graph: x.new_ones(len(x)), 4, norm_after=False).norm, nn.Identity)
