"""Networks for whole graphs."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from benchsuite.contracts.graph import Graph
from benchsuite.errors import UsageError
from benchsuite.models.adjacency import adjacency
from benchsuite.models.backbones.gine import GINELayer
from benchsuite.models.backbones.pooled import POOLED, Shape, build_pooled, mean_pool
from benchsuite.models.batches import GraphPool
from benchsuite.models.sites import Embedding, one_hot
from benchsuite.testing.toys import permute, toy_graph, union

SHAPE = Shape(2, 3, (3, 4), (2, 5))


def coded(seed=0, sizes=(6, 1, 9, 4)):
    """Return a union of graphs whose nodes and edges have codes."""
    whole = union(*(toy_graph(nodes, 2, seed=seed + nodes) for nodes in sizes))
    generator = torch.Generator().manual_seed(seed)

    def codes(rows, categories):
        return torch.stack([torch.randint(0, n, (rows,), generator=generator) for n in categories], 1)

    x, attr = codes(whole.num_nodes, SHAPE.node_categories), codes(whole.num_edges, SHAPE.edge_categories)
    return Graph(x, whole.edge_index, whole.batch, attr)


def network(name, **options):
    model = build_pooled(name, SHAPE, 0, **{"hidden": 8, "layers": 2, "dropout": 0.5, **options})
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if "bias" in key or "epsilon" in key:
                parameter.normal_(generator=generator)
    return model.eval()


def test_one_hot_by_hand():
    assert one_hot(torch.tensor([[0, 1], [2, 0]]), (3, 2)).tolist() == [[1, 0, 0, 0, 1], [0, 0, 1, 1, 0]]


def test_the_mean_of_each_graph_by_hand():
    graph = Graph(torch.zeros(4, 1), torch.zeros(2, 0, dtype=torch.int64), torch.tensor([0, 0, 0, 1]))
    assert mean_pool(torch.tensor([[1.0], [2.0], [6.0], [5.0]]), graph).tolist() == [[3.0], [5.0]]
    assert mean_pool(torch.tensor([[1.0], [2.0]]), Graph(graph.x[:2], graph.edge_index)).tolist() == [[1.5]]


def test_an_embedding_is_the_sum_of_a_row_of_each_column_s_table():
    graph = coded()
    table = Embedding(SHAPE.node_categories, 5, 0)
    table.reset_parameters(torch.Generator().manual_seed(0))
    wanted = nn.functional.embedding_bag(graph.x + torch.tensor([0, 3]), table.weight.T, mode="sum")
    found = table(one_hot(graph.x, SHAPE.node_categories), adjacency(graph, "edges"))
    assert torch.allclose(found, wanted, atol=1e-6)


def test_each_table_of_an_embedding_has_glorot_bounds_of_its_own():
    table = Embedding((1000, 2), 10, 0)
    table.reset_parameters(torch.Generator().manual_seed(0))
    first, second = table.weight[:, :1000].abs().max().item(), table.weight[:, 1000:].abs().max().item()
    assert 0.9 * (6 / 1010) ** 0.5 < first <= (6 / 1010) ** 0.5
    assert 0.5 * (6 / 12) ** 0.5 < second <= (6 / 12) ** 0.5


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_layer_with_edge_features_is_pyg_s():
    from torch_geometric.nn import GINEConv

    graph = coded()
    layer = GINELayer(8, SHAPE.edge_categories, 0)
    for module in (layer.edges, layer.first, layer.second):
        module.reset_parameters(torch.Generator().manual_seed(3))
    with torch.no_grad():
        layer.epsilon.fill_(0.3)
        layer.first_bias.normal_()
    where = adjacency(graph, "edges")
    first, second = nn.Linear(8, 16), nn.Linear(16, 8)
    first.weight.data, first.bias.data = layer.first.weight.data, layer.first_bias.data
    second.weight.data, second.bias.data = layer.second.weight.data, layer.second_bias.data
    oracle = GINEConv(nn.Sequential(first, nn.BatchNorm1d(16), nn.ReLU(), second), eps=0.3)
    x = torch.randn(graph.num_nodes, 8)
    edges = one_hot(graph.edge_attr, SHAPE.edge_categories)
    wanted = oracle.train()(x, graph.edge_index, layer.edges(edges, where))
    assert torch.allclose(layer.train()(x, edges, where), wanted, atol=1e-5)


@pytest.mark.parametrize("name", sorted(POOLED))
def test_what_is_said_of_a_graph_does_not_depend_on_its_company(name):
    graph, model = coded(), network(name)
    together = model(graph)
    assert together.shape == (4, 3)
    assert together.dtype == torch.float32
    for i in range(4):
        assert torch.allclose(model(GraphPool(graph).take(torch.tensor([i]))), together[[i]], atol=1e-5)


@settings(deadline=None)
@given(seed=st.integers(0, 50))
def test_the_order_of_nodes_does_not_matter(seed):
    one = GraphPool(coded(seed)).take(torch.tensor([2]))
    order = torch.randperm(one.num_nodes, generator=torch.Generator().manual_seed(seed))
    bare = Graph(one.x.float(), one.edge_index)
    shuffled = permute(bare, order)
    model = build_pooled("gin", Shape(2, 3), seed, hidden=8, layers=2, dropout=0.0).eval()
    assert torch.allclose(model(bare), model(shuffled), atol=1e-4)


def test_the_head_knows_that_its_rows_are_graphs():
    model = network("gcn")
    assert [site.axes[0] for name, site in model.sites() if name.startswith("head.") and "input" in name] == [
        "graph"
    ] * 2
    assert model.output_site() is None
    assert network("gine").head_dropout is None


def test_one_seed_gives_one_network():
    states = [network("gine").state_dict() for _ in range(2)]
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])


def test_unknown_networks_and_missing_codes_cost_one_line():
    with pytest.raises(UsageError, match="there is no network 'gim'"):
        build_pooled("gim", SHAPE, 0)
    with pytest.raises(UsageError, match="gine embeds codes of nodes and edges"):
        build_pooled("gine", Shape(4, 2), 0)
