"""The label-free view of a data set: the file through which a worker sees it.

The view holds the graph, the split, and the classes of training and validation nodes. All other classes are -1. Its
file is named after the hash of its bytes, so a worker can tell that it reads what the host wrote.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open

from benchsuite.caching import read_hashed, write_hashed
from benchsuite.contracts.graph import Graph
from benchsuite.errors import MissingDataError
from benchsuite.tasks.training import Labels

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from benchsuite.contracts.dataset import TargetType
    from benchsuite.data import NodeDataset

HIDDEN = -1
"""The class of a node whose class is nobody's business in a worker; of other targets NaN says so."""


@dataclass(frozen=True, eq=False)
class View:
    """What a worker knows of a data set."""

    graph: Graph
    labels: Labels
    """Classes of training and validation nodes."""
    test: Tensor
    """``[nodes]`` bool: which nodes to predict."""
    classes: int
    """How many outputs a model needs: classes, or targets."""
    digest: str
    """Hash of the file: it names everything that training can depend on."""
    target_type: TargetType = "classes"

    @cached_property
    def without_test(self) -> View:
        """The subgraph of all nodes that are not test nodes: what an inductive task trains and calibrates on."""
        keep = ~self.test
        labels = Labels(self.labels.y[keep], self.labels.train[keep], self.labels.val[keep])
        return replace(self, graph=_subgraph(self.graph, keep), labels=labels, test=self.test[keep])


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
    known = dataset.train | dataset.val
    if dataset.target_type == "classes":
        y = dataset.y.where(known, HIDDEN)
    else:
        y = dataset.y.where(known.unsqueeze(1), torch.nan)
    tensors = {"x": dataset.graph.x, "edge_index": dataset.graph.edge_index, "y": y, **dataset.splits()}
    parts = {"batch": dataset.graph.batch, "edge_attr": dataset.graph.edge_attr}
    contiguous = {name: tensor.contiguous() for name, tensor in {**tensors, **parts}.items() if tensor is not None}
    metadata = {"classes": str(dataset.num_classes)}
    if dataset.target_type != "classes":
        metadata = {"target_type": f"{dataset.target_type} {dataset.num_classes}"}
    payload = safetensors.torch.save(contiguous, metadata=metadata)
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
    target_type, classes = read_outputs(path)
    return View(graph, labels, tensors["test"], classes, path.stem, target_type)


def read_outputs(path: Path) -> tuple[TargetType, int]:
    """Return what targets are and how many outputs a model needs, from the header of a view's file alone.

    Raises:
        MissingDataError: it is no view.
    """
    try:
        with safe_open(path, framework="np") as file:
            header = file.metadata()
        if "classes" in header:
            return "classes", int(header["classes"])
        target_type, number = header["target_type"].split()
        return target_type, int(number)
    except (OSError, SafetensorError, KeyError, TypeError) as error:
        raise MissingDataError(f"{path} is not a prepared view", _MEND) from error


def own_copy(graph: Graph) -> Graph:
    """Return a copy of ``graph`` that shares no memory with it: a method may write into what it is handed."""
    batch, attr = (None if part is None else part.clone() for part in (graph.batch, graph.edge_attr))
    return Graph(graph.x.clone(), graph.edge_index.clone(), batch, attr)


_MEND = "Start the run again: it is written anew"
