"""The invariants of a data set, and where one of them is broken.

A data set that leaks a test label into training, or holds one NaN, still trains and still gives a number. So every
data set is checked each time it is read. What is odd but no error is in :mod:`benchsuite.data.remarks`.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, TypeVar, get_args

import numpy as np
import torch
from torch import Tensor

from benchsuite.contracts.dataset import NodeDataset, Split, TargetType
from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchsuite.contracts.dataset import GraphDataset

    Wanted = TypeVar("Wanted", bound="NodeDataset | GraphDataset")


def validate(dataset: Wanted) -> Wanted:
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


def problems(dataset: NodeDataset | GraphDataset) -> list[str]:
    """Return one line for every broken invariant; none for a valid data set.

    Values are looked at only where all types and shapes are right.
    """
    found = list(_shape_problems(dataset))
    if not found:
        for check in (_feature_problems, _batch_problems, _edge_problems, _target_problems, _split_problems):
            found += check(dataset)
    return found


def item(dataset: NodeDataset | GraphDataset) -> str:
    """Return what has a target: ``node`` or ``graph``."""
    return "node" if isinstance(dataset, NodeDataset) else "graph"


def folds(dataset: NodeDataset | GraphDataset) -> tuple[Split, ...]:
    """Return the splits: one of nodes, one or more of graphs."""
    if isinstance(dataset, NodeDataset):
        return (Split(dataset.train, dataset.val, dataset.test),)
    return dataset.folds


def categories(dataset: NodeDataset | GraphDataset) -> dict[str, tuple[int, ...]]:
    """Return how many categories each column of ``x`` and of ``edge_attr`` has; none where it holds real numbers."""
    if isinstance(dataset, NodeDataset):
        return {"x": (), "edge_attr": ()}
    return {"x": dataset.node_categories, "edge_attr": dataset.edge_categories}


def _shape_problems(dataset: NodeDataset | GraphDataset) -> Iterator[str]:
    if dataset.target_type not in get_args(TargetType) or dataset.num_classes < 1:
        yield f"the targets are {dataset.num_classes} {dataset.target_type!r}, of no known type or none"
        return
    wanted = _wanted(dataset)
    for name, tensor in dataset.tensors():
        dtype, shape = wanted[name.partition(".")[0]]
        if tensor.dtype != dtype:
            yield f"{name} is {_short(tensor.dtype)}, not {_short(dtype)}"
        fits = len(shape) == tensor.dim() and all(w in (None, n) for w, n in zip(shape, tensor.shape, strict=True))
        if not fits:
            said = ", ".join("any" if n is None else str(n) for n in shape)
            yield f"{name} has shape {list(tensor.shape)}, not [{said}]"
    if not _length(dataset.graph.x):
        yield "there are no nodes"
    elif not _length(dataset.y):
        yield f"there are no {item(dataset)}s"
    if not folds(dataset):
        yield "there are no folds"
    if item(dataset) == "graph" and dataset.graph.batch is None:
        yield "batch is missing: it says which graph each node belongs to"
    if categories(dataset)["edge_attr"] and dataset.graph.edge_attr is None:
        yield f"edge_attr is missing, but edge_categories is {list(categories(dataset)['edge_attr'])}"


def _wanted(dataset: NodeDataset | GraphDataset) -> dict[str, tuple[torch.dtype, tuple[int | None, ...]]]:
    """Return type and shape that each tensor must have; of a fold's masks by the name before the dot."""
    graph = dataset.graph
    nodes = _length(graph.x)
    items = nodes if item(dataset) == "node" else _length(dataset.y)
    edges = graph.edge_index.shape[-1] if graph.edge_index.dim() else 0
    codes = {
        name: (torch.int64, len(each)) if each else (torch.float32, None) for name, each in categories(dataset).items()
    }
    classes = dataset.target_type == "classes"
    return {
        "x": (codes["x"][0], (nodes, codes["x"][1])),
        "edge_index": (torch.int64, (2, None)),
        "batch": (torch.int64, (nodes,)),
        "edge_attr": (codes["edge_attr"][0], (edges, codes["edge_attr"][1])),
        "y": (torch.int64, (items,)) if classes else (torch.float32, (items, dataset.num_classes)),
        **dict.fromkeys(Split._fields, (torch.bool, (items,))),
    }


def _length(tensor: Tensor) -> int:
    return tensor.shape[0] if tensor.dim() else 0


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _feature_problems(dataset: NodeDataset | GraphDataset) -> Iterator[str]:
    for name, counts in categories(dataset).items():
        table = dataset.graph.x if name == "x" else dataset.graph.edge_attr
        if table is None:
            continue
        if not counts:
            yield from _not_finite(name, table)
        for column, count in enumerate(counts):
            codes = table[:, column]
            bad = ((codes < 0) | (codes >= count)).nonzero().flatten()
            if len(bad):
                place = f"{name}[{int(bad[0])}, {column}] is {int(codes[bad[0]])}"
                yield f"{place}, but the categories are 0 to {count - 1} ({len(bad):,} such codes)"


def _not_finite(name: str, table: Tensor) -> Iterator[str]:
    # A sum is finite where all of its parts are, unless it overflows: one pass, and no mask as large as the table.
    if torch.isfinite(table.sum()):
        return
    bad = (~torch.isfinite(table)).nonzero()
    if len(bad):
        row, column = bad[0].tolist()
        yield f"{name}[{row}, {column}] is {table[row, column].item()} ({len(bad):,} such values)"


def _batch_problems(dataset: NodeDataset | GraphDataset) -> Iterator[str]:
    batch = dataset.graph.batch
    if batch is None:
        return
    steps = torch.diff(batch, prepend=batch.new_full((1,), -1))
    # The first step, from -1, leads to graph 0.
    wrong = (steps < 0) | (steps > 1)
    wrong[0] = batch[0] != 0
    if wrong.any():
        node = int(wrong.nonzero()[0])
        before = f"after {int(batch[node - 1])}" if node else "and not 0"
        yield f"batch[{node}] is {int(batch[node])} {before}: graphs go from 0 upwards, without gaps"
    elif item(dataset) == "graph" and int(batch[-1]) + 1 != len(dataset.y):
        yield f"batch has {int(batch[-1]) + 1:,} graphs, but y has {len(dataset.y):,}"


def _edge_problems(dataset: NodeDataset | GraphDataset) -> Iterator[str]:
    edges, nodes, batch = dataset.graph.edge_index, dataset.graph.num_nodes, dataset.graph.batch
    if not edges.shape[1]:
        return
    low, high = edges.aminmax()
    if low < 0 or high >= nodes:
        outside = ((edges < 0) | (edges >= nodes)).any(0)
        yield f"{_edge(edges, outside)}, but the nodes are 0 to {nodes - 1}"
        return
    source, target = edges
    if (source == target).any():
        yield f"{_edge(edges, source == target)}, a self loop"
    if batch is not None and (leaves := batch[source] != batch[target]).any():
        yield f"{_edge(edges, leaves)}, from one graph to another"
    keys = target * nodes + source
    ordered = bool((keys[1:] > keys[:-1]).all())
    if not ordered:
        yield from _order_problems(edges, keys)
    if dataset.undirected:
        yield from _one_way_problems(edges, nodes, keys, ordered)


def _order_problems(edges: Tensor, keys: Tensor) -> Iterator[str]:
    falls = torch.cat([keys.new_zeros(1, dtype=torch.bool), keys[1:] < keys[:-1]])
    if falls.any():
        yield f"{_edge(edges, falls)}, out of order: edges go by target, then source"
    sorted_keys, first = torch.sort(keys, stable=True)
    again = first[1:][sorted_keys[1:] == sorted_keys[:-1]]
    if len(again):
        yield f"{_edge(edges, again)}, a second time"


def _one_way_problems(edges: Tensor, nodes: int, keys: Tensor, ordered: bool) -> Iterator[str]:
    back = edges[0] * nodes + edges[1]
    # NumPy sorts integers with vector instructions: ten times as fast as torch.sort, which brings the order along.
    if ordered and np.array_equal(np.sort(back.numpy()), keys.numpy()):
        return
    one_way = ~torch.isin(back, keys)
    if one_way.any():
        yield f"{_edge(edges, one_way)}, without its reverse, in a graph said to be undirected"


def _edge(edges: Tensor, which: Tensor) -> str:
    """Name the first of the edges that ``which`` (a mask, or positions) picks."""
    places = which.nonzero().flatten() if which.dtype == torch.bool else which
    place = int(places.min())
    source, target = edges[:, place].tolist()
    return f"edge_index[:, {place}] is {source} to {target}"


def _target_problems(dataset: NodeDataset | GraphDataset) -> Iterator[str]:
    if dataset.target_type == "classes":
        yield from _class_problems(dataset)
        return
    y = dataset.y
    binary = dataset.target_type == "binary"
    bad = (~torch.isnan(y) & ((y != 0) & (y != 1) if binary else torch.isinf(y))).nonzero()
    if len(bad):
        row, column = bad[0].tolist()
        said = "not 0, 1 or missing" if binary else "no number"
        yield f"y[{row}, {column}] is {y[row, column].item():g}, {said} ({len(bad):,} such targets)"
    known = ~torch.isnan(y)
    lacks = torch.stack([~known[fold.train].any(0) for fold in folds(dataset)], 1)
    for target in lacks.any(1).nonzero().flatten().tolist():
        yield f"target {target} has no label in training{_in_folds(lacks[target])}"


def _class_problems(dataset: NodeDataset | GraphDataset) -> Iterator[str]:
    y, classes = dataset.y, dataset.num_classes
    outside = ((y < 0) | (y >= classes)).nonzero().flatten()
    if len(outside):
        place = int(outside[0])
        yield f"y[{place}] is {int(y[place])}, but the classes are 0 to {classes - 1} ({len(outside):,} such labels)"
        return
    lacks = torch.stack([torch.bincount(y[fold.train], minlength=classes) == 0 for fold in folds(dataset)], 1)
    for empty in lacks.any(1).nonzero().flatten().tolist():
        yield f"class {empty} has no training {item(dataset)}{_in_folds(lacks[empty])}"


def _in_folds(which: Tensor) -> str:
    """Name the folds that a mask picks; nothing where there is one fold."""
    numbers = which.nonzero().flatten().tolist()
    if len(which) == 1:
        return ""
    return f" in fold{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _split_problems(dataset: NodeDataset | GraphDataset) -> Iterator[str]:
    each, several = item(dataset), folds(dataset)
    for number, fold in enumerate(several):
        where = f" in fold {number}" if len(several) > 1 else ""
        for name, chosen in fold._asdict().items():
            if not chosen.any():
                yield f"split {name} is empty{where}"
        for (one, here), (other, there) in combinations(fold._asdict().items(), 2):
            both = (here & there).nonzero().flatten()
            if len(both):
                leak = f"{each} {int(both[0])} is in {one} and in {other}{where}"
                yield f"{leak}: labels leak ({len(both):,} such {each}s)"
    times = torch.stack([fold.test for fold in several]).sum(0)
    often = (times > 1).nonzero().flatten()
    if len(often):
        first = int(often[0])
        yield f"{each} {first} is tested in {int(times[first])} folds, and not in one ({len(often):,} such {each}s)"
