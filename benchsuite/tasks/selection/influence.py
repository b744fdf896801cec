"""Influence maximisation under the independent cascade: what a set of seeds is worth, and what a model learns.

On an undirected graph whose edges all pass with one probability, a cascade reaches from its seeds exactly the
components that they touch in a graph of which each edge was kept with that probability: an edge is tried at most once
to any effect (Kempe, Kleinberg and Tardos, KDD 2003). So worlds are drawn once, as component labels, and
every set of seeds is valued in the same worlds.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchsuite.tasks.selection.graphs import Plain


@dataclass(frozen=True)
class Worlds:
    """Drawn cascades on one graph."""

    labels: np.ndarray
    """``[worlds, nodes]``: the component of each node, numbered across all worlds."""
    sizes: np.ndarray
    """``[components]``: nodes in each."""

    @property
    def count(self) -> int:
        """Number of worlds."""
        return int(self.labels.shape[0])


def draw_worlds(graph: Plain, probability: float, count: int, draw: np.random.RandomState) -> Worlds:
    """Draw ``count`` worlds of ``graph``: in each, every edge is kept with ``probability``."""
    source, target = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]]
    world, edge = np.nonzero(draw.random_sample((count, len(source))) < probability)
    # All worlds side by side as one graph: one call finds all their components.
    ends = world * graph.nodes + source[edge], world * graph.nodes + target[edge]
    kept = coo_array((np.ones(len(edge), dtype=np.int8), ends), shape=(count * graph.nodes,) * 2)
    _, labels = connected_components(kept, directed=False)
    return Worlds(labels.reshape(count, graph.nodes), np.bincount(labels))


def spread(worlds: Worlds, seeds: Sequence[int]) -> float:
    """Return the mean number of nodes that a cascade from ``seeds`` reaches, seeds included."""
    uncovered = worlds.sizes.copy()
    reached = 0
    for node in seeds:
        own = worlds.labels[:, node]
        reached += int(uncovered[own].sum())
        uncovered[own] = 0
    return reached / worlds.count


def marginal_gains(worlds: Worlds) -> np.ndarray:
    """Return ``[nodes]``: by how much each node raised the spread when the greedy algorithm picked it.

    Greedy picks the node that raises the spread most, until all are picked; gains never rise, so the nodes with the
    largest values are the greedy seeds for every budget. Gains that were computed earlier bound those of today, which
    spares most of the work (CELF: Leskovec et al., KDD 2007). Ties go to the lower index.
    """
    uncovered = worlds.sizes.copy()
    nodes = worlds.labels.shape[1]
    heap = [(-float(gain), node) for node, gain in enumerate(uncovered[worlds.labels].sum(0))]
    heapq.heapify(heap)
    gains = np.zeros(nodes)
    while heap:
        _, node = heapq.heappop(heap)
        own = worlds.labels[:, node]
        fresh = (-float(uncovered[own].sum()), node)
        if heap and fresh > heap[0]:
            heapq.heappush(heap, fresh)
            continue
        gains[node] = -fresh[0] / worlds.count
        uncovered[own] = 0
    return gains
