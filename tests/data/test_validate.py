"""Each broken invariant is one line that names the place."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from benchsuite.contracts.dataset import NodeDataset
from benchsuite.contracts.graph import Graph
from benchsuite.data.digits import digits_knn
from benchsuite.data.validate import problems, validate
from benchsuite.errors import MissingDataError

X = torch.arange(10.0).reshape(5, 2)
EDGES = torch.tensor([[1, 0, 2, 1], [0, 1, 1, 2]])


def mask(*nodes: int) -> torch.Tensor:
    chosen = torch.zeros(5, dtype=torch.bool)
    chosen[list(nodes)] = True
    return chosen


def path(**changes) -> NodeDataset:
    """Return 0 - 1 - 2, and 3 and 4 alone, changed."""
    graph = Graph(changes.pop("x", X), changes.pop("edge_index", EDGES), changes.pop("batch", None))
    parts = {"y": torch.tensor([0, 1, 0, 1, 0]), "train": mask(0, 1), "val": mask(2), "test": mask(3), "num_classes": 2}
    return NodeDataset("path", graph, **(parts | changes))


def edges(*pairs: tuple[int, int]) -> torch.Tensor:
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T


def x_with(value: float) -> torch.Tensor:
    x = X.clone()
    x[3, 1] = value
    return x


CASES = [
    ({"x": X.double()}, ["x is float64, not float32"]),
    (
        {"x": X[0]},
        ["x has shape [2], not [2, any]", *[f"{n} has shape [5], not [2]" for n in ("y", "train", "val", "test")]],
    ),
    ({"edge_index": EDGES.int()}, ["edge_index is int32, not int64"]),
    ({"edge_index": EDGES[:1]}, ["edge_index has shape [1, 4], not [2, any]"]),
    ({"y": torch.zeros(4, dtype=torch.int64)}, ["y has shape [4], not [5]"]),
    ({"train": mask(0, 1).int()}, ["train is int32, not bool"]),
    ({"batch": torch.zeros(4, dtype=torch.int64)}, ["batch has shape [4], not [5]"]),
    ({"x": x_with(float("nan"))}, ["x[3, 1] is nan (1 such values)"]),
    ({"x": x_with(float("-inf"))}, ["x[3, 1] is -inf (1 such values)"]),
    ({"edge_index": edges((1, 0), (0, 1), (5, 1))}, ["edge_index[:, 2] is 5 to 1, but the nodes are 0 to 4"]),
    ({"edge_index": edges((-1, 0))}, ["edge_index[:, 0] is -1 to 0, but the nodes are 0 to 4"]),
    ({"edge_index": edges((1, 0), (0, 1), (3, 3))}, ["edge_index[:, 2] is 3 to 3, a self loop"]),
    (
        {"edge_index": edges((0, 1), (1, 0))},
        ["edge_index[:, 1] is 1 to 0, out of order: edges go by target, then source"],
    ),
    ({"edge_index": edges((1, 0), (1, 0), (0, 1))}, ["edge_index[:, 1] is 1 to 0, a second time"]),
    (
        {"edge_index": edges((1, 0), (0, 1), (2, 1))},
        ["edge_index[:, 2] is 2 to 1, without its reverse, in a graph said to be undirected"],
    ),
    ({"edge_index": edges((1, 0), (2, 1)), "undirected": False}, []),
    ({"edge_index": edges()}, []),
    ({"y": torch.tensor([0, 1, 0, 2, 0])}, ["y[3] is 2, but the classes are 0 to 1 (1 such labels)"]),
    ({"y": torch.tensor([0, 1, -1, 1, -1])}, ["y[2] is -1, but the classes are 0 to 1 (2 such labels)"]),
    ({"num_classes": 3}, ["class 2 has no training node"]),
    ({"train": mask(0)}, ["class 1 has no training node"]),
    ({"val": mask()}, ["split val is empty"]),
    ({"test": mask(1, 3)}, ["node 1 is in train and in test: labels leak (1 such nodes)"]),
    ({"val": mask(2, 3)}, ["node 3 is in val and in test: labels leak (1 such nodes)"]),
    (
        {"x": x_with(float("inf")), "val": mask(0)},
        ["x[3, 1] is inf (1 such values)", "node 0 is in train and in val: labels leak (1 such nodes)"],
    ),
]


@pytest.mark.parametrize(("changes", "wanted"), CASES, ids=[f"{n}-{'-'.join(c)}" for n, (c, _) in enumerate(CASES)])
def test_problems(changes, wanted):
    assert problems(path(**changes)) == wanted


ANSWERS = torch.tensor([[0.0, float("nan")], [1, 1], [1, 0], [0, 0], [1, 1]])
BONDS = torch.arange(8.0).reshape(4, 2)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, []),
        ({"y": ANSWERS[:, :1]}, ["y has shape [5, 1], not [5, 2]"]),
        ({"y": ANSWERS * 2}, ["y[1, 0] is 2, not 0, 1 or missing (5 such targets)"]),
        ({"y": ANSWERS * 2, "target_type": "values"}, []),
        ({"train": mask(0)}, ["target 1 has no label in training"]),
        ({"edge_attr": BONDS[:3]}, ["edge_attr has shape [3, 2], not [4, any]"]),
        ({"edge_attr": BONDS.long()}, ["edge_attr is int64, not float32"]),
        ({"edge_attr": BONDS / 0}, ["edge_attr[0, 0] is nan (8 such values)"]),
    ],
)
def test_problems_of_answers_and_of_edges_with_features(changes, wanted):
    """As ogbn-proteins has them: questions in place of a class, and numbers on the edges."""
    made = path(**({"y": ANSWERS, "target_type": "binary"} | {k: v for k, v in changes.items() if k != "edge_attr"}))
    graph = Graph(made.graph.x, made.graph.edge_index, None, changes.get("edge_attr", BONDS))
    assert problems(dataclasses.replace(made, graph=graph)) == wanted


def test_a_valid_data_set_is_returned_as_it_is():
    dataset = path()
    assert validate(dataset) is dataset


def test_the_error_names_data_set_first_problem_and_how_many_more():
    with pytest.raises(MissingDataError) as caught:
        validate(path(x=x_with(float("inf")), val=mask(0)))
    assert str(caught.value) == (
        "data set 'path' is not valid: x[3, 1] is inf (1 such values) (and 1 more). "
        "See them all: benchsuite data check path"
    )


def test_a_data_set_without_nodes():
    none = torch.zeros(0, dtype=torch.bool)
    empty = Graph(torch.zeros(0, 3), torch.zeros(2, 0, dtype=torch.int64))
    assert problems(NodeDataset("none", empty, none.long(), none, none, none, 2)) == ["there are no nodes"]


@pytest.mark.parametrize("name", ["train", "val", "test"])
def test_one_leaking_node_in_a_real_data_set_is_found(name):
    dataset = digits_knn()
    other = "test" if name != "test" else "val"
    node = int(getattr(dataset, other).nonzero()[0])
    leaking = getattr(dataset, name).clone()
    leaking[node] = True
    found = problems(dataclasses.replace(dataset, **{name: leaking}))
    assert len(found) == 1
    assert found[0].startswith(f"node {node} is in ")
