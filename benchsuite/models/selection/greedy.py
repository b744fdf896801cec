"""Greedy selection by degree, and the greedy independent set: plain graph algorithms, without a model."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchsuite.contracts.norm_placement import Goal


def neighbours(edge_index: np.ndarray, nodes: int) -> list[list[int]]:
    """Return for each node the nodes that it shares an edge with.

    Args:
        edge_index: ``[2, edges]`` int64, each edge in both directions.
        nodes: number of nodes.
    """
    found: list[list[int]] = [[] for _ in range(nodes)]
    for source, target in edge_index.T.tolist():
        found[target].append(source)
    return found


def greedy_degree(edge_index: np.ndarray, nodes: int, goal: Goal) -> np.ndarray:
    """Return all nodes in the order in which the goal's greedy degree rule picks them.

    For ``influence`` and ``dismantling``: again and again the node with most neighbours that were not picked yet
    (SingleDiscount of Chen, Wang and Yang, KDD 2009; high degree adaptive of Holme et al., Phys. Rev. E 65, 2002). For
    ``independence``: again and again the node with fewest neighbours that are left, whose neighbours then leave;
    after these the nodes that left, in the order in which they did. Ties go to the lower index.

    Args:
        edge_index: ``[2, edges]`` int64, each edge in both directions.
        nodes: number of nodes.
        goal: what the nodes are for.

    Returns:
        ``[nodes]`` int64.
    """
    adjacent = neighbours(edge_index, nodes)
    order = _fewest_first(adjacent) if goal == "independence" else _most_first(adjacent)
    return np.asarray(order, dtype=np.int64)


def _most_first(adjacent: Sequence[Sequence[int]]) -> list[int]:
    degree = [len(others) for others in adjacent]
    heap = [(-d, node) for node, d in enumerate(degree)]
    heapq.heapify(heap)
    picked = [False] * len(adjacent)
    order = []
    while heap:
        key, node = heapq.heappop(heap)
        if picked[node] or -key != degree[node]:  # an entry from before its degree fell
            continue
        picked[node] = True
        order.append(node)
        for other in adjacent[node]:
            if not picked[other]:
                degree[other] -= 1
                heapq.heappush(heap, (-degree[other], other))
    return order


def _fewest_first(adjacent: Sequence[Sequence[int]]) -> list[int]:
    degree = [len(others) for others in adjacent]
    heap = [(d, node) for node, d in enumerate(degree)]
    heapq.heapify(heap)
    gone = [False] * len(adjacent)
    order, left = [], []
    while heap:
        key, node = heapq.heappop(heap)
        if gone[node] or key != degree[node]:
            continue
        gone[node] = True
        order.append(node)
        leaving = [other for other in adjacent[node] if not gone[other]]
        for other in leaving:
            gone[other] = True
        left += leaving
        for other in {third for one in leaving for third in adjacent[one] if not gone[third]}:
            degree[other] = sum(not gone[third] for third in adjacent[other])
            heapq.heappush(heap, (degree[other], other))
    return order + left


def independent_set(edge_index: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the independent set that taking nodes in ``order``, each unless a neighbour was taken, leads to.

    The set is maximal: no further node fits.

    Args:
        edge_index: ``[2, edges]`` int64, each edge in both directions.
        order: ``[nodes]`` int64, each node once.

    Returns:
        The nodes taken, in that order.
    """
    adjacent = neighbours(edge_index, len(order))
    blocked = [False] * len(order)
    taken = []
    for node in order.tolist():
        if not blocked[node]:
            taken.append(node)
            for other in adjacent[node]:
                blocked[other] = True
    return np.asarray(taken, dtype=np.int64)
