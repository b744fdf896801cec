"""The independent cascade, against a simulation step by step and against probabilities by hand."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.tasks.selection.graphs import Plain
from benchsuite.tasks.selection.influence import Worlds, draw_worlds, marginal_gains, spread


def plain(graph):
    pairs = np.array(graph.edges, dtype=np.int64).reshape(-1, 2).T
    return Plain(np.concatenate([pairs, pairs[::-1]], axis=1), graph.number_of_nodes(), np.empty((0, 0)))


def cascade(graph, seeds, probability, draw):
    """Return how many nodes one cascade reaches: each new node tries each of its neighbours once."""
    reached, new = set(seeds), list(seeds)
    while new:
        node = new.pop(0)
        for other in graph[node]:
            if other not in reached and draw.random_sample() < probability:
                reached.add(other)
                new.append(other)
    return len(reached)


def test_spread_on_a_path_by_hand():
    # From the end of a path of three: itself, the next with p, the last with p^2. From the middle: 1 + 2p.
    worlds = draw_worlds(plain(nx.path_graph(3)), 0.4, 20_000, np.random.RandomState(0))
    assert spread(worlds, [0]) == pytest.approx(1 + 0.4 + 0.16, abs=0.02)
    assert spread(worlds, [1]) == pytest.approx(1 + 0.8, abs=0.02)
    # Both ends: the middle is missed with (1-p)^2.
    assert spread(worlds, [0, 2]) == pytest.approx(3 - 0.36, abs=0.02)


def test_components_of_drawn_worlds_are_cascades():
    graph = nx.barabasi_albert_graph(30, 2, seed=1)
    draw = np.random.RandomState(2)
    simulated = np.mean([cascade(graph, [3, 8], 0.3, draw) for _ in range(4000)])
    worlds = draw_worlds(plain(graph), 0.3, 4000, draw)
    # Standard deviations of such a cascade are near 5: the two means differ by 0.11 or so.
    assert spread(worlds, [3, 8]) == pytest.approx(simulated, abs=0.5)


def test_a_world_that_is_all_there_and_one_that_is_empty():
    worlds = Worlds(np.array([[0, 0, 0], [1, 2, 3]]), np.array([3, 1, 1, 1]))
    assert spread(worlds, [0]) == (3 + 1) / 2
    assert spread(worlds, [0, 1]) == (3 + 2) / 2
    assert marginal_gains(worlds).tolist() == [2.0, 0.5, 0.5]


def greedy(worlds, nodes):
    """Return each node's gain by trying all that are left in each step."""
    gains, picked = np.zeros(nodes), []
    while len(picked) < nodes:
        before = spread(worlds, picked)
        left = [(spread(worlds, [*picked, node]) - before, -node) for node in range(nodes) if node not in picked]
        gain, node = max(left, key=lambda pair: (round(pair[0], 9), pair[1]))
        picked.append(-node)
        gains[-node] = gain
    return gains


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 12), st.floats(0.0, 0.5), st.floats(0.05, 0.6), st.integers(0, 1000))
def test_gains_are_those_of_the_greedy_algorithm_and_add_up_to_all_nodes(nodes, share, probability, seed):
    graph = plain(nx.gnp_random_graph(nodes, share, seed=seed))
    worlds = draw_worlds(graph, probability, 7, np.random.RandomState(seed))
    gains = marginal_gains(worlds)
    np.testing.assert_allclose(gains, greedy(worlds, nodes), atol=1e-9)
    assert gains.sum() == pytest.approx(nodes)
    order = np.argsort(-gains, kind="stable")
    assert spread(worlds, order[:3].tolist()) == pytest.approx(gains[order[:3]].sum())


def test_the_same_draw_gives_the_same_worlds_and_no_edges_give_lone_nodes():
    graph = plain(nx.cycle_graph(6))
    one, other = (draw_worlds(graph, 0.5, 10, np.random.RandomState(3)) for _ in range(2))
    assert np.array_equal(one.labels, other.labels)
    lone = draw_worlds(plain(nx.empty_graph(4)), 0.5, 10, np.random.RandomState(0))
    assert (lone.count, spread(lone, [0, 1])) == (10, 2.0)
