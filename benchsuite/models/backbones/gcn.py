"""Graph convolutional network (Kipf and Welling, ICLR 2017, arXiv 1609.02907, eq. 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from benchsuite.models.backbones.stack import Stack
from benchsuite.models.sites import Aggregation, Combination

if TYPE_CHECKING:
    from benchsuite.models.adjacency import Adjacency


class GCNLayer(nn.Module):
    """X' = A~ (X W) + b with A~ = D^-1/2 (A+I) D^-1/2."""

    def __init__(self, fan_in: int, fan_out: int, layer: int) -> None:
        super().__init__()
        self.combination = Combination(fan_in, fan_out, layer)
        self.aggregation = Aggregation(layer)
        self.bias = nn.Parameter(torch.zeros(fan_out))

    def forward(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """Map ``[nodes, in]`` to ``[nodes, out]``."""
        combined = self.combination(x, adjacency)
        aggregated: Tensor = self.aggregation(adjacency, adjacency.value, combined)
        return aggregated + self.bias


class GCN(Stack):
    """A stack of :class:`GCNLayer`."""

    normalisation = "gcn"
    layer_class = GCNLayer
