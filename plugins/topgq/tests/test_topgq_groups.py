"""Groups and placements: statistics, exact hits, and unseen nodes against numbers worked by hand."""

from __future__ import annotations

import gc

import pytest
import torch
from benchsuite_topgq.grids import NodeGrid
from benchsuite_topgq.groups import Groups
from benchsuite_topgq.toppin import group_keys

from benchsuite.models.adjacency import adjacency
from benchsuite.plugin import Graph
from benchsuite.testing.toys import permute, toy_graph, undirected


def groups_of(graph: Graph, **options) -> Groups:
    grouping = options.get("grouping", "toppin")
    return Groups(graph, group_keys(graph, grouping), **options)


def path_and_isolated(x: list[float]) -> Graph:
    """0 - 1 - 2 and 3 alone: pairs (2, 5/12), (3, 4/9), (2, 5/12), (1, 1)."""
    return Graph(torch.tensor(x).unsqueeze(1), undirected(torch.tensor([[0, 1], [1, 2]]), 4))


def one_edge() -> Graph:
    """Two joined nodes: both have the pair (2, 1/2)."""
    return Graph(torch.ones(2, 1), undirected(torch.tensor([[0], [1]]), 2))


def test_groups_are_sorted_by_pair_and_hold_their_members():
    groups = groups_of(path_and_isolated([0.0] * 4))
    assert len(groups) == 3
    assert groups.calibrated.index.flatten().tolist() == [1, 2, 1, 0]
    assert groups.calibrated.sizes(3).tolist() == [1, 2, 1]


def test_an_unseen_node_by_hand():
    # Groups at (log d, m): (0, 1), (.693147, .416667), (1.098612, .444444).
    # Mean (.597253, .620370), standard deviation (.453603, .268678).
    # The unseen pair (2, 1/2) is at (.693147, .5). Distances in standard deviations:
    #   to (1, 1):     (1.528092, 1.860964) -> 2.407956
    #   to (2, 5/12):  (0, .310161)         -> .310161
    #   to (3, 4/9):   (.893876, .206774)   -> .917480
    # Of the two nearest the inverses are 3.224132 and 1.089942, so the weights are .747352 and .252648.
    groups = groups_of(path_and_isolated([0.0] * 4), neighbours=2)
    place = groups.of(one_edge())
    assert place.index.tolist() == [[1, 2], [1, 2]]
    assert place.weight[0].tolist() == pytest.approx([0.747352, 0.252648], abs=2e-6)
    assert groups.unseen_hits == 0.0
    # Ranges 0..6 (node 3), 0..4 (nodes 0 and 2), 0..8 (node 1): the node's is 4 * .747352 + 8 * .252648 = 5.010592.
    seen = path_and_isolated([2.0, 8.0, 4.0, 6.0])
    grid = NodeGrid.fit(groups, 8, seen.x)
    step = grid.steps(adjacency(one_edge(), "gcn"))
    assert (step * 255).flatten().tolist() == pytest.approx([5.010592] * 2, abs=1e-5)


def test_an_exact_hit_takes_its_groups_parameters_to_the_bit():
    graph = toy_graph()
    groups = groups_of(graph)
    table = torch.rand(len(groups), 2)
    # The graph twice over, and a part that no group knows: misses beside hits.
    odd = torch.tensor([[0, 1, 0], [1, 2, 2]])
    n = graph.num_nodes
    edges = torch.cat([graph.edge_index, graph.edge_index + n, undirected(odd, 3) + 2 * n], 1)
    place = groups.of(Graph(torch.zeros(2 * n + 3, 12), edges))
    assert place.index.shape[1] == 3
    expected = table[groups.calibrated.index[:, 0]]
    assert torch.equal(place.spread(table)[: 2 * n], torch.cat([expected, expected]))
    assert groups.unseen_hits == pytest.approx(2 * n / (2 * n + 3))


def test_a_permuted_calibration_graph_hits_its_groups():
    graph = toy_graph()
    groups = groups_of(graph)
    order = torch.randperm(60, generator=torch.Generator().manual_seed(1))
    place = groups.of(permute(graph, order))
    assert groups.unseen_hits == 1.0
    assert torch.equal(place.index, groups.calibrated.index[order])


def test_statistics_do_not_depend_on_the_order_of_nodes():
    graph = toy_graph()
    shifted = Graph(graph.x - 0.4, graph.edge_index)
    order = torch.randperm(60, generator=torch.Generator().manual_seed(2))
    moved = permute(shifted, order)
    one = NodeGrid.fit(groups_of(shifted), 8, shifted.x)
    other = NodeGrid.fit(groups_of(moved), 8, moved.x)
    assert torch.equal(one.groups.key, other.groups.key)
    assert torch.equal(one.step, other.step)
    assert torch.equal(one.offset, other.offset)


def test_a_groups_range_spans_its_members_and_zero():
    graph = path_and_isolated([2.0, -8.0, -4.0, 6.0])
    grid = NodeGrid.fit(groups_of(graph), 8, graph.x)
    assert grid.offset.tolist() == [0.0, -4.0, -8.0]
    assert (grid.step * 255).tolist() == pytest.approx([6.0, 6.0, 8.0])


def test_offsets_are_stored_just_where_something_is_negative():
    x = [2.0, 8.0, 4.0, 6.0]
    graph = path_and_isolated(x)
    near = adjacency(graph, "gcn")
    plain = NodeGrid.fit(groups_of(graph), 8, graph.x)
    assert plain.offset is None
    assert plain.offsets(near) is None
    told_zero = NodeGrid(plain.groups, 8, plain.step, torch.zeros(3))
    assert torch.equal(plain(graph.x, near), told_zero(graph.x, near))


def test_a_group_of_one_spans_its_node_alone():
    graph = path_and_isolated([2.0, 8.0, 4.0, 6.0])
    grid = NodeGrid.fit(groups_of(graph), 2, graph.x)
    near = adjacency(graph, "gcn")
    assert grid(graph.x, near)[[1, 3]].flatten().tolist() == [8.0, 6.0]  # each at the top of its own grid


def test_a_group_of_zeros_says_zero_whatever_comes():
    graph = path_and_isolated([0.0, 8.0, 0.0, 6.0])
    grid = NodeGrid.fit(groups_of(graph), 8, graph.x)
    near = adjacency(graph, "gcn")
    assert grid(graph.x, near).flatten().tolist() == pytest.approx([0.0, 8.0, 0.0, 6.0])
    rounded = grid(torch.full((4, 1), 5.0), near)
    assert torch.isfinite(rounded).all()
    assert rounded[[0, 2]].abs().max() < 1e-9


def test_placements_are_worked_out_once_and_forgotten_with_their_graph():
    graph = toy_graph()
    groups = groups_of(graph)
    assert groups.of(graph) is groups.of(graph.fresh()) is groups.calibrated
    assert groups.unseen_hits is None
    other = toy_graph(seed=3)
    assert groups.of(other) is groups.of(other)
    before = len(groups._placements)
    del other
    gc.collect()
    assert len(groups._placements) == before - 1


def test_fewer_groups_than_neighbours():
    groups = groups_of(toy_graph(2), neighbours=5)
    place = groups.of(one_edge())
    assert place.index.tolist() == [[0], [0]]
    assert place.weight.tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("grouping", ["toppin", "degree", "none", "random"])
@pytest.mark.parametrize("nodes", [0, 1, 30])
def test_every_grouping_places_every_graph(grouping, nodes):
    groups = groups_of(toy_graph(nodes), grouping=grouping, seed=7 if grouping == "random" else None)
    for other in (toy_graph(0), toy_graph(1), toy_graph(50, seed=2)):
        place = groups.of(other)
        spread = place.spread(torch.ones(len(groups), 4))
        assert spread.shape == (other.num_nodes, 4)
        expected = torch.ones_like(spread) if len(groups) else torch.zeros_like(spread)
        assert torch.allclose(spread, expected)


def test_random_groups_keep_number_and_sizes_and_follow_the_seed():
    graph = toy_graph()
    plain = groups_of(graph)
    first, again, other = (groups_of(graph, grouping="random", seed=seed) for seed in (7, 7, 8))
    assert torch.equal(first.calibrated.index, again.calibrated.index)
    assert not torch.equal(first.calibrated.index, other.calibrated.index)
    assert not torch.equal(first.calibrated.index, plain.calibrated.index)
    assert torch.equal(first.calibrated.sizes(len(first)), plain.calibrated.sizes(len(plain)))
