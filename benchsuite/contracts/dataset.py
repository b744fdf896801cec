"""A graph with one label per node and a fixed split."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from benchsuite.contracts.graph import Graph


@dataclass(frozen=True, eq=False)
class NodeDataset:
    """A graph, the class of every node, and which nodes train, validate and test.

    A node may be in no split (most are, in Planetoid); none is in two.
    """

    name: str
    graph: Graph
    y: Tensor
    """``[nodes]`` int64, the class of each node in ``0..num_classes - 1``."""
    train: Tensor
    """``[nodes]`` bool."""
    val: Tensor
    """``[nodes]`` bool."""
    test: Tensor
    """``[nodes]`` bool."""
    num_classes: int
    undirected: bool = True
    """Claims that every edge comes with its reverse; validation holds the edges to it."""

    def splits(self) -> dict[str, Tensor]:
        """Return the masks by name: train, val, test."""
        return {"train": self.train, "val": self.val, "test": self.test}

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Yield ``(name, tensor)`` for everything the data set consists of, in a fixed order."""
        yield "x", self.graph.x
        yield "edge_index", self.graph.edge_index
        if self.graph.batch is not None:
            yield "batch", self.graph.batch
        yield "y", self.y
        yield from self.splits().items()

    def content_hash(self) -> str:
        """Return the sha256 (hex) over names, shapes, dtypes and bytes of all tensors, and the number of classes.

        The data set's name is no part of it: two readers of one content agree.
        """
        digest = hashlib.sha256(f"classes {self.num_classes}\n".encode())
        for name, tensor in self.tensors():
            array = tensor.detach().cpu().contiguous().numpy()
            digest.update(f"{name} {array.dtype.name} {array.shape}\n".encode())
            digest.update(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
        return digest.hexdigest()
