"""The post-training quantizer that takes each row's range at inference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from benchsuite.models.quantized import SiteQuantizedModel, WeightFiller
from benchsuite.models.ranges import OPERANDS, fill
from benchsuite.models.sites import Role, Site
from benchsuite.models.uniform import affine

if TYPE_CHECKING:
    from benchsuite.models.adjacency import Adjacency
    from benchsuite.plugin import QuantizationJob


class NodeFiller(nn.Module):
    """Rounds every node's row (all heads and features of it) to an affine grid over the row's own range.

    Args:
        bits: width of the grid.
    """

    def __init__(self, bits: int) -> None:
        super().__init__()
        self.bits = bits

    def forward(self, tensor: Tensor, adjacency: Adjacency) -> Tensor:
        """Return ``tensor`` (``[nodes, ...]``) rounded."""
        within = tuple(range(1, tensor.dim()))
        return affine(tensor.amin(within, keepdim=True), tensor.amax(within, keepdim=True), self.bits).fake(tensor)


class RowFiller(nn.Module):
    """Rounds adjacency values to an affine grid per row (the entries of one target) and head.

    Args:
        bits: width of the grid.
    """

    def __init__(self, bits: int) -> None:
        super().__init__()
        self.bits = bits

    def forward(self, value: Tensor, adjacency: Adjacency) -> Tensor:
        """Return ``value`` (``[entries]`` or ``[entries, heads]``) rounded."""
        index = adjacency.row.view(-1, *[1] * (value.dim() - 1)).expand_as(value)
        # Ranges hold zero in any case, so rows may start from it.
        start = value.new_zeros(adjacency.num_nodes, *value.shape[1:])
        low, high = (start.scatter_reduce(0, index, value, reduce) for reduce in ("amin", "amax"))
        return affine(low[adjacency.row], high[adjacency.row], self.bits).fake(value)


class PerNode:
    """Per-node dynamic activations, per-row adjacency values, per-column weights.

    Args:
        bits: width of weights, activations and adjacency values.
    """

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def _filler(self, site: Site) -> nn.Module:
        return RowFiller(self.bits) if site.role is Role.ADJACENCY else NodeFiller(self.bits)

    def quantize(self, job: QuantizationJob) -> SiteQuantizedModel:
        """Fill the trained model; there is nothing to calibrate."""
        fill(job.model, OPERANDS, self._filler)
        fill(job.model, {Role.WEIGHT}, lambda site: WeightFiller(self.bits))
        return SiteQuantizedModel(job.model)
