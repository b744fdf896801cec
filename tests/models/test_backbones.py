"""The backbones are the field's: PyG's convolutions with the same weights give the same logits."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from benchsuite.contracts.graph import Graph
from benchsuite.errors import UsageError
from benchsuite.models.backbones import BACKBONES, build_backbone
from benchsuite.testing.toys import permute, toy_graph

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def _gcn(layer):
    from torch_geometric.nn import GCNConv

    fan_out, fan_in = layer.combination.weight.shape
    conv = GCNConv(fan_in, fan_out)
    conv.lin.weight, conv.bias = layer.combination.weight, layer.bias
    return conv


def _sage(layer):
    from torch_geometric.nn import SAGEConv

    fan_out, fan_in = layer.root.weight.shape
    conv = SAGEConv(fan_in, fan_out, aggr="mean")
    conv.lin_l.weight, conv.lin_l.bias, conv.lin_r.weight = layer.neighbour.weight, layer.bias, layer.root.weight
    return conv


def _gin(layer):
    from torch_geometric.nn import GINConv

    width, fan_in = layer.first.weight.shape
    first, second, norm = nn.Linear(fan_in, width), nn.Linear(width, width), nn.Identity()
    if layer.norm is not None:
        norm = nn.BatchNorm1d(width)
    conv = GINConv(nn.Sequential(first, norm, nn.ReLU(), second))  # draws the weights anew, so they are set after it
    first.weight, first.bias = layer.first.weight, layer.first_bias
    second.weight, second.bias = layer.second.weight, layer.second_bias
    if layer.norm is not None:
        norm.weight, norm.bias = layer.norm.gain, layer.norm.shift
        norm.running_mean, norm.running_var = layer.norm.mean, layer.norm.var
    return conv.eval()


def _stack_oracle(model, graph, convert):
    x = graph.x
    for i, layer in enumerate(model.layers):
        x = convert(layer)(x, graph.edge_index)
        x = x.relu() if i + 1 < len(model.layers) else x
    return x


def _gat_oracle(model, graph):
    from torch_geometric.nn import GATConv

    x = graph.x
    for i, (layer, bias) in enumerate(zip(model.layers, model.biases, strict=True)):
        last = i + 1 == len(model.layers)
        conv = GATConv(x.shape[1], layer.features, layer.heads, concat=not last)
        conv.lin.weight, conv.bias = layer.combination.weight, bias
        conv.att_src = nn.Parameter(layer.source.weight.unsqueeze(0))
        conv.att_dst = nn.Parameter(layer.target.weight.unsqueeze(0))
        x = conv.eval()(x, graph.edge_index)
        x = x if last else torch.nn.functional.elu(x)
    return x


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize(("name", "convert"), [("gcn", _gcn), ("sage", _sage), ("gin", _gin)])
def test_stack_equals_pyg(build, graph, name, convert, layers):
    model = build(name, layers=layers)
    torch.testing.assert_close(model(graph), _stack_oracle(model, graph, convert), rtol=1e-5, atol=1e-5)


def test_gin_with_batch_norm_equals_pyg(build, graph):
    model = build("gin", batch_norm=True)
    model.train()(graph)
    model.eval()
    assert not torch.equal(model.layers[0].norm.mean, torch.zeros(8))
    torch.testing.assert_close(model(graph), _stack_oracle(model, graph, _gin), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("layers", "out_heads"), [(2, 1), (2, 8), (3, 2)])
def test_gat_equals_pyg(build, graph, layers, out_heads):
    model = build("gat", layers=layers, out_heads=out_heads, heads=4)
    torch.testing.assert_close(model(graph), _gat_oracle(model, graph), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", sorted(BACKBONES))
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**31), nodes=st.integers(1, 40))
def test_renaming_the_nodes_renames_the_logits(name, seed, nodes):
    graph = toy_graph(nodes, seed=seed)
    order = torch.randperm(nodes, generator=torch.Generator().manual_seed(seed))
    model = build_backbone(name, 12, 3, seed, hidden=8).eval()
    torch.testing.assert_close(model(permute(graph, order)), model(graph)[order], rtol=1e-4, atol=1e-5)


def test_a_union_of_graphs_gives_each_graph_its_own_logits(build, backbone):
    one, other = toy_graph(20, seed=1), toy_graph(30, seed=2)
    edges = torch.cat([one.edge_index, other.edge_index + 20], 1)
    both = Graph(torch.cat([one.x, other.x]), edges, torch.tensor([0] * 20 + [1] * 30))
    model = build(backbone)
    torch.testing.assert_close(model(both), torch.cat([model(one), model(other)]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("nodes", [0, 1])
def test_a_graph_without_edges_has_logits(build, backbone, nodes):
    logits = build(backbone)(toy_graph(nodes))
    assert logits.shape == (nodes, 3)
    assert torch.isfinite(logits).all()


def test_initial_weights_depend_on_the_seed_alone(backbone):
    torch.manual_seed(1)
    one = build_backbone(backbone, 12, 3, seed=7).state_dict()
    torch.manual_seed(2)
    same, other = (build_backbone(backbone, 12, 3, seed=seed).state_dict() for seed in (7, 8))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_initial_weights_are_glorot_and_biases_zero(backbone):
    model = build_backbone(backbone, 12, 3, seed=0)
    for _, module in model.weights():
        bound = (6 / sum(module.weight.shape)) ** 0.5
        assert 0.5 * bound < module.weight.abs().max() <= bound
    biases = [p for name, p in model.named_parameters() if "bias" in name]
    assert biases
    assert not any(bias.any() for bias in biases)


def test_batch_norm_starts_as_the_identity():
    norm = build_backbone("gin", 12, 3, seed=0, batch_norm=True).layers[0].norm
    assert torch.equal(norm.gain, torch.ones(16))
    assert torch.equal(norm.var, torch.ones(16))
    assert not norm.shift.any()
    assert not norm.mean.any()


def test_an_unknown_backbone_is_refused_with_the_near_name():
    with pytest.raises(UsageError, match=r"'gnc'.*'gcn'"):
        build_backbone("gnc", 12, 3, seed=0)


class Largest(TorchDispatchMode):
    """Notes how many elements the largest tensor has that any operation returns, gradients included."""

    elements = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        dense = (each.numel() for each in tree_leaves(out) if getattr(each, "layout", None) is torch.strided)
        self.elements = max(self.elements, *dense, 0)
        return out


@pytest.mark.parametrize("name", ["gcn", "sage", "gin"])
def test_a_step_makes_no_tensor_of_the_size_of_all_messages(name):
    graph = toy_graph(60, features=12, degree=40.0)
    hidden, entries = 32, graph.num_edges
    assert entries > 10 * graph.num_nodes
    model = build_backbone(name, 12, 3, seed=0, hidden=hidden, layers=3, norm_between=True).train()
    graph.cache.clear()
    with Largest() as seen:
        model(graph).square().sum().backward()
    assert seen.elements >= graph.num_nodes * hidden  # it sees what passes
    assert seen.elements < entries * 3  # not even messages as narrow as the last layer's
    with Largest() as seen:  # and it would see messages
        graph.x[graph.edge_index[0]].sum()
    assert seen.elements == entries * 12
