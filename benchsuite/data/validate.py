"""The invariants of a data set, and where one of them is broken.

A data set that leaks a test label into training, or holds one NaN, still trains and still gives a number. So every
data set is checked each time it is read.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchsuite.contracts.dataset import NodeDataset


def validate(dataset: NodeDataset) -> NodeDataset:
    """Return ``dataset`` unchanged.

    Raises:
        MissingDataError: it breaks an invariant; the line names the first place and how many other problems there are.
    """
    found = problems(dataset)
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        mend = f"See them all: benchsuite data check {dataset.name}"
        raise MissingDataError(f"data set {dataset.name!r} is not valid: {found[0]}{more}", mend)
    return dataset


def problems(dataset: NodeDataset) -> list[str]:
    """Return one line for every broken invariant; none for a valid data set.

    Values are looked at only where all types and shapes are right.
    """
    found = list(_shape_problems(dataset))
    if not found:
        for check in (_feature_problems, _edge_problems, _label_problems, _split_problems):
            found += check(dataset)
    return found


def _shape_problems(dataset: NodeDataset) -> Iterator[str]:
    nodes = dataset.graph.x.shape[0] if dataset.graph.x.dim() else 0
    wanted: dict[str, tuple[torch.dtype, tuple[int | None, ...]]] = {
        "x": (torch.float32, (nodes, None)),
        "edge_index": (torch.int64, (2, None)),
        "batch": (torch.int64, (nodes,)),
        "y": (torch.int64, (nodes,)),
    }
    for name, tensor in dataset.tensors():
        dtype, shape = wanted.get(name, (torch.bool, (nodes,)))
        if tensor.dtype != dtype:
            yield f"{name} is {_short(tensor.dtype)}, not {_short(dtype)}"
        fits = len(shape) == tensor.dim() and all(w in (None, n) for w, n in zip(shape, tensor.shape, strict=True))
        if not fits:
            said = ", ".join("any" if n is None else str(n) for n in shape)
            yield f"{name} has shape {list(tensor.shape)}, not [{said}]"
    if not nodes:
        yield "there are no nodes"


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _feature_problems(dataset: NodeDataset) -> Iterator[str]:
    bad = (~torch.isfinite(dataset.graph.x)).nonzero()
    if len(bad):
        node, feature = bad[0].tolist()
        value = dataset.graph.x[node, feature].item()
        yield f"x[{node}, {feature}] is {value} ({len(bad):,} such values)"


def _edge_problems(dataset: NodeDataset) -> Iterator[str]:
    edges, nodes = dataset.graph.edge_index, dataset.graph.num_nodes
    outside = ((edges < 0) | (edges >= nodes)).any(0)
    if outside.any():
        yield f"{_edge(edges, outside)}, but the nodes are 0 to {nodes - 1}"
        return
    source, target = edges
    if (source == target).any():
        yield f"{_edge(edges, source == target)}, a self loop"
    keys = target * nodes + source
    falls = torch.cat([keys.new_zeros(1, dtype=torch.bool), keys[1:] < keys[:-1]])
    if falls.any():
        yield f"{_edge(edges, falls)}, out of order: edges go by target, then source"
    ordered, first = torch.sort(keys, stable=True)
    again = first[1:][ordered[1:] == ordered[:-1]]
    if len(again):
        yield f"{_edge(edges, again)}, a second time"
    one_way = ~torch.isin(source * nodes + target, keys)
    if dataset.undirected and one_way.any():
        yield f"{_edge(edges, one_way)}, without its reverse, in a graph said to be undirected"


def _edge(edges: Tensor, which: Tensor) -> str:
    """Name the first of the edges that ``which`` (a mask, or positions) picks."""
    places = which.nonzero().flatten() if which.dtype == torch.bool else which
    place = int(places.min())
    source, target = edges[:, place].tolist()
    return f"edge_index[:, {place}] is {source} to {target}"


def _label_problems(dataset: NodeDataset) -> Iterator[str]:
    y, classes = dataset.y, dataset.num_classes
    outside = ((y < 0) | (y >= classes)).nonzero().flatten()
    if len(outside):
        node = int(outside[0])
        yield f"y[{node}] is {int(y[node])}, but the classes are 0 to {classes - 1} ({len(outside):,} such labels)"
        return
    counts = torch.bincount(y[dataset.train], minlength=classes)
    for empty in (counts == 0).nonzero().flatten().tolist():
        yield f"class {empty} has no training node"


def _split_problems(dataset: NodeDataset) -> Iterator[str]:
    splits = dataset.splits()
    for name, chosen in splits.items():
        if not chosen.any():
            yield f"split {name} is empty"
    for (one, here), (other, there) in combinations(splits.items(), 2):
        both = (here & there).nonzero().flatten()
        if len(both):
            yield f"node {int(both[0])} is in {one} and in {other}: labels leak ({len(both):,} such nodes)"
