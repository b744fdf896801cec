"""Many graphs: each broken invariant is one line that names the place, and nothing else is said."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.contracts.cards import DatasetCard
from benchsuite.contracts.dataset import GraphDataset, Split
from benchsuite.contracts.graph import Graph
from benchsuite.data import read_graphs
from benchsuite.data.validate import problems
from benchsuite.errors import MissingDataError

NAN = float("nan")


def mask(*items: int, of: int = 4) -> torch.Tensor:
    chosen = torch.zeros(of, dtype=torch.bool)
    chosen[list(items)] = True
    return chosen


#: Graphs 0 - 1, 2 - 3, 4 alone, and 5 - 6.
BATCH = torch.tensor([0, 0, 1, 1, 2, 3, 3])
EDGES = torch.tensor([[1, 0, 3, 2, 6, 5], [0, 1, 2, 3, 5, 6]])
CODES = torch.tensor([[0, 1], [2, 0], [1, 1], [0, 0], [2, 1], [1, 0], [0, 1]])
BONDS = torch.tensor([[0], [0], [1], [1], [2], [2]])
FOLD = Split(mask(0, 1), mask(2), mask(3))
CLASSES = torch.tensor([0, 1, 0, 1])
YES_NO = torch.tensor([[0, NAN], [1, 1], [NAN, NAN], [1, 0]])


def four(**changes) -> GraphDataset:
    """Return the four graphs, changed."""
    graph = {"x": CODES, "edge_index": EDGES, "batch": BATCH, "edge_attr": BONDS}
    graph = {name: changes.pop(name, value) for name, value in graph.items()}
    parts = {"y": CLASSES, "folds": (FOLD,), "num_classes": 2, "node_categories": (3, 2), "edge_categories": (3,)}
    return GraphDataset("four", Graph(**graph), **(parts | changes))


def real(**changes) -> dict:
    """Return the changes that make codes real numbers."""
    plain = {"x": CODES.float(), "node_categories": (), "edge_attr": BONDS.float(), "edge_categories": ()}
    return plain | changes


def put(tensor: torch.Tensor, place: tuple[int, ...], value: float) -> torch.Tensor:
    changed = tensor.clone()
    changed[place] = value
    return changed


def both(edges: list[tuple[int, int]]) -> torch.Tensor:
    """Return pairs in both directions, in order."""
    return torch.tensor(sorted({(b, a) for pair in edges for a, b in (pair, pair[::-1])})).T.flip(0)


def fold(test: int, train: tuple[int, ...], val: int) -> Split:
    return Split(mask(*train), mask(val), mask(test))


CASES = [
    ({}, []),
    (real(), []),
    ({"target_type": "binary", "y": YES_NO}, []),
    ({"target_type": "values", "y": YES_NO * 7.5}, []),
    ({"edge_attr": None, "edge_categories": ()}, []),
    ({"batch": None}, ["batch is missing: it says which graph each node belongs to"]),
    ({"batch": BATCH.int()}, ["batch is int32, not int64"]),
    ({"batch": BATCH + 1}, ["batch[0] is 1 and not 0: graphs go from 0 upwards, without gaps"]),
    (
        {"batch": torch.tensor([0, 0, 1, 1, 3, 4, 4])},
        ["batch[4] is 3 after 1: graphs go from 0 upwards, without gaps"],
    ),
    (
        {"batch": torch.tensor([0, 0, 1, 1, 0, 2, 2])},
        ["batch[4] is 0 after 1: graphs go from 0 upwards, without gaps"],
    ),
    ({"batch": torch.tensor([0, 0, 1, 1, 2, 2, 2])}, ["batch has 3 graphs, but y has 4"]),
    ({"x": CODES.float()}, ["x is float32, not int64"]),
    (real(x=CODES), ["x is int64, not float32"]),
    ({"node_categories": (3,)}, ["x has shape [7, 2], not [7, 1]"]),
    (
        {"node_categories": (2, 2)},
        ["x[1, 0] is 2, but the categories are 0 to 1 (2 such codes)"],
    ),
    ({"x": put(CODES, (6, 1), -1)}, ["x[6, 1] is -1, but the categories are 0 to 1 (1 such codes)"]),
    ({"edge_attr": put(BONDS, (5, 0), 3)}, ["edge_attr[5, 0] is 3, but the categories are 0 to 2 (1 such codes)"]),
    ({"edge_attr": None}, ["edge_attr is missing, but edge_categories is [3]"]),
    ({"edge_attr": BONDS[:5]}, ["edge_attr has shape [5, 1], not [6, 1]"]),
    (real(edge_attr=put(BONDS.float(), (2, 0), NAN)), ["edge_attr[2, 0] is nan (1 such values)"]),
    (real(x=put(CODES.float(), (4, 1), float("inf"))), ["x[4, 1] is inf (1 such values)"]),
    (
        {"edge_index": both([(0, 1), (1, 2), (5, 6)])},
        ["edge_index[:, 2] is 2 to 1, from one graph to another"],
    ),
    ({"y": torch.tensor([0, 1, 2, 1])}, ["y[2] is 2, but the classes are 0 to 1 (1 such labels)"]),
    ({"y": torch.tensor([0, 0, 1, 1])}, ["class 1 has no training graph"]),
    ({"y": CLASSES.float()}, ["y is float32, not int64"]),
    ({"y": YES_NO}, ["y is float32, not int64", "y has shape [4, 2], not [4]"]),
    ({"target_type": "values", "y": YES_NO[:, 0]}, ["y has shape [4], not [4, 2]"]),
    ({"target_type": "values", "y": YES_NO, "num_classes": 3}, ["y has shape [4, 2], not [4, 3]"]),
    ({"target_type": "ranks"}, ["the targets are 2 'ranks', of no known type or none"]),
    (
        {"target_type": "values", "y": put(YES_NO, (3, 0), float("-inf"))},
        ["y[3, 0] is -inf, no number (1 such targets)"],
    ),
    (
        {"target_type": "binary", "y": put(YES_NO, (1, 1), 0.5)},
        ["y[1, 1] is 0.5, not 0, 1 or missing (1 such targets)"],
    ),
    ({"target_type": "binary", "y": put(YES_NO, (1, 1), NAN)}, ["target 1 has no label in training"]),
    ({"folds": ()}, ["there are no folds"]),
    ({"folds": (Split(mask(0, 1), mask(), mask(3)),)}, ["split val is empty"]),
    (
        {"folds": (Split(mask(0, 1), mask(2), mask(1, 3)),)},
        ["graph 1 is in train and in test: labels leak (1 such graphs)"],
    ),
    ({"folds": (fold(3, (0, 1), 2), fold(2, (0, 1), 3))}, []),
    (
        {"folds": (fold(3, (0, 1), 2), fold(3, (1, 2), 0))},
        ["graph 3 is tested in 2 folds, and not in one (1 such graphs)"],
    ),
    ({"folds": (fold(3, (0, 1), 2), fold(1, (0, 2), 3))}, ["class 1 has no training graph in fold 1"]),
    (
        {"folds": (fold(3, (0, 1), 2), Split(mask(0, 1), mask(1), mask(2)))},
        ["graph 1 is in train and in val in fold 1: labels leak (1 such graphs)"],
    ),
    ({"folds": (Split(mask(0, 1, of=5), mask(2), mask(3)),)}, ["train.0 has shape [5], not [4]"]),
]


@pytest.mark.parametrize(("changes", "wanted"), CASES, ids=[f"{n}-{'-'.join(c)}" for n, (c, _) in enumerate(CASES)])
def test_problems(changes, wanted):
    assert problems(four(**changes)) == wanted


def test_a_data_set_without_graphs():
    none = torch.zeros(0, dtype=torch.int64)
    fold = Split(none.bool(), none.bool(), none.bool())
    empty = four(x=CODES[:0], edge_index=EDGES[:, :0], edge_attr=BONDS[:0], batch=none, y=none, folds=(fold,))
    assert problems(empty) == ["there are no nodes"]
    assert problems(four(y=none, folds=(fold,))) == ["there are no graphs"]


def test_read_graphs_validates(monkeypatch):
    import sys
    from types import ModuleType

    module = ModuleType("four_reader")
    module.four = lambda root: four(edge_attr=None)
    monkeypatch.setitem(sys.modules, "four_reader", module)
    card = DatasetCard(name="four", target="four_reader:four", summary="Four.", licence="None", source="here")
    with pytest.raises(MissingDataError, match="'four' is not valid: edge_attr is missing"):
        read_graphs(card, None)


@st.composite
def collections(draw) -> GraphDataset:
    """Return any valid collection: codes or numbers, bonds or none, any type of targets, one fold or more."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=6, max_size=10))
    seed = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    nodes, graphs = sum(sizes), len(sizes)
    batch = torch.arange(graphs).repeat_interleave(torch.tensor(sizes))
    meets = torch.triu(torch.rand(nodes, nodes, generator=seed) < 0.6, 1) & (batch[:, None] == batch)
    edges = (meets | meets.T).nonzero().T.flip(0)
    coded, bonded = draw(st.booleans()), draw(st.booleans())
    x = torch.randint(0, 4, (nodes, 2), generator=seed)
    bonds = torch.randint(0, 3, (edges.shape[1], 1), generator=seed)
    kind = draw(st.sampled_from(["classes", "binary", "values"]))
    y = torch.arange(graphs) % 2 if kind == "classes" else torch.randint(0, 2, (graphs, 2), generator=seed).float()
    if kind != "classes":
        y[4] = NAN  # in no training part
    heads = range(2, graphs, 2) if draw(st.booleans()) else (2,)
    parts = [(torch.arange(graphs) == head, torch.arange(graphs) == (head + 1) % graphs) for head in heads]
    parts = [(test, val, ~(test | val) & (torch.arange(graphs) != 4)) for test, val in parts]
    parts = [(test, val, train | (torch.arange(graphs) < 2) & ~val) for test, val, train in parts]
    return GraphDataset(
        name="any",
        graph=Graph(x if coded else x.float(), edges, batch, bonds if bonded and coded else None),
        y=y,
        folds=tuple(Split(train, val, test) for test, val, train in parts),
        num_classes=2,
        target_type=kind,
        node_categories=(4, 4) if coded else (),
        edge_categories=(3,) if bonded and coded else (),
    )


@settings(max_examples=60, deadline=None)
@given(collections(), st.data())
def test_whatever_is_valid_has_no_problem_and_one_fault_makes_one_line(dataset, data):
    assert problems(dataset) == []
    name, broken, line = data.draw(st.sampled_from(list(faults(dataset, data))), label="fault")
    found = problems(broken)
    assert len(found) == 1, name
    assert found[0].startswith(line), name


def faults(dataset: GraphDataset, data):
    """Yield (name, data set with one fault, how its one line must begin)."""
    graph = dataset.graph
    node = data.draw(st.integers(0, graph.num_nodes - 1), label="node")

    def inside(**changes) -> GraphDataset:
        parts = {"x": graph.x, "edge_index": graph.edge_index, "batch": graph.batch, "edge_attr": graph.edge_attr}
        return dataclasses.replace(dataset, graph=Graph(**(parts | changes)))

    if dataset.node_categories:
        yield "code", inside(x=put(graph.x, (node, 1), 4)), f"x[{node}, 1] is 4, but the categories are 0 to 3"
    else:
        yield "nan", inside(x=put(graph.x, (node, 1), NAN)), f"x[{node}, 1] is nan"
    if graph.num_edges:
        edge = data.draw(st.integers(0, graph.num_edges - 1), label="edge")
        source, target = graph.edge_index[:, edge].tolist()
        keep = torch.arange(graph.num_edges) != edge
        bonds = graph.edge_attr
        lone = inside(edge_index=graph.edge_index[:, keep], edge_attr=None if bonds is None else bonds[keep])
        line = f"is {target} to {source}, without its reverse"
        found = problems(lone)
        assert len(found) == 1
        assert line in found[0]
        twice = torch.cat([torch.arange(edge + 1), torch.arange(edge, graph.num_edges)])
        again = inside(edge_index=graph.edge_index[:, twice], edge_attr=None if bonds is None else bonds[twice])
        yield "twice", again, f"edge_index[:, {edge + 1}] is {source} to {target}, a second time"
        beyond = put(graph.edge_index, (0, edge), graph.num_nodes)
        yield "outside", inside(edge_index=beyond), f"edge_index[:, {edge}] is {graph.num_nodes} to {target}, but"
    first = dataset.folds[0]
    leaky = first._replace(val=first.val | first.test)
    where = " in fold 0" if len(dataset.folds) > 1 else ""
    leak = f"graph {int(first.test.nonzero()[0])} is in val and in test{where}: labels leak"
    yield "leak", dataclasses.replace(dataset, folds=(leaky, *dataset.folds[1:])), leak
    repeated = (*dataset.folds, dataset.folds[0])
    yield "tested twice", dataclasses.replace(dataset, folds=repeated), "graph 2 is tested in 2 folds"
    if dataset.target_type == "classes":
        yield "class", dataclasses.replace(dataset, y=put(dataset.y, (5,), 2)), "y[5] is 2, but the classes are 0 to 1"
    else:
        yield "inf", dataclasses.replace(dataset, y=put(dataset.y, (5, 0), float("inf"))), "y[5, 0] is inf"
        unlabelled = dataset.y.clone()
        unlabelled[:, 1] = NAN
        yield "unlabelled", dataclasses.replace(dataset, y=unlabelled), "target 1 has no label in training"
