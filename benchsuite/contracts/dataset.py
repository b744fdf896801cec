"""Data sets: one graph with targets at its nodes, or many graphs with targets of their own; and their splits."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch import Tensor

    from benchsuite.contracts.graph import Graph

#: What a target is. ``classes``: one of several classes; ``binary``: yes or no to each of one or more questions;
#: ``values``: one or more real numbers.
TargetType = Literal["classes", "binary", "values"]


class Split(NamedTuple):
    """Which items (nodes, or graphs) train, validate and test: masks ``[items]`` bool, no item in two of them."""

    train: Tensor
    val: Tensor
    test: Tensor


@dataclass(frozen=True, eq=False)
class NodeDataset:
    """A graph, the target of every node, and which nodes train, validate and test.

    A node may be in no split (most are, in Planetoid); none is in two.
    """

    name: str
    graph: Graph
    y: Tensor
    """``[nodes]`` int64, the class of each node in ``0..num_classes - 1``; or ``[nodes, targets]`` float32."""
    train: Tensor
    """``[nodes]`` bool."""
    val: Tensor
    """``[nodes]`` bool."""
    test: Tensor
    """``[nodes]`` bool."""
    num_classes: int
    """How many outputs a model needs: classes, or targets."""
    undirected: bool = True
    """Claims that every edge comes with its reverse; validation holds the edges to it."""
    target_type: TargetType = "classes"
    """With ``classes``, ``y`` is int64; otherwise float32, NaN where a target is missing."""

    def splits(self) -> dict[str, Tensor]:
        """Return the masks by name: train, val, test."""
        return {"train": self.train, "val": self.val, "test": self.test}

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Yield ``(name, tensor)`` for everything the data set consists of, in a fixed order."""
        yield from _graph_tensors(self.graph)
        yield "y", self.y
        yield from self.splits().items()

    def content_hash(self) -> str:
        """Return the sha256 (hex) over names, shapes, dtypes and bytes of all tensors, and the number of classes.

        The data set's name is no part of it: two readers of one content agree.
        """
        return _hash(self.num_classes, self.target_type, self.tensors())


@dataclass(frozen=True, eq=False)
class GraphDataset:
    """Many graphs, the target of each, and one split or several folds of them."""

    name: str
    graph: Graph
    """All graphs as a disjoint union; :attr:`Graph.batch` is ascending and each graph has a node."""
    y: Tensor
    """``[graphs]`` int64, the class of each graph in ``0..num_classes - 1``; or ``[graphs, targets]`` float32."""
    folds: tuple[Split, ...]
    """One where the split is fixed; of cross-validation all, and a cell of seed s works on fold s modulo their number.
    """
    num_classes: int
    """How many outputs a model needs: classes, or targets."""
    undirected: bool = True
    """Claims that every edge comes with its reverse; validation holds the edges to it."""
    target_type: TargetType = "classes"
    """With ``classes``, ``y`` is int64; otherwise float32, NaN where a target is missing."""
    node_categories: tuple[int, ...] = ()
    """Where :attr:`Graph.x` holds codes: how many categories each column has."""
    edge_categories: tuple[int, ...] = ()
    """Where :attr:`Graph.edge_attr` holds codes: how many categories each column has."""

    @property
    def num_graphs(self) -> int:
        """Number of graphs."""
        return int(self.y.shape[0])

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Yield ``(name, tensor)`` for everything the data set consists of, in a fixed order."""
        yield from _graph_tensors(self.graph)
        yield "y", self.y
        for number, fold in enumerate(self.folds):
            yield from ((f"{name}.{number}", mask) for name, mask in fold._asdict().items())

    def content_hash(self) -> str:
        """Return the sha256 (hex) over names, shapes, dtypes and bytes of all tensors, and the number of outputs.

        The data set's name is no part of it: two readers of one content agree.
        """
        return _hash(self.num_classes, self.target_type, self.tensors())


def _graph_tensors(graph: Graph) -> Iterator[tuple[str, Tensor]]:
    yield "x", graph.x
    yield "edge_index", graph.edge_index
    if graph.batch is not None:
        yield "batch", graph.batch
    if graph.edge_attr is not None:
        yield "edge_attr", graph.edge_attr


def _hash(outputs: int, target_type: TargetType, tensors: Iterable[tuple[str, Tensor]]) -> str:
    digest = hashlib.sha256(f"{target_type} {outputs}\n".encode())
    for name, tensor in tensors:
        array = tensor.detach().cpu().contiguous().numpy()
        digest.update(f"{name} {array.dtype.name} {array.shape}\n".encode())
        digest.update(array.astype(array.dtype.newbyteorder("<"), copy=False).data)
    return digest.hexdigest()
