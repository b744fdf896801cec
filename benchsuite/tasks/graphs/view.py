"""What a worker sees of many graphs: the graphs without any target, and of its fold the split and the shown targets.

The graphs are one file for all folds. What differs from fold to fold is small and comes with the cell: in
cross-validation every graph is a test graph once, so no file that all workers read may hold a target.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open

from benchsuite.caching import read_hashed, write_hashed
from benchsuite.contracts.graph import Graph
from benchsuite.errors import MissingDataError
from benchsuite.models.backbones.pooled import Shape

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from benchsuite.contracts.dataset import GraphDataset, Split, TargetType

HIDDEN = -1
"""The class of a graph whose class is nobody's business in a worker; of other targets NaN says so."""


@dataclass(frozen=True, eq=False)
class Targets:
    """Of one fold: what training may know."""

    y: Tensor
    """``[graphs]`` int64, or ``[graphs, targets]`` float32; hidden but for training and validation graphs."""
    train: Tensor
    """``[training graphs]`` int64."""
    val: Tensor
    """``[validation graphs]`` int64."""
    test: Tensor
    """``[test graphs]`` int64."""


@dataclass(frozen=True, eq=False)
class GraphsView:
    """What a worker knows of a data set of graphs."""

    graph: Graph
    shape: Shape
    target_type: TargetType
    targets: Targets
    digest: str
    """Names everything that training can depend on."""


def write_graphs(dataset: GraphDataset, cache: Path) -> Path:
    """Write the graphs of ``dataset``, without a target, below ``cache`` and return the file.

    Raises:
        StoreError: the cache cannot be written.
    """
    graph = dataset.graph
    tensors = {"x": graph.x, "edge_index": graph.edge_index, "batch": graph.batch, "edge_attr": graph.edge_attr}
    columns = graph.num_features
    shape = Shape(columns, dataset.num_classes, dataset.node_categories, dataset.edge_categories)
    header = json.dumps({"shape": shape._asdict(), "target_type": dataset.target_type}, sort_keys=True)
    contiguous = {name: tensor.contiguous() for name, tensor in tensors.items() if tensor is not None}
    return write_hashed(
        cache / "views", safetensors.torch.save(contiguous, metadata={"benchsuite": header}), ".safetensors"
    )


def shown(dataset: GraphDataset, fold: Split) -> bytes:
    """Return what a worker is told of a fold: the split, and the targets of training and validation graphs."""
    known = fold.train | fold.val
    if dataset.target_type == "classes":
        y = dataset.y.where(known, HIDDEN)
    else:
        y = dataset.y.where(known.unsqueeze(1), torch.nan)
    return safetensors.torch.save(
        {"y": y.contiguous(), **{name: mask.contiguous() for name, mask in fold._asdict().items()}}
    )


def read_graphs_view(path: Path, fold: bytes, device: str = "cpu") -> GraphsView:
    """Return the view of a cell.

    Args:
        path: what :func:`write_graphs` returned.
        fold: what :func:`shown` returned.
        device: where the tensors go.

    Raises:
        MissingDataError: the file is absent, or its bytes are not those that its name promises.
    """
    graph = _read_graphs(path, device)
    shape, target_type = read_header(path)
    told = {name: tensor.to(device) for name, tensor in safetensors.torch.load(fold).items()}
    places = {name: told[name].nonzero().flatten() for name in ("train", "val", "test")}
    digest = f"{path.stem}-{hashlib.sha256(fold).hexdigest()[:32]}"
    return GraphsView(graph, shape, target_type, Targets(told["y"], **places), digest)


@lru_cache(maxsize=1)
def _read_graphs(path: Path, device: str) -> Graph:
    tensors = {name: tensor.to(device) for name, tensor in safetensors.torch.load(read_hashed(path)).items()}
    return Graph(tensors["x"], tensors["edge_index"], tensors["batch"], tensors.get("edge_attr"))


def read_header(path: Path) -> tuple[Shape, TargetType]:
    """Return what a network must fit, and what the targets are, from the file's header alone.

    Raises:
        MissingDataError: it is no such file.
    """
    try:
        with safe_open(path, framework="np") as file:
            header = json.loads(file.metadata()["benchsuite"])
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise MissingDataError(f"{path} is no prepared view of graphs", "Start the run again") from error
    shape = header["shape"]
    categories = (tuple(shape["node_categories"]), tuple(shape["edge_categories"]))
    return Shape(shape["features"], shape["outputs"], *categories), header["target_type"]
