"""TopPIN against an oracle in exact fractions over networkx, and its keys against float noise."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import networkx as nx
import pytest
import torch
from benchsuite_topgq.toppin import CELL, TopPIN, group_keys, keys, pairs, toppin
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchsuite.plugin import Graph
from benchsuite.testing.toys import permute, toy_graph


def to_graph(nodes: int, edges: set[tuple[int, int]]) -> Graph:
    by_target = sorted(edges, key=lambda edge: (edge[1], edge[0]))
    index = torch.tensor(by_target, dtype=torch.long).reshape(-1, 2).T.contiguous()
    return Graph(torch.zeros(nodes, 1), index)


def oracle(graph: Graph) -> list[tuple[int, Fraction]]:
    network = nx.DiGraph()
    network.add_nodes_from(range(graph.num_nodes))
    network.add_edges_from(graph.edge_index.T.tolist())
    closed = [{*network.predecessors(v), v} for v in network]
    degree = [len(neighbours) for neighbours in closed]
    return [(degree[v], sum(Fraction(1, degree[u]) for u in closed[v]) / degree[v]) for v in network]


@st.composite
def graphs(draw: st.DrawFn, directed: bool = True) -> Graph:
    nodes = draw(st.integers(1, 12))
    node = st.integers(0, nodes - 1)
    edges = draw(st.sets(st.tuples(node, node), max_size=40))
    return to_graph(nodes, edges if directed else edges | {(b, a) for a, b in edges})


@settings(max_examples=60, deadline=None)
@given(st.one_of(graphs(), graphs(directed=False)))
def test_toppin_is_the_oracles_on_any_graph_with_self_loops_and_isolated_nodes(graph):
    degree, mean = toppin(graph)
    expected = oracle(graph)
    assert degree.tolist() == [d for d, _ in expected]
    assert mean.tolist() == pytest.approx([float(m) for _, m in expected], rel=1e-14)


@settings(max_examples=60, deadline=None)
@given(st.one_of(graphs(), graphs(directed=False)))
def test_nodes_share_a_key_just_where_the_exact_pairs_are_equal(graph):
    key, expected = group_keys(graph, "toppin").tolist(), oracle(graph)
    assert len(set(key)) == len(set(expected)) == len(set(zip(key, expected, strict=True)))


@settings(max_examples=60, deadline=None)
@given(graphs(), st.randoms())
def test_keys_move_with_the_nodes(graph, random):
    order = list(range(graph.num_nodes))
    random.shuffle(order)
    order = torch.tensor(order)
    assert torch.equal(group_keys(permute(graph, order), "toppin"), group_keys(graph, "toppin")[order])


@given(st.integers(1, 2000), st.integers(1, 10**6))
@example(1, 128)  # 7812.5 steps of 1e-6: on the border of rounding to 1e-6
@example(1, 1)
@example(1, 2)
@example(3, 128)
@example(1, 1000)
@example(1, 1024)
@example(1, 10**6)
def test_float_noise_does_not_split_a_rational(numerator, denominator):
    mean = min(numerator, denominator) / denominator
    noisy = [mean, math.nextafter(mean, 0), math.nextafter(mean, 2), mean * (1 - 1e-15)]
    assert len(torch.unique(keys(TopPIN(torch.full((4,), 7), torch.tensor(noisy, dtype=torch.float64))))) == 1


def test_one_in_128_is_one_group_whatever_the_order_of_the_sum():
    parts = [1 / d for d in (3, 7, 11, 13, 96)]
    orders = [parts, parts[::-1], parts[2:] + parts[:2]]
    totals = [sum(order) for order in orders]
    assert len(set(totals)) > 1  # the orders do differ in the last bits
    means = torch.tensor([total / sum(parts) / 128 for total in totals], dtype=torch.float64)
    assert len(torch.unique(keys(TopPIN(torch.full((3,), 5), means)))) == 1


def test_a_complete_graph_of_128_nodes_is_one_group():
    full = to_graph(128, {(a, b) for a in range(128) for b in range(128) if a != b})
    degree, mean = toppin(full)
    assert degree.unique().tolist() == [128]
    assert mean.unique().tolist() == [1 / 128]


def test_the_star_by_hand():
    # Hub 0 with three leaves: d = 4, 2, 2, 2; hub (1/4 + 3/2)/4 = 7/16; leaf (1/2 + 1/4)/2 = 3/8.
    star = to_graph(4, {(0, 1), (1, 0), (0, 2), (2, 0), (0, 3), (3, 0)})
    assert toppin(star).degree.tolist() == [4, 2, 2, 2]
    assert toppin(star).mean.tolist() == [7 / 16, 3 / 8, 3 / 8, 3 / 8]


def test_only_incoming_edges_count():
    # 0 -> 1: node 0 hears itself alone, node 1 both: (1/1 + 1/2)/2 = 3/4.
    assert toppin(to_graph(2, {(0, 1)})).degree.tolist() == [1, 2]
    assert toppin(to_graph(2, {(0, 1)})).mean.tolist() == [1.0, 0.75]


def test_a_key_gives_its_pair_back():
    pair = toppin(toy_graph())
    again = pairs(keys(pair))
    assert torch.equal(again.degree, pair.degree)
    assert float((again.mean - pair.mean).abs().max()) <= CELL / 2 * 1.001


@pytest.mark.parametrize("nodes", [0, 1, 2])
def test_graphs_without_edges_have_pairs_of_one(nodes):
    degree, mean = toppin(toy_graph(nodes))
    assert degree.tolist() == [1] * nodes
    assert mean.tolist() == [1.0] * nodes


def test_controls_group_by_degree_and_by_nothing():
    graph = toy_graph()
    by_degree = Counter(group_keys(graph, "degree").tolist())
    assert sorted(by_degree.values()) == sorted(Counter(toppin(graph).degree.tolist()).values())
    assert set(group_keys(graph, "none").tolist()) == {0}
