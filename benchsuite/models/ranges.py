"""Per-tensor ranges: how they are measured, and the filler that keeps one and rounds to its grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from benchsuite.models.sites import Role, Site
from benchsuite.models.uniform import Grid, affine, pack

if TYPE_CHECKING:
    from collections.abc import Collection

    from benchsuite.contracts.graph import Graph
    from benchsuite.models.adjacency import Adjacency
    from benchsuite.models.backbone import Backbone

#: Called as ``measure(values, zeros)``: maps a non-empty tensor, and a count of zeros that were left out of it, to the
#: ends ``(low, high)`` of their range, each ``[]``, with ``low <= 0 <= high``.
Measure = Callable[[Tensor, int], tuple[Tensor, Tensor]]

#: The sites whose tensors enter a product, weights apart. A model's output passes none of them.
OPERANDS = frozenset({Role.INPUT, Role.COMBINED, Role.ADJACENCY})

#: From this many values on, a percentile first looks at a sample of about this size.
_SAMPLE = 1 << 16


def extremes(values: Tensor, zeros: int = 0) -> tuple[Tensor, Tensor]:
    """Return minimum and maximum, widened to hold zero.

    Args:
        values: any shape, not empty.
        zeros: how many zeros were left out of ``values``; they make no difference.
    """
    low, high = torch.aminmax(values)
    return low.clamp(max=0), high.clamp(min=0)


class Percentile:
    """Measures the range that leaves a fraction of the values outside at each end.

    With ``n`` values and ``k = max(1, floor(tail * n))`` the ends are the k-th smallest and the k-th largest value,
    widened to hold zero. More than ``1 - tail`` of a sparse matrix is zero, and so would be both ends: then the zeros
    are left out of the count, and :attr:`collapsed` grows by one.

    Args:
        tail: fraction cut off at each end, 0 to 0.5.
    """

    def __init__(self, tail: float) -> None:
        self.tail = tail
        self.collapsed = 0

    def __call__(self, values: Tensor, zeros: int = 0) -> tuple[Tensor, Tensor]:
        """Return the ends of the range: exact, not sampled.

        Args:
            values: any shape, not empty.
            zeros: how many zeros were left out of ``values``.
        """
        flat = values.reshape(-1)
        low, high = self._ends(flat, flat.numel() + zeros)
        if low == high and flat.any():
            self.collapsed += 1
            return self._ends(flat, int(flat.count_nonzero()))
        return low, high

    def _ends(self, flat: Tensor, count: int) -> tuple[Tensor, Tensor]:
        k = max(1, int(self.tail * count))
        low, high = extremes(flat)
        return -_kth_largest(-flat, k) if low < 0 else low, _kth_largest(flat, k) if high > 0 else high


def _kth_largest(flat: Tensor, k: int) -> Tensor:
    """Return the k-th largest of ``flat`` or zero, whichever is larger.

    Selection among millions of values is slow, so it is done among those above a bound. A bound with at least ``k``
    values above it cannot change the answer; where a guess turns out too high, zero is the bound.
    """
    bounds = [flat.new_zeros(())]
    if flat.numel() > _SAMPLE:
        bounds.insert(0, _guess(flat, k))
    for bound in bounds:
        above = flat[flat > bound]
        if above.numel() >= k:
            return above.kthvalue(above.numel() - k + 1).values
    return flat.new_zeros(())


def _guess(flat: Tensor, k: int) -> Tensor:
    """Return a bound from a regular sample that probably has between ``k`` and a few times ``k`` values above it."""
    stride = flat.numel() // _SAMPLE
    sample = flat[::stride]
    rank = min(sample.numel(), 2 * k // stride + 16)
    return sample.topk(rank).values[-1].clamp(min=0)


class RangeFiller(nn.Module):
    """Rounds a tensor to the affine grid over one range, which it observes in training mode and then keeps.

    Until something has been observed, the range is that of the tensor at hand. Empty tensors pass. The buffers have
    the shape ``[]`` from the start, so that a state dict fits a fresh model.

    Args:
        bits: width of the grid.
        measure: finds the range of one tensor.
        momentum: share of the newest range in an exponential moving average that starts at the first range; None
            keeps the running minimum and maximum.
    """

    low: Tensor
    high: Tensor
    ready: Tensor

    def __init__(self, bits: int, measure: Measure = extremes, momentum: float | None = None) -> None:
        super().__init__()
        self.bits, self.measure, self.momentum = bits, measure, momentum
        self.calibrating = False
        self.register_buffer("low", torch.zeros(()))
        self.register_buffer("high", torch.zeros(()))
        self.register_buffer("ready", torch.zeros((), dtype=torch.bool))

    def observe(self, values: Tensor, zeros: int = 0) -> None:
        """Take the range of ``values`` into the kept one.

        Args:
            values: any shape; nothing happens where it is empty.
            zeros: how many zeros were left out of ``values``.
        """
        if not values.numel():
            return
        low, high = self.measure(values.detach(), zeros)
        if self.momentum is None or not self.ready:
            # Both ranges hold zero, so the initial 0 .. 0 adds nothing to the first one.
            low, high = torch.minimum(self.low, low), torch.maximum(self.high, high)
        else:
            low, high = self.low.lerp(low, self.momentum), self.high.lerp(high, self.momentum)
        self.low.copy_(low)
        self.high.copy_(high)
        self.ready.fill_(True)

    def grid(self, values: Tensor) -> Grid:
        """Return the grid for ``values`` (not empty): over the kept range, or their own before there is one."""
        low, high = (self.low, self.high) if self.ready else extremes(values.detach())
        return affine(low, high, self.bits)

    def forward(self, tensor: Tensor, adjacency: Adjacency) -> Tensor:
        """Return ``tensor`` rounded, with a straight-through gradient; untouched while calibrating."""
        if self.training or self.calibrating:
            self.observe(tensor)
        if self.calibrating or not tensor.numel():
            return tensor
        return self.grid(tensor).fake(tensor)

    def packed(self, weight: Tensor) -> dict[str, Tensor]:
        """Return the packed codes of a weight; its range is stored with the buffers."""
        return {"codes": pack(self.grid(weight).codes(weight.detach()), self.bits)}


def fill(model: Backbone, roles: Collection[Role], make: Callable[[Site], nn.Module]) -> None:
    """Fill every site of ``model`` whose role is among ``roles`` with what ``make`` returns for it."""
    device = next(model.parameters()).device
    for _, site in list(model.sites()):
        if site.role in roles:
            site.fill(make(site).to(device))


def calibrate(model: Backbone, graph: Graph) -> None:
    """Let every range filler of ``model`` observe one forward pass in eval mode, in which none of them rounds."""
    fillers = [module for module in model.modules() if isinstance(module, RangeFiller)]
    for filler in fillers:
        filler.calibrating = True
    with torch.no_grad():
        model.eval()(graph)
    for filler in fillers:
        filler.calibrating = False
