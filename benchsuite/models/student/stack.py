"""Blocks of layers between an entry norm and a final norm, as a placement describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from benchsuite.errors import ProtocolError
from benchsuite.models.student.layers import Layer, RMSNorm, Rotary

if TYPE_CHECKING:
    from benchsuite.contracts.norm_placement import StackNorms
    from benchsuite.models.student.shape import StudentShape


class Stack(nn.Module):
    """The trunk of a decoder: hidden states to hidden states. Weights are as torch makes them; see ``initial.draw``.

    Args:
        shape: sizes.
        norms: of as many layers as the shape has.

    Raises:
        ProtocolError: the placement describes another number of layers.
    """

    def __init__(self, shape: StudentShape, norms: StackNorms) -> None:
        super().__init__()
        if len(norms.layers) != shape.layers:
            raise ProtocolError(
                f"the placement describes {len(norms.layers)} layers, the student has {shape.layers}",
                "stack(depth) must return one entry per layer",
            )
        rotary = Rotary(shape)
        each, chunk = [Layer(shape, pair, rotary) for pair in norms.layers], shape.layers_per_block
        self.blocks = nn.ModuleList(nn.Sequential(*each[i : i + chunk]) for i in range(0, shape.layers, chunk))
        self.entry = RMSNorm(shape.width, shape.eps) if norms.entry else nn.Identity()
        self.final = RMSNorm(shape.width, shape.eps) if norms.final else nn.Identity()

    def forward(self, h: Tensor, active: tuple[int, ...] | None = None) -> Tensor:
        """Map ``[batch, time, width]`` to the same shape through the active blocks, in the order given.

        Args:
            h: embeddings.
            active: indices of blocks, bottom first; None for all. The final norm comes after the last of them.
        """
        h = self.entry(h)
        for index in range(len(self.blocks)) if active is None else active:
            h = self.blocks[index](h)
        out: Tensor = self.final(h)
        return out
