"""Where TopGQ rounds the operands of a combination X W: X per node group, W per output feature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from benchsuite.models.quantized import WeightFiller

if TYPE_CHECKING:
    from benchsuite.models.adjacency import Adjacency
    from benchsuite_topgq.groups import Groups

#: Least step of a grid. A group that was zero everywhere at calibration can only say zero.
FLOOR = 1e-12


class NodeGrid(nn.Module):
    """Rounds features to their node's own affine grid ``step * q + offset`` with ``0 <= q <= 2^bits - 1``.

    The offset is a real number taken off before the division, as in the paper, not an integer zero point.

    Args:
        groups: the groups of nodes.
        bits: width.
        step: ``[groups]`` float32.
        offset: ``[groups]`` float32; None where all are zero, as after ReLU: nothing is stored then.
    """

    step: Tensor
    offset: Tensor | None

    def __init__(self, groups: Groups, bits: int, step: Tensor, offset: Tensor | None = None) -> None:
        super().__init__()
        self.groups = groups
        self.top = 2**bits - 1
        self.register_buffer("step", step)
        self.register_buffer("offset", offset)

    @classmethod
    def fit(cls, groups: Groups, bits: int, x: Tensor) -> NodeGrid:
        """Return the grids that span, for each group, everything its nodes hold in ``x``, and zero.

        Args:
            groups: the groups of the calibration graph.
            bits: width.
            x: ``[nodes, features]`` float32, the calibration graph's.
        """
        place, number = groups.calibrated, len(groups)
        high = place.peak(x.amax(1), number)
        low = place.peak(x.amin(1).neg_(), number).neg_()
        return cls(groups, bits, (high - low) / (2**bits - 1), low if bool(low.any()) else None)

    def steps(self, adjacency: Adjacency) -> Tensor:
        """Return the step of every node, ``[nodes, 1]``."""
        return self.groups.of(adjacency.graph).spread(self.step).clamp_(min=FLOOR).unsqueeze(1)

    def offsets(self, adjacency: Adjacency) -> Tensor | None:
        """Return the offset of every node, ``[nodes, 1]``; None where all are zero."""
        return None if self.offset is None else self.groups.of(adjacency.graph).spread(self.offset).unsqueeze(1)

    def codes(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """Return the integer codes of ``x`` as floats."""
        offset, step = self.offsets(adjacency), self.steps(adjacency)
        shares = x / step if offset is None else (x - offset).div_(step)
        return shares.round_().clamp_(0, self.top)

    def forward(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """Return ``x`` on the grid."""
        offset, values = self.offsets(adjacency), self.codes(x, adjacency).mul_(self.steps(adjacency))
        return values if offset is None else values.add_(offset)


class RoundedWeight(WeightFiller):
    """A weight rounded once, to a signed grid per output feature.

    Args:
        bits: width.
        weight: ``[out, in]``.
    """

    def __init__(self, bits: int, weight: Tensor) -> None:
        super().__init__(bits)
        # A plain attribute and no buffer: what is stored are the packed codes and scales, see WeightFiller.packed.
        self.rounded = self.grid(weight).fake(weight.detach())

    def forward(self, weight: Tensor, adjacency: Adjacency) -> Tensor:
        """Return the rounded weight."""
        return self.rounded
