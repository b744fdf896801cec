"""GIN with edge features (Hu et al., ICLR 2020, arXiv 1905.12265, appendix A).

Layer sizes and norms are those of OGB's baseline for molecules (Hu et al., NeurIPS 2020, arXiv 2005.00687).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchsuite.models.backbone import Backbone
from benchsuite.models.norm import BatchNorm
from benchsuite.models.sites import Aggregation, Combination, Embedding, Role, Site, one_hot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchsuite.contracts.graph import Graph
    from benchsuite.models.adjacency import Adjacency


class GINELayer(nn.Module):
    """X' = MLP((1 + eps) X + A M), where an entry's message is M = ReLU(x_source + embedded edge).

    The MLP has two combinations, the hidden one twice as wide, with batch normalisation and a ReLU between. The
    node's own term is added in floats.

    Args:
        width: input and output features.
        edge_categories: how many codes each column of the edges' attributes has.
        layer: index of the layer.
    """

    def __init__(self, width: int, edge_categories: Sequence[int], layer: int) -> None:
        super().__init__()
        self.edges = Embedding(edge_categories, width, layer)
        self.aggregation = Aggregation(layer, by_entry=True)
        self.epsilon = nn.Parameter(torch.zeros(()))
        self.first = Combination(width, 2 * width, layer)
        self.first_bias = nn.Parameter(torch.zeros(2 * width))
        self.norm = BatchNorm(2 * width)
        self.second = Combination(2 * width, width, layer)
        self.second_bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor, edges: Tensor, adjacency: Adjacency) -> Tensor:
        """Map ``[nodes, width]`` to the same shape.

        Args:
            x: the nodes.
            edges: ``[entries, sum of categories]`` float32, one-hot.
            adjacency: structure, whose entries are the edges in their order.
        """
        messages = functional.relu(x[adjacency.col] + self.edges(edges, adjacency))
        summed = (1 + self.epsilon) * x + self.aggregation(adjacency, adjacency.value, messages)
        hidden = functional.relu(self.norm(self.first(summed, adjacency) + self.first_bias))
        out: Tensor = self.second(hidden, adjacency)
        return out + self.second_bias


class GINE(Backbone):
    """Embedded node codes, then layers of :class:`GINELayer` with batch normalisation, ReLU and dropout behind each.

    Behind the last there is no ReLU.

    Args:
        node_categories: how many codes each column of the nodes' features has.
        edge_categories: the same of the edges' attributes.
        hidden: width.
        layers: number of layers.
        dropout: probability, behind every layer.
    """

    normalisation = "edges"

    def __init__(
        self,
        node_categories: Sequence[int],
        edge_categories: Sequence[int],
        hidden: int = 300,
        layers: int = 5,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.dropout, self.edge_categories = dropout, tuple(edge_categories)
        self.nodes = Embedding(node_categories, hidden, 0)
        self.layers = nn.ModuleList(GINELayer(hidden, edge_categories, i) for i in range(layers))
        self.norms = nn.ModuleList(BatchNorm(hidden) for _ in range(layers))
        self.update_sites = nn.ModuleList(Site(Role.UPDATE, i, ("node", "feature")) for i in range(layers))

    def encode(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """Return ``[nodes, hidden]`` from one-hot ``[nodes, sum of categories]`` float32."""
        edges = self._edges(adjacency.graph)
        x = self.nodes(x, adjacency)
        for i, (layer, norm, update) in enumerate(zip(self.layers, self.norms, self.update_sites, strict=True)):
            x = norm(layer(x, edges, adjacency))
            x = functional.dropout(functional.relu(x) if i + 1 < len(self.layers) else x, self.dropout, self.training)
            x = update(x, adjacency)
        return x

    def _edges(self, graph: Graph) -> Tensor:
        if graph.edge_attr is None:
            raise ValueError("the graph's edges have no codes")
        if "edges/one-hot" not in graph.cache:
            graph.cache["edges/one-hot"] = one_hot(graph.edge_attr, self.edge_categories)
        found: Tensor = graph.cache["edges/one-hot"]
        return found
