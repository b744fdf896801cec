"""The node scorer: an input projection, residual blocks and a score head per node."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from benchsuite.contracts.norm_placement import NodeScale, ScaleSite
from benchsuite.errors import UsageError, near
from benchsuite.models.adjacency import Normalisation, adjacency
from benchsuite.models.selection.block import CONVOLUTIONS, Placed, ResidualBlock, Slots
from benchsuite.models.sites import Weighted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchsuite.contracts.graph import Graph
    from benchsuite.contracts.norm_placement import Slot


class SelectionModel(nn.Module):
    """``head(block_L(... block_1(x W + b)))`` with a head of two layers: one score per node.

    Args:
        features: width of the node features.
        width: of the blocks.
        heads: attention heads of a block.
        blocks: number of blocks.
        convolution: a key of :data:`~benchsuite.models.selection.block.CONVOLUTIONS`.

    Raises:
        UsageError: an unknown convolution, or a width that the heads do not divide.
    """

    def __init__(
        self, features: int, width: int = 32, heads: int = 4, blocks: int = 3, convolution: str = "gat"
    ) -> None:
        super().__init__()
        if convolution not in CONVOLUTIONS:
            raise UsageError(f"there is no convolution {convolution!r}", near(convolution, CONVOLUTIONS))
        if width % heads:
            raise UsageError(f"{heads} heads do not divide a width of {width}", "Make the width a multiple of them")
        self.width = width
        self.normalisation: Normalisation = "gcn" if convolution == "gcn" else "loops"
        self.entry = nn.Linear(features, width)
        self.blocks = nn.ModuleList(ResidualBlock(width, heads, convolution, i) for i in range(blocks))
        self.slots = Slots()
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, graph: Graph) -> Tensor:
        """Return ``[nodes]`` scores."""
        return cast("Tensor", self.head(self.representation(graph))).squeeze(1)

    def representation(self, graph: Graph) -> Tensor:
        """Return ``[nodes, width]``: what the score head reads, slot S6 included."""
        structure = adjacency(graph, self.normalisation)
        x: Tensor = self.entry(graph.x)
        for block in self.blocks:
            x = block(x, structure)
        return cast("Tensor", self.slots("S6", x, graph))

    def scales(self) -> Iterator[tuple[str, Placed]]:
        """Yield ``(name, placed)`` for every filled slot, in forward order."""
        yield from ((name, module) for name, module in self.named_modules() if isinstance(module, Placed))

    def reset_parameters(self, generator: torch.Generator) -> None:
        """Draw Glorot-uniform weights in module order; biases become zero, norms the identity up to eps."""
        for module in self.modules():
            if isinstance(module, Weighted):
                module.reset_parameters(generator)
            elif isinstance(module, nn.Linear):
                bound = math.sqrt(6.0 / sum(module.weight.shape))
                with torch.no_grad():
                    module.weight.uniform_(-bound, bound, generator=generator)
                nn.init.zeros_(module.bias)


def build_model(features: int, seed: int, **options: int | str) -> SelectionModel:
    """Return an untrained model with every slot empty.

    Args:
        features: width of the node features.
        seed: of the initial weights; the same seed gives the same weights.
        options: passed to :class:`SelectionModel`.

    Raises:
        UsageError: an unknown convolution, or a width that the heads do not divide.
    """
    model = SelectionModel(features, **options)  # type: ignore[arg-type]
    model.reset_parameters(torch.Generator().manual_seed(seed))
    return model


def place(model: SelectionModel, scale: NodeScale, generator: torch.Generator) -> SelectionModel:
    """Put ``scale`` into its slot of every block of ``model`` (once, for S6) and return ``model``.

    The model's own weights are left as they are.

    Args:
        model: with that slot empty.
        scale: the placement.
        generator: handed to the scale at every site, in forward order.
    """
    for slots, slot, site in _sites(model, scale.slot, generator):
        slots.put(slot, Placed(scale.scaler(site), site.width, scale.norm_after))
    return model


def _sites(
    model: SelectionModel, slot: Slot | None, generator: torch.Generator
) -> Iterator[tuple[Slots, Slot, ScaleSite]]:
    if slot is None:
        return
    if slot == "S6":
        yield model.slots, slot, ScaleSite(len(model.blocks), model.width, generator)
        return
    for i, block in enumerate(model.blocks):
        yield cast("ResidualBlock", block).slots, slot, ScaleSite(i, model.width, generator)
