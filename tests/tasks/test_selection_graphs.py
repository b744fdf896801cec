"""The generated graphs, and how orders of their nodes are valued."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from benchsuite.errors import ProtocolError
from benchsuite.models.selection import greedy_degree
from benchsuite.tasks.config import read_config
from benchsuite.tasks.selection.graphs import RANDOM, Plain, generate, union
from benchsuite.tasks.selection.objectives import OBJECTIVES, objectives, order_of
from benchsuite.tasks.selection.recipe import GraphRecipe, SelectionRecipe

SMALL = GraphRecipe(counts={"train": 2, "val": 1, "test": 3}, nodes=(20, 30), test_nodes=(40, 50))


def as_networkx(graph):
    made = nx.Graph()
    made.add_nodes_from(range(graph.nodes))
    made.add_edges_from(graph.edge_index.T.tolist())
    return made


def test_the_recipe_says_how_many_and_how_large():
    graphs = generate(SMALL, "test")
    assert len(graphs) == 9
    assert all(40 <= graph.nodes <= 50 for graph in graphs)
    assert all(20 <= graph.nodes <= 30 for graph in generate(SMALL, "train"))


def test_families_have_their_marks():
    recipe = GraphRecipe(counts={"train": 1, "val": 1, "test": 8})
    ba, er, ws = (generate(recipe, "test")[first : first + 8] for first in (0, 8, 16))
    for graph in ba:  # nodes bring 2 or 3 edges each; the first has many
        assert round(graph.edge_index.shape[1] / 2 / graph.nodes) in (2, 3)
        assert np.bincount(graph.edge_index[1]).max() > 4 * graph.edge_index.shape[1] / graph.nodes
    assert all(3 <= graph.edge_index.shape[1] / graph.nodes <= 6.1 for graph in er)
    assert all(graph.edge_index.shape[1] in (4 * graph.nodes, 6 * graph.nodes) for graph in ws)
    clustering = [np.mean([nx.average_clustering(as_networkx(graph)) for graph in family]) for family in (er, ws)]
    assert clustering[1] > 3 * clustering[0]


@pytest.mark.parametrize("graph", generate(SMALL, "test"), ids=lambda graph: str(graph.nodes))
def test_edges_are_sorted_symmetric_and_simple(graph):
    source, target = graph.edge_index
    keys = target * graph.nodes + source
    assert (np.diff(keys) > 0).all()
    assert set(keys) == set(source * graph.nodes + target)
    assert (source != target).all()


def test_the_number_of_a_node_says_nothing_of_its_degree():
    """networkx numbers the nodes of a Barabasi-Albert graph by age: the first are the hubs."""
    recipe = GraphRecipe(families=("ba",), counts={"train": 20, "val": 1, "test": 1})
    found = [np.corrcoef(np.arange(g.nodes), np.bincount(g.edge_index[1]))[0, 1] for g in generate(recipe, "train")]
    assert abs(np.mean(found)) < 0.1


def test_a_recipe_gives_the_same_graphs_and_splits_differ():
    one, other = generate(SMALL, "val"), generate(SMALL, "val")
    for a, b in zip(one, other, strict=True):
        assert np.array_equal(a.edge_index, b.edge_index)
        assert np.array_equal(a.x, b.x)
    again = generate(SMALL.model_copy(update={"seed": 1}), "val")
    assert not np.array_equal(one[0].edge_index, again[0].edge_index)
    more = GraphRecipe(counts={"train": 1, "val": 1, "test": 1}, nodes=(30, 30), test_nodes=(30, 30))
    edges = [generate(more, split)[0].edge_index for split in ("train", "val", "test")]
    assert not np.array_equal(edges[0], edges[1])
    assert not np.array_equal(edges[1], edges[2])


def test_inputs_say_the_degree_or_nothing_of_it():
    for graph in generate(SMALL, "val"):
        degree = np.bincount(graph.edge_index[1], minlength=graph.nodes)
        np.testing.assert_allclose(graph.x, np.stack([np.ones(graph.nodes), np.log1p(degree)], 1), rtol=1e-6)
    blind = GraphRecipe(counts={"train": 1, "val": 1, "test": 20}, inputs="random")
    graphs = generate(blind, "test")
    x = np.concatenate([graph.x for graph in graphs])
    degree = np.concatenate([np.bincount(graph.edge_index[1], minlength=graph.nodes) for graph in graphs])
    assert x.shape[1] == 1 + RANDOM
    assert all(abs(np.corrcoef(column, degree)[0, 1]) < 0.03 for column in x.T[1:])


def test_the_union_keeps_every_graph_apart():
    graphs = generate(SMALL, "val")
    made = union(graphs)
    assert made.batch.tolist() == [i for i, graph in enumerate(graphs) for _ in range(graph.nodes)]
    source, target = made.edge_index
    assert (made.batch[source] == made.batch[target]).all()
    assert made.num_edges == sum(graph.edge_index.shape[1] for graph in graphs)
    last = (made.edge_index[:, made.batch[target] == 2] - sum(g.nodes for g in graphs[:2])).numpy()
    assert np.array_equal(last, graphs[2].edge_index)


@pytest.mark.parametrize("goal", OBJECTIVES)
def test_the_greedy_rule_is_worth_a_hundred_and_a_bad_order_less(goal):
    recipe = SelectionRecipe(goal=goal, graphs=SMALL)
    for objective in objectives(generate(SMALL, "test"), recipe, "test"):
        edges, nodes = objective.graph.edge_index, objective.graph.nodes
        order = greedy_degree(edges, nodes, goal)
        assert objective.ratio(order) == 100.0
        assert objective.value(order) == objective.greedy
        backwards = objective.ratio(order[::-1])
        assert backwards > 110 if goal == "dismantling" else backwards < 95


@pytest.mark.parametrize("goal", ["influence", "dismantling"])
def test_following_the_target_is_about_as_good_as_the_greedy_rule_or_better(goal):
    recipe = SelectionRecipe(goal=goal, graphs=SMALL)
    found = [o.ratio(order_of(o.target())) for o in objectives(generate(SMALL, "test"), recipe, "test")]
    assert np.mean(found) < 95 if goal == "dismantling" else np.mean(found) > 98


def test_worlds_for_targets_are_not_those_that_are_scored_in():
    recipe = SelectionRecipe(goal="influence", graphs=SMALL)
    [objective, *_] = objectives(generate(SMALL, "val"), recipe, "val")
    scored, learnt = objective._test_worlds, objective._worlds("target", 1000)
    assert not np.array_equal(scored.labels, learnt.labels)


@pytest.mark.parametrize("goal", OBJECTIVES)
def test_a_graph_without_edges_is_worth_the_same_in_any_order(goal):
    bare = Plain(np.zeros((2, 0), dtype=np.int64), 20, np.empty((0, 0)))
    [objective] = objectives([bare], SelectionRecipe(goal=goal), "test")
    assert objective.ratio(np.arange(20)[::-1]) == 100.0
    assert np.ptp(objective.target()) == (0.95 if goal == "dismantling" else 0.0)


def test_ties_go_to_the_lower_index():
    assert order_of(np.array([1.0, 3.0, 1.0, 3.0])).tolist() == [1, 3, 0, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"goal": "fame"}, "goal: input should be"),
        ({"lr": 0.0}, "lr: input should be greater than 0"),
        ({"graphs": {"families": ["ab"]}}, "graphs.families.0: input should be"),
        ({"graphs": {"counts": {"train": 1}}}, "graphs: value error, families and the counts"),
        ({"graphs": {"nodes": [30, 20]}}, "graphs: value error, the fewest nodes come before the most"),
        ({"graphs": {"nodes": [4, 20]}}, "at least 8 nodes"),
        ({"cascade": {"probability": 1.0}}, "cascade.probability: input should be less than 1"),
        ({"layers": 3}, "layers: extra inputs"),
    ],
)
def test_a_config_that_says_nonsense_is_refused(change, message):
    with pytest.raises(ProtocolError, match=f"(?i)task 'x': .*{message}"):
        read_config("x", {"goal": "influence", **change}, SelectionRecipe)
