"""A scale in PostDeg's slot that is learned: as much freedom as a function of the degree can have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchsuite.models.selection import degrees

if TYPE_CHECKING:
    from benchsuite.plugin import Graph, ScaleSite, Slot


class DegreeScale(nn.Module):
    """``softplus(MLP(log(1 + deg)))`` with one hidden layer. It starts as the constant 1, so the model as without it.

    Args:
        hidden: width of the hidden layer.
        generator: of the hidden layer's weights.
    """

    def __init__(self, hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        self.first = nn.Linear(1, hidden)
        self.second = nn.Linear(hidden, 1)
        with torch.no_grad():
            self.first.weight.normal_(generator=generator)
            self.first.bias.normal_(generator=generator)
            self.second.weight.zero_()
            self.second.bias.fill_(math.log(math.e - 1))  # softplus of it is 1

    def forward(self, x: Tensor, graph: Graph) -> Tensor:
        """Return ``[nodes]``, positive."""
        depth = degrees(graph).log1p().to(x.dtype).unsqueeze(1)
        hidden = functional.relu(self.first(depth))
        return functional.softplus(cast("Tensor", self.second(hidden)).squeeze(1))


class Learned:
    """A scale of its own in every block, trained with the model.

    Args:
        hidden: width of each scale's hidden layer.
        slot: where it is multiplied in.
    """

    norm_after = False

    def __init__(self, hidden: int = 16, slot: Slot = "S3") -> None:
        self.hidden = hidden
        self.slot: Slot | None = slot

    def scaler(self, site: ScaleSite) -> DegreeScale:
        """Return a new scale."""
        return DegreeScale(self.hidden, site.generator)
