"""Greedy selection by degree, against an oracle that looks at the whole graph in each step."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.contracts.graph import Graph
from benchsuite.models.selection import core_numbers, degrees, greedy_degree, independent_set


def edges_of(graph):
    pairs = np.array(graph.edges, dtype=np.int64).reshape(-1, 2).T
    return np.concatenate([pairs, pairs[::-1]], axis=1)


def most_first(graph):
    """Remove the node of highest degree until none is left."""
    graph, order = graph.copy(), []
    while graph:
        order.append(min(graph, key=lambda node: (-graph.degree(node), node)))
        graph.remove_node(order[-1])
    return order


def fewest_first(graph):
    """Take the node of lowest degree and remove it with its neighbours until none is left."""
    graph, order = graph.copy(), []
    while graph:
        order.append(min(graph, key=lambda node: (graph.degree(node), node)))
        graph.remove_nodes_from([order[-1], *graph[order[-1]]])
    return order


graphs = st.builds(
    lambda nodes, share, seed: nx.gnp_random_graph(nodes, share, seed=seed),
    st.integers(0, 25),
    st.floats(0, 0.5),
    st.integers(0, 10_000),
)


@settings(max_examples=60, deadline=None)
@given(graphs)
def test_the_greedy_orders_are_those_of_the_oracle(graph):
    nodes, edges = graph.number_of_nodes(), edges_of(graph)
    for goal in ("influence", "dismantling"):
        assert greedy_degree(edges, nodes, goal).tolist() == most_first(graph)
    order = greedy_degree(edges, nodes, "independence")
    taken = fewest_first(graph)
    assert order[: len(taken)].tolist() == taken
    assert sorted(order) == list(range(nodes))
    assert independent_set(edges, order).tolist() == taken


@settings(max_examples=60, deadline=None)
@given(graphs, st.integers(0, 100))
def test_the_set_of_any_order_is_independent_and_maximal(graph, seed):
    nodes = graph.number_of_nodes()
    taken = set(independent_set(edges_of(graph), np.random.RandomState(seed).permutation(nodes)).tolist())
    assert not any(one in taken and other in taken for one, other in graph.edges)
    assert all(node in taken or taken & set(graph[node]) for node in graph)


@pytest.mark.parametrize(
    ("graph", "goal", "expected"),
    [
        (nx.star_graph(3), "influence", [0, 1, 2, 3]),
        (nx.star_graph(3), "independence", [1, 2, 3, 0]),
        (nx.path_graph(5), "dismantling", [1, 3, 0, 2, 4]),
        (nx.path_graph(5), "independence", [0, 2, 4, 1, 3]),
        (nx.empty_graph(3), "dismantling", [0, 1, 2]),
    ],
)
def test_small_graphs_by_hand(graph, goal, expected):
    assert greedy_degree(edges_of(graph), graph.number_of_nodes(), goal).tolist() == expected


def test_degrees_and_core_numbers_of_a_triangle_with_a_tail_and_a_lone_node():
    shape = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3)])
    graph = Graph(torch.zeros(5, 1), torch.from_numpy(edges_of(shape)))
    assert degrees(graph).tolist() == [2, 2, 3, 1, 0]
    assert core_numbers(graph).tolist() == [2, 2, 2, 1, 0]
    empty = Graph(torch.zeros(0, 1), torch.zeros(2, 0, dtype=torch.long))
    assert (degrees(empty).tolist(), core_numbers(empty).tolist()) == ([], [])
