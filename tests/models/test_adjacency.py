"""The sparse adjacency against dense matrices."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.contracts.graph import Graph
from benchsuite.models.adjacency import adjacency, csr
from benchsuite.testing.toys import toy_graph

NORMALISATIONS = ["gcn", "sum", "mean", "loops"]


@st.composite
def graphs(draw):
    """Directed graphs, also without edges, with nodes that nothing reaches."""
    nodes = draw(st.integers(1, 12))
    pairs = draw(st.sets(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)), max_size=40))
    ordered = sorted((target, source) for source, target in pairs if source != target)
    edges = torch.tensor([[s for _, s in ordered], [t for t, _ in ordered]], dtype=torch.long).view(2, -1)
    return Graph(torch.rand(nodes, 3, generator=torch.Generator().manual_seed(nodes)), edges)


def dense(graph, normalisation):
    n = graph.num_nodes
    a = torch.zeros(n, n, dtype=torch.float64)
    for source, target in graph.edge_index.T.tolist():
        a[target, source] = 1
    if normalisation == "mean":
        return a / a.sum(1, keepdim=True).clamp(min=1)
    a += torch.eye(n, dtype=torch.float64)
    if normalisation == "gcn":
        scale = a.sum(1).rsqrt()
        a = scale[:, None] * a * scale
    return a


def as_dense(adj, value=None):
    return csr(adj.rowptr, adj.col, adj.value if value is None else value, adj.num_nodes).to_dense().double()


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
@settings(max_examples=40, deadline=None)
@given(graph=graphs())
def test_entries_equal_the_dense_matrix(normalisation, graph):
    adj = adjacency(graph, normalisation)
    torch.testing.assert_close(as_dense(adj), dense(graph, normalisation), rtol=1e-6, atol=1e-6)
    assert torch.equal(adj.row.bincount(minlength=graph.num_nodes), adj.rowptr.diff())
    keys = adj.row * graph.num_nodes + adj.col
    assert bool((keys.diff() > 0).all())


def test_a_path_of_three_by_hand():
    graph = Graph(torch.zeros(3, 1), torch.tensor([[1, 0, 2, 1], [0, 1, 1, 2]]))
    half, sixth = 1 / 2, 6**-0.5
    wanted = [[half, sixth, 0], [sixth, 1 / 3, sixth], [0, sixth, half]]
    torch.testing.assert_close(as_dense(adjacency(graph, "gcn")), torch.tensor(wanted).double())
    wanted = [[0, 1, 0], [0.5, 0, 0.5], [0, 1, 0]]
    torch.testing.assert_close(as_dense(adjacency(graph, "mean")), torch.tensor(wanted).double())


@pytest.mark.parametrize(("normalisation", "wanted"), [("gcn", 1.0), ("sum", 1.0), ("loops", 1.0), ("mean", 0.0)])
def test_an_isolated_node_keeps_itself_or_receives_nothing(normalisation, wanted):
    graph = toy_graph()
    alone = graph.num_nodes - 1
    assert alone not in graph.edge_index
    row = as_dense(adjacency(graph, normalisation))[alone]
    assert row[alone] == wanted
    assert row.sum() == wanted


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
@pytest.mark.parametrize("nodes", [0, 1])
def test_graphs_without_edges(normalisation, nodes):
    graph = toy_graph(nodes)
    adj = adjacency(graph, normalisation)
    assert adj.num_entries == (0 if normalisation == "mean" else nodes)
    assert adj.matmul(graph.x).shape == graph.x.shape


def test_self_loops_in_the_data_are_not_counted_twice():
    edges = torch.tensor([[0, 1, 0], [0, 0, 1]])
    adj = adjacency(Graph(torch.zeros(2, 1), edges), "sum")
    assert torch.equal(as_dense(adj), torch.ones(2, 2).double())


@pytest.mark.parametrize("normalisation", [*NORMALISATIONS, "edges"])
@settings(max_examples=40, deadline=None)
@given(graph=graphs(), data=st.data())
def test_edges_in_another_order_and_with_self_loops_give_the_same_matrix(normalisation, graph, data):
    looped = data.draw(st.sets(st.integers(0, graph.num_nodes - 1)))
    loops = torch.tensor(sorted(looped), dtype=torch.long).expand(2, -1)
    edges = torch.cat([graph.edge_index, loops], 1)
    order = data.draw(st.permutations(range(edges.shape[1])))
    shuffled = adjacency(Graph(graph.x, edges[:, torch.tensor(order, dtype=torch.long)]), normalisation)
    plain = adjacency(graph, normalisation)
    for name in ("rowptr", "row", "col", "value"):
        assert torch.equal(getattr(shuffled, name), getattr(plain, name)), name


@pytest.mark.parametrize("normalisation", [*NORMALISATIONS, "edges"])
@settings(max_examples=25, deadline=None)
@given(graph=graphs())
def test_the_transposition_lists_the_entries_by_source_then_target(normalisation, graph):
    adj = adjacency(graph, normalisation)
    rowptr, targets, order = adj.transposition
    entries = sorted((int(source), int(target)) for target, source in zip(adj.row, adj.col, strict=True))
    assert [(int(adj.col[i]), int(adj.row[i])) for i in order] == entries
    assert targets.tolist() == [target for _, target in entries]
    assert rowptr.diff().tolist() == adj.col.bincount(minlength=graph.num_nodes).tolist()


def test_an_adjacency_is_built_once_per_graph_object(graph):
    assert adjacency(graph, "gcn") is adjacency(graph, "gcn")
    assert adjacency(graph, "gcn") is not adjacency(graph, "mean")
    assert adjacency(graph.fresh(), "gcn") is not adjacency(graph, "gcn")


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
@settings(max_examples=25, deadline=None)
@given(graph=graphs(), own_values=st.booleans())
def test_product_and_gradient_equal_dense_autograd(normalisation, graph, own_values):
    adj = adjacency(graph, normalisation)
    generator = torch.Generator().manual_seed(0)
    value = torch.randn(adj.num_entries, generator=generator) if own_values else None
    x = graph.x.clone().requires_grad_()
    oracle = graph.x.double().requires_grad_()
    weight = torch.randn(x.shape, generator=generator)
    product, wanted = adj.matmul(x, value), as_dense(adj, value) @ oracle
    torch.testing.assert_close(product.double(), wanted, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(adj.matmul(graph.x, value), product)
    (product * weight).sum().backward()
    (wanted * weight).sum().backward()
    torch.testing.assert_close(x.grad.double(), oracle.grad, rtol=1e-5, atol=1e-5)


def test_gradient_passes_a_chain_of_products(graph):
    adj = adjacency(graph, "mean")  # not symmetric: a forgotten transposition shows
    x = graph.x.double().float().requires_grad_()
    oracle = graph.x.double().requires_grad_()
    matrix = as_dense(adj)
    adj.matmul(adj.matmul(x).relu()).square().sum().backward()
    (matrix @ (matrix @ oracle).relu()).square().sum().backward()
    torch.testing.assert_close(x.grad.double(), oracle.grad, rtol=1e-4, atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(graph=graphs(), scale=st.sampled_from([1.0, 300.0]))
def test_softmax_equals_the_dense_masked_softmax(graph, scale):
    adj = adjacency(graph, "loops")
    scores = (scale * torch.randn(adj.num_entries, 2, generator=torch.Generator().manual_seed(1))).requires_grad_()
    oracle = scores.detach().double().requires_grad_()
    full = torch.full((graph.num_nodes, graph.num_nodes, 2), -torch.inf, dtype=torch.float64)
    full = full.index_put((adj.row, adj.col), oracle)
    wanted = full.softmax(1)[adj.row, adj.col]
    alpha = adj.softmax(scores)
    torch.testing.assert_close(alpha.double(), wanted, rtol=1e-4, atol=1e-6)
    weight = torch.arange(alpha.numel()).view(alpha.shape).float()
    (alpha * weight).sum().backward()
    (wanted * weight).sum().backward()
    torch.testing.assert_close(scores.grad.double(), oracle.grad, rtol=1e-3, atol=1e-4)


def test_reduce_sums_messages_into_targets():
    graph = Graph(torch.zeros(3, 1), torch.tensor([[1, 0, 2, 1], [0, 1, 1, 2]]))
    adj = adjacency(graph, "mean")  # entries: 0<-1, 1<-0, 1<-2, 2<-1
    messages = torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]])
    assert adj.reduce(messages).tolist() == [[1, 10], [5, 50], [4, 40]]
