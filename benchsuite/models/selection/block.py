"""A residual block with a node-wise LayerNorm, and the slots in it where a placement puts a scale per node.

::

    x --S0--> conv --S1--> (+ x) --S2--> LayerNorm --S3--> ReLU --S4--> --S5-->

The norm stands behind the residual sum, so what S2 multiplies is divided out again up to the norm's epsilon:
LN_eps(s x) = LN_{eps/s^2}(x); and what S3 multiplies is the norm of the row that the block returns. ReLU is positively
homogeneous, so S3, S4 and S5 are one place in this block; they differ in blocks that add the residual later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchsuite.models.backbones.gat import GATLayer
from benchsuite.models.backbones.gcn import GCNLayer

if TYPE_CHECKING:
    from benchsuite.contracts.graph import Graph
    from benchsuite.contracts.norm_placement import Slot
    from benchsuite.models.adjacency import Adjacency

#: Returns ``[nodes]`` positive scalars for features ``[nodes, width]``.
Scaler = Callable[[Tensor, "Graph"], Tensor]


class Attention(nn.Module):
    """A GAT layer with concatenated heads and a bias: ``[nodes, width]`` to the same shape.

    Args:
        width: features; a multiple of ``heads``.
        heads: attention heads.
        layer: index of the block.
    """

    normalisation = "loops"

    def __init__(self, width: int, heads: int, layer: int) -> None:
        super().__init__()
        self.layer = GATLayer(width, width // heads, heads, layer, dropout=0.0)
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """Return the attention-weighted mean over the closed neighbourhood."""
        return cast("Tensor", self.layer(x, adjacency)).flatten(1) + self.bias


class Convolution(GCNLayer):
    """A GCN layer; ``heads`` is not used."""

    normalisation = "gcn"

    def __init__(self, width: int, heads: int, layer: int) -> None:
        super().__init__(width, width, layer)


#: What may stand in a block, by name.
CONVOLUTIONS: dict[str, type[Attention] | type[Convolution]] = {"gat": Attention, "gcn": Convolution}


class Placed(nn.Module):
    """A scale in its slot: ``s_i x_i``, then a LayerNorm where the placement asks for one.

    Args:
        scaler: see :meth:`benchsuite.contracts.norm_placement.NodeScale.scaler`.
        width: features per node.
        norm_after: whether a LayerNorm follows.
    """

    def __init__(self, scaler: Scaler, width: int, norm_after: bool) -> None:
        super().__init__()
        self.scaler = scaler
        self.norm = nn.LayerNorm(width) if norm_after else nn.Identity()

    def forward(self, x: Tensor, graph: Graph) -> Tensor:
        """Map ``[nodes, width]`` to the same shape."""
        return cast("Tensor", self.norm(x * self.scaler(x, graph).unsqueeze(1)))


class Slots(nn.Module):
    """The slots of one block, all empty at first."""

    def __init__(self) -> None:
        super().__init__()
        self.filled = nn.ModuleDict()

    def put(self, slot: Slot, placed: Placed) -> None:
        """Put ``placed`` into ``slot``."""
        self.filled[slot] = placed

    def forward(self, slot: Slot, x: Tensor, graph: Graph) -> Tensor:
        """Return what stands in ``slot`` makes of ``x``; ``x`` itself where nothing does."""
        return cast("Tensor", self.filled[slot](x, graph)) if slot in self.filled else x


class ResidualBlock(nn.Module):
    """``ReLU(LN(x + conv(x)))`` with the slots S0 to S5.

    Args:
        width: features per node, in and out.
        heads: attention heads.
        convolution: a key of :data:`CONVOLUTIONS`.
        index: of the block, from 0.
    """

    def __init__(self, width: int, heads: int, convolution: str, index: int) -> None:
        super().__init__()
        self.convolution = CONVOLUTIONS[convolution](width, heads, index)
        # torch's, over the features of each node: PyG's LayerNorm is graph-wise by default and erases no node's scale.
        self.norm = nn.LayerNorm(width)
        self.slots = Slots()

    def forward(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """Map ``[nodes, width]`` to the same shape."""
        at, graph = self.slots, adjacency.graph
        update = at("S1", self.convolution(at("S0", x, graph), adjacency), graph)
        normed = at("S3", self.norm(at("S2", x + update, graph)), graph)
        return cast("Tensor", at("S5", at("S4", functional.relu(normed), graph), graph))
