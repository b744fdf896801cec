"""Graphs taken out of a union, held against PyTorch Geometric's own batches."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.contracts.graph import Graph
from benchsuite.models.batches import GraphPool
from benchsuite.testing.toys import toy_graph, union

SIZES = (5, 1, 9, 2, 3, 17)


def pool():
    graphs = [toy_graph(nodes, 3, seed=nodes) for nodes in SIZES]
    whole = union(*graphs)
    attr = torch.arange(whole.num_edges).unsqueeze(1)
    return GraphPool(Graph(whole.x, whole.edge_index, whole.batch, attr)), graphs, attr


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@settings(deadline=None)
@given(st.lists(st.integers(0, len(SIZES) - 1), min_size=1, max_size=12))
def test_taken_graphs_are_those_of_a_batch(which):
    from torch_geometric.data import Batch, Data

    found, graphs, attr = pool()
    starts = [sum(g.num_edges for g in graphs[:i]) for i in range(len(graphs))]
    data = [
        Data(x=g.x, edge_index=g.edge_index, edge_attr=attr[start : start + g.num_edges])
        for g, start in zip(graphs, starts, strict=True)
    ]
    wanted, taken = Batch.from_data_list([data[i] for i in which]), found.take(torch.tensor(which))
    for name in ("x", "edge_index", "batch", "edge_attr"):
        assert torch.equal(getattr(taken, name), getattr(wanted, name)), name


@given(st.lists(st.integers(0, len(SIZES) - 1), max_size=12), st.integers(1, 40))
def test_chunks_keep_the_order_and_the_limit(which, nodes):
    found, *_ = pool()
    pieces = list(found.chunks(torch.tensor(which, dtype=torch.int64), nodes))
    assert [i for piece in pieces for i in piece.tolist()] == which
    for piece in pieces:
        assert len(piece) == 1 or int(found.nodes[piece].sum()) <= nodes


def test_a_graph_alone_is_a_pool_of_one():
    graph = toy_graph()
    taken = GraphPool(graph).take(torch.tensor([0]))
    assert torch.equal(taken.edge_index, graph.edge_index)
    assert taken.batch.tolist() == [0] * 60
    assert taken.edge_attr is None


@pytest.mark.parametrize("nodes", [[2, 3], [1]])
def test_the_last_graphs_may_have_no_edges(nodes):
    batch = torch.repeat_interleave(torch.arange(len(nodes)), torch.tensor(nodes))
    found = GraphPool(Graph(torch.zeros(sum(nodes), 1), torch.zeros(2, 0, dtype=torch.int64), batch))
    assert len(found) == len(nodes)
    assert found.edges.tolist() == [0] * len(nodes)
