"""Graph isomorphism network (Xu, Hu, Leskovec and Jegelka, ICLR 2019, arXiv 1810.00826, eq. 4.1) with epsilon 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchsuite.models.backbones.stack import Stack
from benchsuite.models.norm import BatchNorm
from benchsuite.models.sites import Aggregation, Combination

if TYPE_CHECKING:
    from benchsuite.models.adjacency import Adjacency


class GINLayer(nn.Module):
    """X' = MLP((A+I) X) with an MLP of two combinations and a ReLU between; the sum comes first.

    Args:
        fan_in: input features.
        fan_out: output features, and width of the MLP.
        layer: index of the layer.
        batch_norm: normalise the MLP's hidden features before the ReLU, as the paper does (section 7).
    """

    def __init__(self, fan_in: int, fan_out: int, layer: int, batch_norm: bool = False) -> None:
        super().__init__()
        self.aggregation = Aggregation(layer)
        self.first = Combination(fan_in, fan_out, layer)
        self.first_bias = nn.Parameter(torch.zeros(fan_out))
        self.norm = BatchNorm(fan_out) if batch_norm else None
        self.second = Combination(fan_out, fan_out, layer)
        self.second_bias = nn.Parameter(torch.zeros(fan_out))

    def forward(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """Map ``[nodes, in]`` to ``[nodes, out]``."""
        aggregated = self.aggregation(adjacency, adjacency.value, x)
        hidden = self.first(aggregated, adjacency).add_(self.first_bias)
        if self.norm is not None:
            hidden = self.norm(hidden)
        out: Tensor = self.second(functional.relu_(hidden), adjacency)
        return out.add_(self.second_bias)


class GIN(Stack):
    """A stack of :class:`GINLayer`.

    Takes the option ``batch_norm``: where degrees are large, sums of sums do not train without it.
    """

    normalisation = "sum"
    layer_class = GINLayer
