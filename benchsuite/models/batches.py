"""Some of the graphs of a disjoint union, as a union of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from benchsuite.contracts.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Iterator


class GraphPool:
    """Random access to the graphs of a union.

    Args:
        graph: the union; nodes and edges of each graph lie together, as the contract of a graph has it.
    """

    def __init__(self, graph: Graph) -> None:
        batch = graph.batch if graph.batch is not None else graph.edge_index.new_zeros(graph.num_nodes)
        number = int(batch[-1]) + 1 if len(batch) else 0
        self.graph = graph
        self.nodes = torch.bincount(batch, minlength=number)
        """``[graphs]`` int64, how many nodes each has."""
        self.edges = torch.bincount(batch[graph.edge_index[1]], minlength=number)
        """``[graphs]`` int64, how many edges each has."""
        self._first_node = self.nodes.cumsum(0) - self.nodes
        self._first_edge = self.edges.cumsum(0) - self.edges

    def __len__(self) -> int:
        """Number of graphs."""
        return len(self.nodes)

    def take(self, which: Tensor) -> Graph:
        """Return the graphs ``which`` (``[graphs]`` int64), in that order."""
        sizes, counts = self.nodes[which], self.edges[which]
        node, edge = _stretches(self._first_node[which], sizes), _stretches(self._first_edge[which], counts)
        moved = (sizes.cumsum(0) - sizes - self._first_node[which]).repeat_interleave(counts)
        attr = self.graph.edge_attr
        return Graph(
            self.graph.x[node],
            self.graph.edge_index[:, edge] + moved,
            torch.arange(len(which), device=which.device).repeat_interleave(sizes),
            None if attr is None else attr[edge],
        )

    def chunks(self, which: Tensor, nodes: int) -> Iterator[Tensor]:
        """Yield ``which`` in pieces of at most ``nodes`` nodes, but of one graph at least."""
        sizes = self.nodes[which].tolist()
        start, filled = 0, 0
        for place, size in enumerate(sizes):
            if filled + size > nodes and place > start:
                yield which[start:place]
                start, filled = place, 0
            filled += size
        if start < len(sizes):
            yield which[start:]


def _stretches(first: Tensor, lengths: Tensor) -> Tensor:
    """Return ``first[0], first[0] + 1, ...`` for ``lengths[0]`` places, then those of the next stretch."""
    ends = lengths.cumsum(0)
    total = int(ends[-1]) if len(ends) else 0
    return torch.arange(total, device=first.device) + (first - ends + lengths).repeat_interleave(lengths)
