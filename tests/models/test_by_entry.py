"""Aggregations whose messages depend on the edge."""

from __future__ import annotations

import torch

from benchsuite.contracts.graph import Graph
from benchsuite.models.adjacency import adjacency
from benchsuite.models.sites import Aggregation
from benchsuite.testing.toys import toy_graph


def test_entries_of_the_bare_adjacency_are_the_edges_in_their_order():
    graph = toy_graph()
    where = adjacency(graph, "edges")
    assert torch.equal(torch.stack([where.col, where.row]), graph.edge_index)
    assert where.value.tolist() == [1.0] * graph.num_edges


def test_messages_by_entry_sum_into_their_targets_by_hand():
    graph = Graph(torch.zeros(3, 1), torch.tensor([[1, 2, 0], [0, 0, 2]]))
    where = adjacency(graph, "edges")
    messages = torch.tensor([[1.0], [10.0], [5.0]])
    found = Aggregation(0, by_entry=True)(where, where.value, messages)
    assert found.tolist() == [[11.0], [0.0], [5.0]]


def test_by_entry_with_each_source_s_row_is_the_plain_product():
    graph = toy_graph()
    where = adjacency(graph, "gcn")
    by_entry = Aggregation(0, by_entry=True)(where, where.value, graph.x[where.col])
    assert torch.allclose(by_entry, Aggregation(0)(where, where.value, graph.x), atol=1e-6)
