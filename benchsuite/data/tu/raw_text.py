"""TUDataset's own form: ``NAME_A.txt``, ``NAME_graph_indicator.txt``, ``NAME_graph_labels.txt`` and optional files.

``A`` has a line ``source, target`` for each directed edge, nodes counted from 1 through all graphs; the indicator has
the graph of each node, counted from 1 and ascending. Of the optional files ``node_labels`` alone is read, as PyTorch
Geometric's TUDataset does by default for nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchsuite.data.tu.numbers import Parsed, damaged, line_lengths, whole_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

#: The files that must be there.
PARTS = ("A", "graph_indicator", "graph_labels")
NODE_LABELS = "node_labels"


def parse(read: Callable[[str], bytes], where: Callable[[str], str], tagged: bool) -> Parsed:
    """Return the collection.

    Args:
        read: returns the content of a part.
        where: returns what to call a part in messages.
        tagged: whether there is a file of node labels.

    Raises:
        MissingDataError: a part is not of this form, or does not fit the others.
    """
    indicator, labels = (_table(read(part), where(part))[:, 0] for part in PARTS[1:])
    sizes = _sizes(indicator, len(labels), where)
    edges = _table(read("A"), where("A"))
    if len(edges) and edges.shape[1] != 2:
        raise damaged(where("A"), f"has {edges.shape[1]} numbers in a line in place of 2")
    outside = (edges < 1) | (edges > len(indicator))
    if outside.any():
        raise damaged(where("A"), f"names node {edges[outside][0]}, and the nodes are 1 to {len(indicator):,}")
    source, target = edges[:, 0] - 1, edges[:, -1] - 1
    across = np.flatnonzero(indicator[source] != indicator[target])
    if len(across):
        one, other = edges[across[0]]
        raise damaged(where("A"), f"joins nodes {one} and {other} of two graphs")
    tags = _table(read(NODE_LABELS), where(NODE_LABELS)) if tagged else None
    if tags is not None and len(tags) != len(indicator):
        raise damaged(where(NODE_LABELS), f"has {len(tags):,} lines for {len(indicator):,} nodes")
    return Parsed(sizes, source, target, labels, tags)


def _table(text: bytes, where: str) -> np.ndarray:
    """Return ``[lines, columns]`` int64."""
    plain = text.replace(b",", b" ")
    numbers, lengths = whole_numbers(plain, where), line_lengths(plain)
    if not len(lengths):
        return np.empty((0, 2), np.int64)
    other = np.flatnonzero(lengths != lengths[0])
    if len(other):
        raise damaged(where, f"has {lengths[other[0]]} numbers in line {other[0] + 1:,} and {lengths[0]} before")
    return numbers.reshape(-1, lengths[0])


def _sizes(indicator: np.ndarray, graphs: int, where: Callable[[str], str]) -> np.ndarray:
    if (np.diff(indicator) < 0).any():
        raise damaged(where("graph_indicator"), "is not ascending")
    if not len(indicator) or indicator[0] < 1 or indicator[-1] > graphs:
        raise damaged(where("graph_indicator"), f"names graphs outside 1 to {graphs:,}, those with a label")
    sizes = np.bincount(indicator - 1, minlength=graphs)
    if not sizes.all():
        raise damaged(where("graph_indicator"), f"gives graph {int((sizes == 0).argmax()) + 1:,} no node")
    return sizes
