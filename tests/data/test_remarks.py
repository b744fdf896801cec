"""What is odd and no error; and hashes by which items that look the same are found."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.contracts.dataset import GraphDataset, NodeDataset, Split
from benchsuite.contracts.graph import Graph
from benchsuite.data import load
from benchsuite.data.cards import DATASETS
from benchsuite.data.remarks import graph_hashes, remarks, row_hashes
from benchsuite.data.unions import Small, union
from benchsuite.data.validate import problems
from benchsuite.errors import MissingDataError

NAN = float("nan")


def third(number: int, of: int) -> torch.Tensor:
    return torch.arange(of) % 3 == number


def nodes(count: int, **changes) -> NodeDataset:
    """Return a ring of nodes, all of which differ."""
    around = torch.arange(count)
    pairs = torch.cat([torch.stack([around, (around + 1) % count]), torch.stack([(around + 1) % count, around])], 1)
    edges = pairs[:, torch.argsort(pairs[1] * count + pairs[0])]
    graph = Graph(changes.pop("x", torch.arange(count * 2.0).reshape(count, 2)), changes.pop("edge_index", edges))
    parts = {name: third(place, count) for place, name in enumerate(("train", "val", "test"))}
    made = NodeDataset("ring", graph, **({"y": around // 3 % 2, "num_classes": 2} | parts | changes))
    assert problems(made) == []
    return made


def paths(*sizes: int, **changes) -> GraphDataset:
    """Return paths of so many nodes; a third each train, validate, test."""
    graphs = []
    for size in sizes:
        ends = np.stack([np.arange(size - 1), np.arange(1, size)])
        graphs.append(Small(np.ones((size, 1), np.float32), np.concatenate([ends, ends[::-1]], 1)))
    count = len(sizes)
    parts = {
        "y": torch.arange(count) // 3 % 2,
        "num_classes": 2,
        "folds": (Split(third(0, count), third(1, count), third(2, count)),),
    }
    made = GraphDataset("paths", union(graphs), **(parts | changes))
    assert problems(made) == []
    return made


def test_nothing_odd():
    assert remarks(nodes(12)) == []
    assert remarks(paths(2, 3, 4, 5, 6, 7)) == []


def test_nodes_and_graphs_without_an_edge():
    # Of the ring 0 - ... - 11 the edges of node 3 go.
    ring = nodes(12).graph.edge_index
    cut = ring[:, (ring != 3).all(0)]
    assert remarks(nodes(12, edge_index=cut)) == ["1 node without an edge, first 3"]
    assert remarks(paths(2, 3, 1, 5, 1, 7)) == [
        "2 nodes without an edge, first 5",
        "2 graphs without an edge, first 2",
    ]


def test_an_extreme_imbalance():
    y = torch.zeros(303, dtype=torch.int64)
    y[:3] = 1
    assert remarks(nodes(303, y=y)) == ["class 0 has 300 nodes, and class 1 3"]
    y[3] = 1
    assert remarks(nodes(303, y=y)) == []


def test_rare_answers_and_parts_that_cannot_be_scored():
    y = torch.zeros(606, 3)
    y[:, 1] = (torch.arange(606) % 2).float()
    y[:6, 0] = y[:6, 2] = 1
    y[300:, 2] = NAN
    assert remarks(nodes(606, y=y, num_classes=3, target_type="binary")) == [
        "target 0 is 1 for 6 of 606 nodes; 1 target with hardly one answer in 100 of a kind"
    ]
    y[third(2, 606), 1] = 1
    y[third(1, 606), 0] = NAN
    assert remarks(nodes(606, y=y, num_classes=3, target_type="binary"))[-2:] == [
        "target 0 lacks labels of both kinds in val: it cannot be scored there",
        "target 1 lacks labels of both kinds in test: it cannot be scored there",
    ]


def test_numbers_that_are_missing():
    y = torch.arange(12.0).reshape(6, 2)
    y[3] = y[4, 1] = NAN  # 4 is of the two that validate
    y[1, 1] = NAN
    assert remarks(paths(2, 3, 4, 5, 6, 7, y=y, target_type="values")) == [
        "1 graph without any label",
        "target 1 lacks a label in val: it cannot be scored there",
    ]


def test_items_that_look_the_same():
    x = nodes(12).graph.x.clone()
    x[5], x[11] = x[0], x[3]
    assert remarks(nodes(12, x=x)) == ["2 of 4 test nodes with the features of a training node"]
    assert remarks(paths(2, 3, 2, 5, 6, 7)) == ["1 of 2 test graphs with the look of a training graph"]


def test_of_several_folds_the_worst_is_named():
    sizes = (2, 3, 4, 5, 2, 3)
    order = torch.arange(6)
    folds = tuple(Split(order > 3, order == 3, order == test) for test in (2, 1))
    assert remarks(paths(*sizes, folds=folds, y=order % 2)) == [
        "1 of 1 test graph with the look of a training graph in fold 1, the most of 2"
    ]


@pytest.mark.data
@pytest.mark.filterwarnings("ignore:The hashes produced:UserWarning")
def test_imdbs_graphs_are_there_many_times(data_root):
    """Of IMDB-BINARY's 1,000 graphs only 537 differ: what networkx' Weisfeiler-Lehman hash says of the same edges."""
    try:
        dataset = load(next(card for card in DATASETS if card.name == "imdb-binary"), data_root)
    except MissingDataError as error:
        pytest.skip(str(error))
    graph, batch = dataset.graph, dataset.graph.batch
    theirs, start = [], 0
    for number, size in enumerate(torch.bincount(batch).tolist()):
        made = nx.empty_graph(range(start, start + size))
        made.add_edges_from(graph.edge_index[:, batch[graph.edge_index[0]] == number].T.tolist())
        theirs.append(nx.weisfeiler_lehman_graph_hash(made, iterations=4))
        start += size
    ours = graph_hashes(graph)
    groups = {(a, b) for a, b in zip(ours.tolist(), theirs, strict=True)}
    assert len(groups) == len(set(theirs)) == len(set(ours.tolist())) < 600


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 7), st.floats(0, 1), st.integers(0, 2**31 - 1), st.booleans())
def test_the_order_of_nodes_does_not_matter_and_one_feature_does(size, density, seed, bonds):
    draw = np.random.RandomState(seed)
    adjacent = np.triu(draw.random_sample((size, size)) < density, 1)
    bond = draw.randint(0, 3, (size, size))
    x, order = draw.randint(0, 3, (size, 2)), draw.permutation(size)

    def small(table: np.ndarray, place: np.ndarray) -> Small:
        rows, kinds = np.argwhere(adjacent | adjacent.T), np.triu(bond, 1) + np.triu(bond, 1).T
        attr = kinds[rows[:, 0], rows[:, 1]][:, None]
        moved = np.empty_like(table)
        moved[place] = table
        return Small(moved, place[rows.T].reshape(2, -1), attr if bonds else None)

    changed = x.copy()
    changed[draw.randint(size), 1] += 1
    same = np.arange(size)
    one, other, third = graph_hashes(union([small(x, same), small(x, order), small(changed, same)]))
    assert one == other != third


def test_a_bond_of_another_kind_is_another_graph():
    def pair(kind: int) -> Small:
        return Small(np.zeros((2, 1), np.int64), np.array([[0, 1], [1, 0]]), np.array([[kind], [kind]]))

    one, other, again = graph_hashes(union([pair(1), pair(2), pair(1)]))
    assert one == again != other


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_rows_have_one_hash_where_they_are_equal(dtype):
    """Ten thousand rows of few values, against numpy's own comparison of rows; in blocks and in one."""
    table = torch.randint(0, 3, (10_000, 8), generator=torch.Generator().manual_seed(0)).to(dtype)
    wanted = np.unique(table.numpy(), axis=0, return_inverse=True)[1].reshape(-1)
    hashes = row_hashes(table)
    assert len(np.unique(np.stack([wanted.astype(np.uint64), hashes], 1), axis=0)) == wanted.max() + 1
    assert len(np.unique(hashes)) == wanted.max() + 1
    assert (row_hashes(table[:7]) == hashes[:7]).all()


def test_rows_of_words_do_not_collide():
    """Zeros and ones as floats differ in their upper bits alone; no two of a million rows may meet."""
    table = ((torch.arange(2**17)[:, None] >> torch.arange(17)) & 1).float()
    assert len(np.unique(row_hashes(table))) == 2**17
