"""Samples of neighbours."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from benchsuite.contracts.graph import Graph
from benchsuite.tasks.sampling import NeighbourSampler, _choose
from benchsuite.testing.toys import toy_graph


def edges_of(graph, nodes):
    """Return the edges of a sample as pairs of nodes of the whole graph."""
    return {(nodes[s], nodes[t]) for s, t in graph.edge_index.T.tolist()}


def numbered(seed=0):
    """Return a graph whose features name the nodes."""
    raw = toy_graph(40, 1, seed=seed)
    return Graph(torch.arange(40.0).unsqueeze(1), raw.edge_index)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_with_room_for_all_it_is_the_neighbourhood(hops):
    from torch_geometric.utils import k_hop_subgraph

    graph = numbered()
    seeds = torch.tensor([5, 0, 17])
    sample = NeighbourSampler(graph).around(seeds, [100] * hops)
    nodes = [int(v) for v in sample.x.flatten()]
    wanted, *_ = k_hop_subgraph(seeds, hops, graph.edge_index, num_nodes=40)
    assert nodes[:3] == seeds.tolist()
    assert sorted(nodes) == wanted.tolist()
    inner, *_ = k_hop_subgraph(seeds, hops - 1, graph.edge_index, num_nodes=40)
    # All edges into what is less than ``hops`` away, and no others.
    assert edges_of(sample, nodes) == {(s, t) for s, t in graph.edge_index.T.tolist() if t in set(inner.tolist())}


@settings(deadline=None)
@given(seed=st.integers(0, 1000), fan_out=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_no_node_brings_more_than_its_share_and_every_edge_is_real(seed, fan_out):
    graph = numbered(seed % 7)
    torch.manual_seed(seed)
    seeds = torch.randperm(40)[:6]
    sample = NeighbourSampler(graph).around(seeds, fan_out)
    nodes = [int(v) for v in sample.x.flatten()]
    assert len(set(nodes)) == len(nodes)
    assert nodes[:6] == seeds.tolist()
    found = edges_of(sample, nodes)
    assert len(found) == sample.num_edges
    assert found <= set(map(tuple, graph.edge_index.T.tolist()))
    degree = torch.bincount(graph.edge_index[1], minlength=40)
    of_seeds = torch.bincount(sample.edge_index[1], minlength=len(nodes))[:6]
    assert of_seeds.tolist() == degree[seeds].clamp(max=fan_out[0]).tolist()
    source, target = sample.edge_index
    assert bool(((target * len(nodes) + source).diff() > 0).all())


def test_edges_keep_their_attributes():
    graph = numbered()
    attr = graph.edge_index.T.float()
    sample = NeighbourSampler(Graph(graph.x, graph.edge_index, None, attr)).around(torch.tensor([1, 2]), [2, 2])
    ends = torch.stack([sample.x[sample.edge_index[0], 0], sample.x[sample.edge_index[1], 0]], 1)
    assert torch.equal(sample.edge_attr, ends)


def test_every_set_of_neighbours_is_equally_likely():
    torch.manual_seed(0)
    chosen = Counter(tuple(sorted(row)) for row in _choose(torch.full((20_000,), 9), 4).tolist())
    assert len(chosen) == 126
    assert all(len(set(each)) == 4 for each in chosen)
    assert chisquare(list(chosen.values())).pvalue > 1e-3


def test_a_node_without_neighbours_is_alone():
    sample = NeighbourSampler(numbered()).around(torch.tensor([39]), [5, 5])
    assert (sample.num_nodes, sample.num_edges) == (1, 0)
