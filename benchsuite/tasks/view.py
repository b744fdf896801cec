"""The label-free view of a data set: the file through which a worker sees it.

The view holds the graph, the split, and the classes of training and validation nodes. All other classes are -1. Its
file is named after the hash of its bytes, so a worker can tell that it reads what the host wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import safetensors.torch
from safetensors import SafetensorError, safe_open

from benchsuite.caching import read_hashed, write_hashed
from benchsuite.contracts.graph import Graph
from benchsuite.errors import MissingDataError
from benchsuite.tasks.training import Labels

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from benchsuite.data import NodeDataset

HIDDEN = -1
"""The class of a node whose class is nobody's business in a worker."""


@dataclass(frozen=True, eq=False)
class View:
    """What a worker knows of a data set."""

    graph: Graph
    labels: Labels
    """Classes of training and validation nodes."""
    test: Tensor
    """``[nodes]`` bool: which nodes to predict."""
    classes: int
    digest: str
    """Hash of the file: it names everything that training can depend on."""

    @cached_property
    def without_test(self) -> View:
        """The subgraph of all nodes that are not test nodes: what an inductive task trains and calibrates on."""
        keep = ~self.test
        labels = Labels(self.labels.y[keep], self.labels.train[keep], self.labels.val[keep])
        return View(_subgraph(self.graph, keep), labels, self.test[keep], self.classes, self.digest)


def _subgraph(graph: Graph, keep: Tensor) -> Graph:
    place = keep.cumsum(0) - 1
    source, target = graph.edge_index
    inside = keep[source] & keep[target]
    batch = None if graph.batch is None else graph.batch[keep]
    attr = None if graph.edge_attr is None else graph.edge_attr[inside]
    return Graph(graph.x[keep], place[graph.edge_index[:, inside]], batch, attr)


def write_view(dataset: NodeDataset, cache: Path) -> Path:
    """Write the view of ``dataset`` below ``cache`` and return its file.

    A file that is already there is kept if it holds the right bytes and replaced if not.

    Raises:
        StoreError: the cache cannot be written.
    """
    y = dataset.y.where(dataset.train | dataset.val, HIDDEN)
    tensors = {"x": dataset.graph.x, "edge_index": dataset.graph.edge_index, "y": y, **dataset.splits()}
    parts = {"batch": dataset.graph.batch, "edge_attr": dataset.graph.edge_attr}
    contiguous = {name: tensor.contiguous() for name, tensor in {**tensors, **parts}.items() if tensor is not None}
    payload = safetensors.torch.save(contiguous, metadata={"classes": str(dataset.num_classes)})
    return write_hashed(cache / "views", payload, ".safetensors")


@lru_cache(maxsize=2)
def read_view(path: Path, device: str = "cpu") -> View:
    """Return the view in ``path``; a warm worker reads it once.

    Args:
        path: what :func:`write_view` returned.
        device: where the tensors go.

    Raises:
        MissingDataError: the file is absent, or its bytes are not those that its name promises.
    """
    payload = read_hashed(path)
    tensors = {name: tensor.to(device) for name, tensor in safetensors.torch.load(payload).items()}
    graph = Graph(tensors["x"], tensors["edge_index"], tensors.get("batch"), tensors.get("edge_attr"))
    labels = Labels(tensors["y"], tensors["train"], tensors["val"])
    return View(graph, labels, tensors["test"], read_classes(path), path.stem)


def read_classes(path: Path) -> int:
    """Return the number of classes, from the header of a view's file alone.

    Raises:
        MissingDataError: it is no view.
    """
    try:
        with safe_open(path, framework="np") as file:
            return int(file.metadata()["classes"])
    except (OSError, SafetensorError, KeyError, TypeError) as error:
        raise MissingDataError(f"{path} is not a prepared view", _MEND) from error


def own_copy(graph: Graph) -> Graph:
    """Return a copy of ``graph`` that shares no memory with it: a method may write into what it is handed."""
    batch, attr = (None if part is None else part.clone() for part in (graph.batch, graph.edge_attr))
    return Graph(graph.x.clone(), graph.edge_index.clone(), batch, attr)


_MEND = "Start the run again: it is written anew"
