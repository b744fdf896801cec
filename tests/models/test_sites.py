"""Sites: which tensor passes where, and what a filler or an operator does to the arithmetic."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from benchsuite.models.adjacency import adjacency, csr
from benchsuite.models.sites import Aggregation, Role


class Recorder(nn.Module):
    """Keeps what passes and returns it unchanged."""

    def forward(self, tensor, adj):
        self.tensor, self.adjacency = tensor, adj
        return tensor


class Scale(nn.Module):
    """Multiplies what passes."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, tensor, adj):
        return tensor * self.factor


def record(model, graph):
    """Fill every site with a recorder, run the model, and return (logits, recorders by site name)."""
    recorders = {}
    for name, site in model.sites():
        recorders[name] = Recorder()
        site.fill(recorders[name])
    return model(graph), recorders


def test_a_filler_is_given_the_tensor_of_its_site_in_a_gcn(build, graph):
    model = build("gcn")
    logits, seen = record(model, graph)
    adj = adjacency(graph, "gcn")
    matrix = csr(adj.rowptr, adj.col, adj.value, graph.num_nodes).to_dense()
    first, second = model.layers
    combined = graph.x @ first.combination.weight.T
    hidden = (matrix @ combined + first.bias).relu()
    wanted = {
        "layers.0.combination.input_site": graph.x,
        "layers.0.combination.weight_site": first.combination.weight,
        "layers.0.aggregation.adjacency_site": adj.value,
        "layers.0.aggregation.combined_site": combined,
        "layers.0.aggregation.message_site": adj.value[:, None] * combined[adj.col],
        "layers.0.aggregation.aggregate_site": matrix @ combined,
        "update_sites.0": hidden,
        "layers.1.combination.input_site": hidden,
        "layers.1.combination.weight_site": second.combination.weight,
        "update_sites.1": logits,
    }
    for name, tensor in wanted.items():
        torch.testing.assert_close(seen[name].tensor, tensor, rtol=1e-5, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}")
    assert all(recorder.adjacency is adj for recorder in seen.values())


def test_every_site_passes_a_tensor_with_the_axes_it_claims(build, backbone, graph):
    model = build(backbone, classes=5)
    _, seen = record(model, graph)
    adj = adjacency(graph, model.normalisation)
    sizes = {"node": graph.num_nodes, "entry": adj.num_entries}
    for name, site in model.sites():
        shape = seen[name].tensor.shape
        assert len(shape) == len(site.axes), name
        assert all(sizes.get(axis, size) == size for axis, size in zip(site.axes, shape, strict=True)), name


def test_the_adjacency_site_of_attention_sees_its_weights(build, graph):
    model = build("gat")
    _, seen = record(model, graph)
    alpha = seen["layers.0.aggregation.adjacency_site"].tensor
    sums = adjacency(graph, "loops").reduce(alpha)
    torch.testing.assert_close(sums, torch.ones(graph.num_nodes, 8))


def test_a_message_filler_that_changes_nothing_changes_nothing(build, backbone, graph):
    """It forces the edge-by-edge path, so this compares the sparse product with it."""
    model = build(backbone)
    wanted = model(graph)
    for _, aggregation in model.aggregations():
        aggregation.message_site.fill(Recorder())
    torch.testing.assert_close(model(graph), wanted, rtol=1e-5, atol=1e-5)


def test_both_paths_have_the_same_gradient(build, backbone, graph):
    gradients = []
    for filler in (None, Recorder()):
        model = build(backbone)
        for _, aggregation in model.aggregations():
            aggregation.message_site.fill(filler)
        model(graph).square().sum().backward()
        gradients.append([parameter.grad for parameter in model.parameters()])
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("role", ["combined_site", "adjacency_site", "message_site", "aggregate_site"])
def test_each_site_of_a_product_acts_on_the_product(graph, role):
    aggregation = Aggregation(layer=0)
    adj = adjacency(graph, "gcn")
    plain = aggregation(adj, adj.value, graph.x)
    getattr(aggregation, role).fill(Scale(3.0))
    torch.testing.assert_close(aggregation(adj, adj.value, graph.x), 3 * plain)


@pytest.mark.parametrize("role", [Role.INPUT, Role.WEIGHT, Role.UPDATE])
def test_fillers_of_other_sites_act_too(build, backbone, graph, role):
    model = build(backbone)
    wanted = model(graph)
    for _, site in model.sites():
        if site.role is role:
            site.fill(Scale(0.0))
    assert not torch.allclose(model(graph), wanted)
    for _, site in model.sites():
        site.fill(None)
    assert torch.equal(model(graph), wanted)


def test_an_operator_replaces_the_product_and_its_operand_sites(graph):
    calls = []

    class Operator(nn.Module):
        def forward(self, adj, value, x):
            calls.append((adj, value, x))
            return x + 1

    aggregation = Aggregation(layer=0)
    for site in (aggregation.combined_site, aggregation.adjacency_site, aggregation.message_site):
        site.fill(Scale(0.0))
    aggregation.aggregate_site.fill(Scale(2.0))
    aggregation.replace(Operator())
    adj = adjacency(graph, "gcn")
    assert torch.equal(aggregation(adj, adj.value, graph.x), 2 * (graph.x + 1))
    assert [tuple(map(id, call)) for call in calls] == [(id(adj), id(adj.value), id(graph.x))]
    for site in (aggregation.combined_site, aggregation.adjacency_site, aggregation.message_site):
        site.fill(None)
    aggregation.replace(None)
    torch.testing.assert_close(aggregation(adj, adj.value, graph.x), 2 * adj.matmul(graph.x))


def test_every_product_and_every_weight_can_be_found(build, backbone):
    model = build(backbone)
    products = {"gcn": (2, 2), "sage": (4, 2), "gin": (4, 2), "gat": (2, 2)}[backbone]
    assert (len(dict(model.combinations())), len(dict(model.aggregations()))) == products
    assert len(dict(model.weights())) == products[0] + (4 if backbone == "gat" else 0)
    assert {site.layer for _, site in model.sites()} == {0, 1}
