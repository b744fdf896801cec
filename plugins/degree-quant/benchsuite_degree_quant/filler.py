"""The filler of all of Degree-Quant's sites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor

from benchsuite.models.ranges import Measure, RangeFiller, extremes
from benchsuite.models.sites import Role

if TYPE_CHECKING:
    from benchsuite.models.adjacency import Adjacency
    from benchsuite.models.sites import Site
    from benchsuite.models.uniform import Grid
    from benchsuite_degree_quant.protection import Protection

#: Where protected nodes pass in floats; weights and adjacency values are rounded always.
PROTECTED = frozenset({Role.INPUT, Role.COMBINED, Role.MESSAGE, Role.AGGREGATE, Role.UPDATE})


#: A tensor with fewer entries is not searched for zeros, and one with a larger share of other entries is dense.
_LARGE, _SPARSE = 1 << 18, 0.1


def few_nonzero(tensor: Tensor) -> Tensor | None:
    """Return the places of the non-zero entries in the flattened ``tensor`` where they are few.

    None for a tensor that carries a gradient, is small, is dense or lies on another device.
    """
    if tensor.requires_grad or tensor.numel() < _LARGE or tensor.device.type != "cpu":
        return None
    # Numpy finds them several times faster than torch does.
    place = np.flatnonzero(tensor.numpy().reshape(-1) != 0)
    return torch.from_numpy(place) if 0 < len(place) <= _SPARSE * tensor.numel() else None


class _ClippedGradient(torch.autograd.Function):
    """Rounding whose gradient is zero where the code lies at an end of the grid, or beyond and clamped to it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, grid: Grid) -> Tensor:
        codes = grid.codes(x)
        ctx.save_for_backward((codes > grid.low) & (codes < grid.high))
        return grid.values(codes)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (inside,) = ctx.saved_tensors
        return grads[0] * inside, None


class ProtectiveFiller(RangeFiller):
    """Rounds a tensor, but for the rows of nodes that are protected in this training forward.

    Ranges are observed on the unprotected rows, in training mode alone.

    Args:
        site: where it goes; its role and axes say which rows belong to which node.
        protection: holds the current mask.
        bits: width of the grid.
        clip_gradient: zero the gradient at the ends of the grid; else it passes straight through.
        measure: finds the range of one tensor.
        momentum: of the moving average of ranges; None keeps running extremes.
    """

    def __init__(
        self,
        site: Site,
        protection: Protection,
        bits: int,
        clip_gradient: bool,
        measure: Measure = extremes,
        momentum: float | None = None,
    ) -> None:
        super().__init__(bits, measure, momentum)
        self.protection = protection
        self.clip_gradient = clip_gradient
        self.protects = site.role in PROTECTED and site.axes[0] != "graph"  # a pooled row is no node's
        self.by_entry = site.axes[0] == "entry"

    def forward(self, tensor: Tensor, adjacency: Adjacency) -> Tensor:
        """Return ``tensor`` with its unprotected rows rounded."""
        if not tensor.numel():
            return tensor
        shield = self._shield(adjacency)
        place = few_nonzero(tensor)
        if place is None:
            return self._pass(tensor, shield)
        # Bag-of-words features: zero is on every grid, so all the work can be done on the other entries.
        width = tensor.numel() // len(tensor)
        exposed = tensor.numel() if shield is None else width * int((~shield).sum())
        out = torch.zeros_like(tensor)
        values = self._pass(tensor.reshape(-1)[place], None if shield is None else shield[place // width], exposed)
        out.view(-1)[place] = values
        return out

    def _pass(self, values: Tensor, shield: Tensor | None, exposed: int = 0) -> Tensor:
        """Observe and round the rows of ``values`` that ``shield`` (``[rows]`` bool) leaves bare.

        ``exposed`` is the number of bare values where zeros were left out of ``values``.
        """
        if self.training:
            bare = values.detach() if shield is None else values.detach()[~shield]
            self.observe(bare, max(0, exposed - bare.numel()))
        rounded = self._round(values)
        if shield is None:
            return rounded
        return torch.where(shield.view(-1, *[1] * (values.dim() - 1)), values, rounded)

    def _shield(self, adjacency: Adjacency) -> Tensor | None:
        """Return which rows are protected, ``[rows]`` bool: a message belongs to the node that sends it."""
        mask = self.protection.mask
        if mask is None or not self.protects:
            return None
        return mask[adjacency.col] if self.by_entry else mask

    def _round(self, tensor: Tensor) -> Tensor:
        grid = self.grid(tensor)
        if self.clip_gradient and tensor.requires_grad:
            return cast("Tensor", _ClippedGradient.apply(tensor, grid))  # type: ignore[no-untyped-call]
        return grid.fake(tensor)
