"""Uniform quantization: the one meaning of INT-b that all plugins share.

``b`` bits hold either the signed symmetric grid ``-(2^(b-1)-1) .. 2^(b-1)-1`` or the unsigned affine grid
``0 .. 2^b-1`` with an integer zero point. Both hold zero exactly.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
from torch import Tensor


class Grid(NamedTuple):
    """A quantization grid ``scale * (q - zero)``, ``low <= q <= high``; scale and zero broadcast."""

    scale: Tensor
    zero: Tensor
    low: int
    high: int

    def codes(self, x: Tensor) -> Tensor:
        """Return the integer codes of ``x`` as floats, shape of ``x``."""
        return (x / self.scale).round_().add_(self.zero).clamp_(self.low, self.high)

    def values(self, codes: Tensor) -> Tensor:
        """Return the real values of ``codes``."""
        return (codes - self.zero) * self.scale

    def fake(self, x: Tensor) -> Tensor:
        """Return ``x`` rounded to the grid; the gradient passes straight through."""
        if not x.requires_grad:
            return self.codes(x).sub_(self.zero).mul_(self.scale)
        return cast("Tensor", _StraightThrough.apply(x, self))  # type: ignore[no-untyped-call]


class _StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: Tensor, grid: Grid) -> Tensor:
        return grid.values(grid.codes(x))

    @staticmethod
    def backward(ctx: object, *grads: Tensor) -> tuple[Tensor, None]:
        return grads[0], None


def symmetric(peak: Tensor, bits: int) -> Grid:
    """Return the signed grid whose end lies at ``peak`` (the largest magnitude; zero gives scale 1)."""
    high = 2 ** (bits - 1) - 1
    scale = torch.where(peak > 0, peak / high, torch.ones_like(peak))
    return Grid(scale, torch.zeros_like(scale), -high, high)


def affine(low: Tensor, high: Tensor, bits: int) -> Grid:
    """Return the unsigned grid that spans ``low .. high`` widened to hold zero (an empty span gives scale 1)."""
    top = 2**bits - 1
    low, high = low.clamp(max=0), high.clamp(min=0)
    span = high - low
    scale = torch.where(span > 0, span / top, torch.ones_like(span))
    return Grid(scale, (-low / scale).round(), 0, top)


def pack(codes: Tensor, bits: int) -> Tensor:
    """Pack integer codes into bytes, ``bits`` bits each.

    Args:
        codes: any shape, integers ``0 .. 2^bits - 1`` (shift signed codes first).
        bits: 1 to 8.

    Returns:
        ``[ceil(numel * bits / 8)]`` uint8.
    """
    flat = codes.reshape(-1).to(torch.uint8)
    stream = ((flat.unsqueeze(1) >> torch.arange(bits, dtype=torch.uint8)) & 1).reshape(-1)
    padded = torch.cat([stream, stream.new_zeros(-len(stream) % 8)]).reshape(-1, 8)
    return (padded << torch.arange(8, dtype=torch.uint8)).sum(1, dtype=torch.uint8)


def unpack(packed: Tensor, bits: int, shape: tuple[int, ...]) -> Tensor:
    """Undo :func:`pack`: return uint8 codes of ``shape``."""
    count = int(torch.tensor(shape).prod()) if shape else 1
    stream = ((packed.unsqueeze(1) >> torch.arange(8, dtype=torch.uint8)) & 1).reshape(-1)[: count * bits]
    weights = 2 ** torch.arange(bits)
    return (stream.reshape(count, bits) * weights).sum(1).to(torch.uint8).reshape(shape)
