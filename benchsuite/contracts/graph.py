"""The graph that methods see."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class Graph:
    """One graph, or several as a disjoint union, without labels.

    Edges point from source to target: ``edge_index[0]`` sends, ``edge_index[1]`` receives.
    """

    x: Tensor
    """Node features: ``[nodes, features]`` float32, or codes of categories, ``[nodes, columns]`` int64."""
    edge_index: Tensor
    """``[2, edges]`` int64, sorted by target then source, without duplicates or self loops."""
    batch: Tensor | None = None
    """``[nodes]`` int64, ascending, the graph each node belongs to; None where there is one graph."""
    edge_attr: Tensor | None = None
    """``[edges, columns]`` float32, or int64 codes, in the order of :attr:`edge_index`; None where edges have none."""
    cache: dict[str, Any] = field(default_factory=dict, repr=False)
    """Derived structures (normalised adjacencies) that live as long as this object; cleared by :meth:`fresh`."""

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return int(self.x.shape[0])

    @property
    def num_edges(self) -> int:
        """Number of directed edges."""
        return int(self.edge_index.shape[1])

    @property
    def num_features(self) -> int:
        """Width of the node features."""
        return int(self.x.shape[1])

    @property
    def num_graphs(self) -> int:
        """Number of graphs in the union."""
        if self.batch is None:
            return 1
        return int(self.batch.max()) + 1 if self.batch.numel() else 0

    def fresh(self) -> Graph:
        """The same tensors with nothing derived: what a method is handed, so that no timed run meets a warm cache."""
        return Graph(self.x, self.edge_index, self.batch, self.edge_attr)
