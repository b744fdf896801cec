"""Graph isomorphism network (Xu, Hu, Leskovec and Jegelka, ICLR 2019, arXiv 1810.00826, eq. 4.1) with epsilon 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchsuite.models.backbones.stack import Stack
from benchsuite.models.sites import Aggregation, Combination

if TYPE_CHECKING:
    from benchsuite.models.adjacency import Adjacency


class GINLayer(nn.Module):
    """X' = MLP((A+I) X) with an MLP of two combinations and a ReLU between; the sum comes first."""

    def __init__(self, fan_in: int, fan_out: int, layer: int) -> None:
        super().__init__()
        self.aggregation = Aggregation(layer)
        self.first = Combination(fan_in, fan_out, layer)
        self.first_bias = nn.Parameter(torch.zeros(fan_out))
        self.second = Combination(fan_out, fan_out, layer)
        self.second_bias = nn.Parameter(torch.zeros(fan_out))

    def forward(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """Map ``[nodes, in]`` to ``[nodes, out]``."""
        aggregated = self.aggregation(adjacency, adjacency.value, x)
        hidden = functional.relu(self.first(aggregated, adjacency) + self.first_bias)
        out: Tensor = self.second(hidden, adjacency)
        return out + self.second_bias


class GIN(Stack):
    """A stack of :class:`GINLayer`."""

    normalisation = "sum"
    layer_class = GINLayer
