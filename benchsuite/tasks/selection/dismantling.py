"""Network dismantling: how fast removing nodes in an order breaks a graph up, and an order to learn from.

The value of an order is Schneider et al.'s R (PNAS 108, 2011): the largest component, as a share of all nodes, after
each removal, on average over all removals. It is the area under the curve that dismantling papers draw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchsuite.models.selection.greedy import neighbours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchsuite.tasks.selection.graphs import Plain


class Components:
    """Union-find over nodes that come in one by one.

    Args:
        adjacent: for each node its neighbours.
    """

    def __init__(self, adjacent: Sequence[Sequence[int]]) -> None:
        self.adjacent = adjacent
        self.parent = list(range(len(adjacent)))
        self.size = [1] * len(adjacent)
        self.present = [False] * len(adjacent)
        self.largest = 0

    def root(self, node: int) -> int:
        """Return the representative of ``node``'s component."""
        while self.parent[node] != node:
            self.parent[node] = self.parent[self.parent[node]]
            node = self.parent[node]
        return node

    def around(self, node: int) -> set[int]:
        """Return the components of the nodes around ``node`` that are there."""
        return {self.root(other) for other in self.adjacent[node] if self.present[other]}

    def joined(self, node: int) -> int:
        """Return the size of the component that ``node`` would make by coming in."""
        return 1 + sum(self.size[root] for root in self.around(node))

    def add(self, node: int) -> None:
        """Let ``node`` come in."""
        for root in self.around(node):
            self.parent[root] = node
            self.size[node] += self.size[root]
        self.present[node] = True
        self.largest = max(self.largest, self.size[node])


def area(graph: Plain, order: np.ndarray) -> float:
    """Return R of removing the nodes in ``order``: (1/n) sum over Q = 1..n of the largest share after Q removals.

    Args:
        graph: an undirected graph with at least one node.
        order: ``[nodes]`` int64, each node once.
    """
    components = Components(neighbours(graph.edge_index, graph.nodes))
    total = 0
    # Backwards: adding nodes is what union-find can do. Before the last one comes in (Q = 0) the sum is complete.
    for node in order[::-1].tolist():
        total += components.largest
        components.add(node)
    return total / graph.nodes**2


def inverse_order(graph: Plain) -> np.ndarray:
    """Return all nodes in an order of removal that was built from its end.

    From the empty graph on, the node comes in whose component would be smallest (among several, the one of lowest
    degree, then of lowest index); read backwards that is the order of removal (inverse targeting: Schneider et al.,
    EPL 98, 2012; the greedy reinsertion of Braunstein et al., PNAS 113, 2016, is the same step).

    Returns:
        ``[nodes]`` int64.
    """
    adjacent = neighbours(graph.edge_index, graph.nodes)
    components = Components(adjacent)
    left = set(range(graph.nodes))
    order = []
    while left:
        node = min(left, key=lambda node: (components.joined(node), len(adjacent[node]), node))
        components.add(node)
        left.remove(node)
        order.append(node)
    return np.asarray(order[::-1], dtype=np.int64)
