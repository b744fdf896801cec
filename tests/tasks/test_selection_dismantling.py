"""Orders of removal, against removing nodes from a networkx graph one by one."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.models.selection import greedy_degree
from benchsuite.tasks.selection.dismantling import area, inverse_order
from benchsuite.tasks.selection.graphs import Plain


def plain(graph):
    pairs = np.array(graph.edges, dtype=np.int64).reshape(-1, 2).T
    return Plain(np.concatenate([pairs, pairs[::-1]], axis=1), graph.number_of_nodes(), np.empty((0, 0)))


def removed_one_by_one(graph, order):
    graph, nodes, total = graph.copy(), graph.number_of_nodes(), 0
    for node in order:
        graph.remove_node(node)
        total += max(map(len, nx.connected_components(graph)), default=0)
    return total / nodes**2


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 20), st.floats(0, 0.5), st.integers(0, 1000))
def test_area_is_that_of_removing_one_by_one(nodes, share, seed):
    graph = nx.gnp_random_graph(nodes, share, seed=seed)
    order = np.random.RandomState(seed).permutation(nodes)
    assert area(plain(graph), order) == pytest.approx(removed_one_by_one(graph, order.tolist()))


def test_a_star_by_hand():
    # Centre first: four lone leaves, then three ... : 1 + 1 + 1 + 1 + 0. Centre last: 4 + 3 + 2 + 1 + 0.
    star = plain(nx.star_graph(4))
    assert area(star, np.array([0, 1, 2, 3, 4])) == pytest.approx(4 / 25)
    assert area(star, np.array([1, 2, 3, 4, 0])) == pytest.approx(10 / 25)
    assert inverse_order(star)[0] == 0


def test_the_order_to_learn_from_beats_removal_by_degree():
    for seed in range(3):
        for graph in (nx.barabasi_albert_graph(80, 2, seed=seed), nx.watts_strogatz_graph(80, 4, 0.3, seed=seed)):
            made = plain(graph)
            order = inverse_order(made)
            assert sorted(order) == list(range(80))
            assert area(made, order) < area(made, greedy_degree(made.edge_index, 80, "dismantling"))


def test_a_graph_without_edges_and_one_node():
    lone = plain(nx.empty_graph(5))
    assert area(lone, inverse_order(lone)) == pytest.approx(4 / 25)
    assert area(plain(nx.empty_graph(1)), np.array([0])) == 0.0
