"""Graph attention network (Velickovic et al., ICLR 2018, arXiv 1710.10903, eqs. 3 to 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchsuite.models.backbone import Backbone
from benchsuite.models.dropout import dropout
from benchsuite.models.sites import Aggregation, AttentionScore, Combination, Role, Site

if TYPE_CHECKING:
    from benchsuite.models.adjacency import Adjacency


class GATLayer(nn.Module):
    """X' = A_alpha (X W) + b per head, with alpha = softmax(LeakyReLU(a_src x_j + a_dst x_i)) over the sources j of i.

    Args:
        fan_in: input features.
        features: output features per head.
        heads: attention heads.
        layer: index of the layer.
        dropout: probability, on the attention weights.
        slope: of LeakyReLU below zero.
    """

    def __init__(
        self, fan_in: int, features: int, heads: int, layer: int, dropout: float = 0.6, slope: float = 0.2
    ) -> None:
        super().__init__()
        self.heads, self.features, self.dropout, self.slope = heads, features, dropout, slope
        self.combination = Combination(fan_in, heads * features, layer)
        self.source = AttentionScore(heads, features, layer)
        self.target = AttentionScore(heads, features, layer)
        self.aggregation = Aggregation(layer, heads)

    def forward(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """Map ``[nodes, in]`` to ``[nodes, heads, features]``, without bias."""
        combined = self.combination(x, adjacency).view(-1, self.heads, self.features)
        source, target = self.source(combined, adjacency), self.target(combined, adjacency)
        ends = source.index_select(0, adjacency.col) + target.index_select(0, adjacency.row)
        scores = functional.leaky_relu(ends, self.slope)
        alpha = functional.dropout(adjacency.softmax(scores), self.dropout, self.training)
        out: Tensor = self.aggregation(adjacency, alpha, combined)
        return out


class GAT(Backbone):
    """Layers of :class:`GATLayer` with ELU and dropout between; hidden heads are concatenated, output heads averaged.

    Args:
        features: width of the node features.
        classes: number of classes.
        hidden: features per head of the hidden layers.
        layers: number of layers.
        heads: heads of the hidden layers.
        out_heads: heads of the last layer.
        dropout: probability, on every layer's input and on the attention weights.
    """

    normalisation = "loops"

    def __init__(
        self,
        features: int,
        classes: int,
        hidden: int = 8,
        layers: int = 2,
        heads: int = 8,
        out_heads: int = 1,
        dropout: float = 0.6,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        inner = [features] + [hidden * heads] * (layers - 1)
        shapes = [(hidden, heads)] * (layers - 1) + [(classes, out_heads)]
        self.layers = nn.ModuleList(
            GATLayer(fan_in, *shape, layer=i, dropout=dropout)
            for i, (fan_in, shape) in enumerate(zip(inner, shapes, strict=True))
        )
        self.biases = nn.ParameterList(torch.zeros(width) for width in [*inner[1:], classes])
        self.update_sites = nn.ModuleList(Site(Role.UPDATE, i, ("node", "feature")) for i in range(layers))

    def encode(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """Return logits ``[nodes, classes]``."""
        last = len(self.layers) - 1
        for i, (layer, bias, update) in enumerate(zip(self.layers, self.biases, self.update_sites, strict=True)):
            x = layer(dropout(x, self.dropout, self.training, adjacency), adjacency)
            x = x.mean(1) + bias if i == last else functional.elu(x.flatten(1) + bias)
            x = update(x, adjacency)
        return x
