"""What is odd about a valid data set: no error, and good to know before a result is believed.

Two items that look the same, one of which trains and one tests, are the commonest leak of labels. Graphs are told apart
by three rounds of Weisfeiler and Lehman's colours (Shervashidze et al., JMLR 12, 2011), as 64-bit hashes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from benchsuite.data.validate import folds, item

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from benchsuite.contracts.dataset import GraphDataset, NodeDataset
    from benchsuite.contracts.graph import Graph

#: From how many times the size of the smallest class the largest is remarkable.
IMBALANCE = 100
_ROUNDS = 3
_BLOCK = 2**22
"""Numbers that are hashed at once."""


def remarks(dataset: NodeDataset | GraphDataset) -> list[str]:
    """Return one line for each thing that is odd about a valid data set."""
    return [line for check in (_edgeless, _imbalance, _lacking, _twins) for line in check(dataset)]


def _edgeless(dataset: NodeDataset | GraphDataset) -> Iterator[str]:
    graph = dataset.graph
    has = torch.zeros(graph.num_nodes, dtype=torch.bool)
    has[graph.edge_index.flatten()] = True
    alone = (~has).nonzero().flatten()
    if len(alone):
        yield f"{_many(len(alone), 'node')} without an edge, first {int(alone[0])}"
    if graph.batch is None or item(dataset) == "node":
        return
    linked = torch.zeros(graph.num_graphs, dtype=torch.bool)
    linked[graph.batch[has]] = True
    bare = (~linked).nonzero().flatten()
    if len(bare):
        yield f"{_many(len(bare), 'graph')} without an edge, first {int(bare[0])}"


def _imbalance(dataset: NodeDataset | GraphDataset) -> Iterator[str]:
    y, each = dataset.y, item(dataset)
    if dataset.target_type == "classes":
        counts = torch.bincount(y, minlength=dataset.num_classes)
        most, least = int(counts.argmax()), int(counts.argmin())
        if counts[most] >= IMBALANCE * counts[least]:
            yield f"class {most} has {_many(int(counts[most]), each)}, and class {least} {int(counts[least]):,}"
    elif dataset.target_type == "binary":
        ones, known = (y == 1).sum(0), (~torch.isnan(y)).sum(0)
        fewest = torch.minimum(ones, known - ones)
        rare = fewest * (IMBALANCE + 1) <= known
        if rare.any():
            target = int((fewest / known.clamp(min=1)).argmin())
            said = f"target {target} is 1 for {int(ones[target]):,} of {_many(int(known[target]), each)}"
            yield f"{said}; {_many(int(rare.sum()), 'target')} with hardly one answer in {IMBALANCE} of a kind"


def _lacking(dataset: NodeDataset | GraphDataset) -> Iterator[str]:
    y, each = dataset.y, item(dataset)
    if dataset.target_type == "classes":
        return
    nothing = int(torch.isnan(y).all(1).sum())
    if nothing:
        yield f"{_many(nothing, each)} without any label"
    several = folds(dataset)
    for number, fold in enumerate(several):
        where = f" of fold {number}" if len(several) > 1 else ""
        for name in ("val", "test"):
            part = y[getattr(fold, name)]
            lacks = torch.isnan(part).all(0)
            if dataset.target_type == "binary":
                lacks |= ~(part == 0).any(0) | ~(part == 1).any(0)
            targets = lacks.nonzero().flatten().tolist()
            if targets:
                what = "labels of both kinds" if dataset.target_type == "binary" else "a label"
                more = f" (and {len(targets) - 1} more)" if len(targets) > 1 else ""
                yield f"target {targets[0]}{more} lacks {what} in {name}{where}: it cannot be scored there"


def _twins(dataset: NodeDataset | GraphDataset) -> Iterator[str]:
    graph, each = dataset.graph, item(dataset)
    looks = row_hashes(graph.x) if each == "node" else graph_hashes(graph)
    worst, at = 0, 0
    several = folds(dataset)
    for number, fold in enumerate(several):
        count = int(np.isin(looks[fold.test.numpy()], looks[fold.train.numpy()]).sum())
        if count > worst:
            worst, at = count, number
    if worst:
        tested = int(several[at].test.sum())
        what = "the features of a training node" if each == "node" else "the look of a training graph"
        where = f" in fold {at}, the most of {len(several)}" if len(several) > 1 else ""
        yield f"{worst:,} of {_many(tested, f'test {each}')} with {what}{where}"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def row_hashes(table: Tensor) -> np.ndarray:
    """Return ``[rows]`` uint64: equal rows have equal hashes, others hardly ever.

    Multilinear hashing (Lemire and Kaser, Computer Journal 57, 2014) with fixed random factors.

    Args:
        table: ``[rows, columns]`` float32 or int64.
    """
    rows, columns = table.shape
    words = table.contiguous().numpy().view(np.uint32 if table.dtype == torch.float32 else np.uint64)
    # RandomState: its stream is frozen (NEP 19).
    factors = np.random.RandomState(0).randint(0, 2**63, columns, np.int64).astype(np.uint64) * np.uint64(2) + _ODD
    found = np.empty(rows, np.uint64)
    step = max(1, _BLOCK // max(1, columns))
    for start in range(0, rows, step):
        block = words[start : start + step].astype(np.uint64)
        # Round floats end in many zero bits, which a product would keep.
        block ^= block >> np.uint64(16)
        block *= factors
        found[start : start + step] = block.sum(1, dtype=np.uint64)
    return _mix(found)


def graph_hashes(graph: Graph) -> np.ndarray:
    """Return ``[graphs]`` uint64: the same for graphs that differ in the order of their nodes alone.

    Args:
        graph: several graphs, their edges by target.
    """
    assert graph.batch is not None
    nodes, source = graph.num_nodes, graph.edge_index[0].numpy()
    into = _bounds(graph.edge_index[1], nodes)
    along = np.uint64(0) if graph.edge_attr is None else row_hashes(graph.edge_attr)
    colours = row_hashes(graph.x)
    for _ in range(_ROUNDS):
        colours = _mix(colours * _ODD + _sums(_mix(colours[source] + along), into))
    return _sums(_mix(colours), _bounds(graph.batch, graph.num_graphs))


_ODD = np.uint64(0x9E3779B97F4A7C15)


def _mix(values: np.ndarray) -> np.ndarray:
    """Return other numbers, each bit of which depends on all bits before (splitmix64's finalizer)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = values ^ (values >> np.uint64(31))
    return mixed


def _bounds(ascending: Tensor, groups: int) -> np.ndarray:
    """Return ``[groups + 1]``: where each group begins in a list of groups in their order."""
    counts = torch.bincount(ascending, minlength=groups).numpy()
    return np.concatenate([[0], np.cumsum(counts)])


def _sums(values: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return the sum of each stretch, modulo 2 ** 64: so differences of running sums are exact."""
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    sums: np.ndarray = running[bounds[1:]] - running[bounds[:-1]]
    return sums
