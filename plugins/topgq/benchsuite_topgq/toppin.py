"""TopPIN, the pair of numbers per node that TopGQ groups by (Kwon et al., DAC 2026, arXiv 2608.30394)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from benchsuite.plugin import Graph

#: What nodes are grouped by: the pair; its first number; nothing; or the pair of another node, drawn at random.
Grouping = Literal["toppin", "degree", "none", "random"]

#: Width of a cell of the second coordinate. Both numbers of a pair are rationals, and float noise of about 1e-16 must
#: not part equal ones. Cell borders at multiples of an irrational number meet no rational but by a chance of about
#: 1e-16 / CELL a node; borders at multiples of 1e-6 would meet 1/128 exactly, and noise would throw it either way.
CELL = 1e-8 * (math.sqrt(5) - 1) / 2
#: Bits that the number of a cell takes in a key; the second coordinate is at most 1.
CELL_BITS = 28


class TopPIN(NamedTuple):
    """``(d(v), (1/d(v)) sum_{u in N(v)} 1/d(u))`` for every node, N(v) the closed in-neighbourhood."""

    degree: Tensor
    """``[nodes]`` int64: d(v), the number of sources of edges into v, v itself counted once."""
    mean: Tensor
    """``[nodes]`` float64, in (0, 1]: the mean of 1/d over the closed in-neighbourhood."""


def toppin(graph: Graph) -> TopPIN:
    """Return the TopPIN of every node, from one pass over the edges.

    Args:
        graph: directed or not; self loops in it are ignored, since every node is its own neighbour once.
    """
    source, target = graph.edge_index
    proper = source != target
    if not bool(proper.all()):
        source, target = source[proper], target[proper]
    degree = torch.bincount(target, minlength=graph.num_nodes) + 1
    inverse = degree.double().reciprocal()
    total = inverse.clone().index_add_(0, target, inverse[source])
    return TopPIN(degree, total.mul_(inverse))


def keys(pair: TopPIN) -> Tensor:
    """Return one int64 per node, equal where both numbers are (up to float noise): the group key.

    The key is ``degree << CELL_BITS | floor(mean / CELL)``.
    """
    return (pair.degree << CELL_BITS) | (pair.mean / CELL).long()


def pairs(key: Tensor) -> TopPIN:
    """Undo :func:`keys`: the second coordinate comes back as the middle of its cell, at most CELL / 2 away."""
    cell = key & ((1 << CELL_BITS) - 1)
    return TopPIN(key >> CELL_BITS, (cell.double() + 0.5) * CELL)


def group_keys(graph: Graph, grouping: Grouping) -> Tensor:
    """Return the key that each node is grouped by, ``[nodes]`` int64.

    Args:
        graph: any graph.
        grouping: ``random`` takes the same keys as ``toppin``; the shuffle comes after.
    """
    if grouping == "none":
        return graph.edge_index.new_zeros(graph.num_nodes)
    pair = toppin(graph)
    if grouping == "degree":
        return keys(TopPIN(pair.degree, torch.zeros_like(pair.mean)))
    return keys(pair)
