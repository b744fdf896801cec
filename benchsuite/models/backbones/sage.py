"""GraphSAGE with the mean aggregator (Hamilton, Ying and Leskovec, NeurIPS 2017, arXiv 1706.02216, alg. 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from benchsuite.models.backbones.stack import Stack
from benchsuite.models.sites import Aggregation, Combination

if TYPE_CHECKING:
    from benchsuite.models.adjacency import Adjacency


class SAGELayer(nn.Module):
    """X' = X W_self + A_mean (X W_neighbour) + b.

    The mean is taken after the combination, not before: the same function, with the narrower product aggregated.
    """

    def __init__(self, fan_in: int, fan_out: int, layer: int) -> None:
        super().__init__()
        self.neighbour = Combination(fan_in, fan_out, layer)
        self.aggregation = Aggregation(layer)
        self.root = Combination(fan_in, fan_out, layer)
        self.bias = nn.Parameter(torch.zeros(fan_out))

    def forward(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """Map ``[nodes, in]`` to ``[nodes, out]``."""
        aggregated: Tensor = self.aggregation(adjacency, adjacency.value, self.neighbour(x, adjacency))
        root: Tensor = self.root(x, adjacency)
        return (aggregated + root).add_(self.bias)


class SAGE(Stack):
    """A stack of :class:`SAGELayer`."""

    normalisation = "mean"
    layer_class = SAGELayer
