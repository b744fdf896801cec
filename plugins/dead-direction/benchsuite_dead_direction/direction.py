"""From the scale of a norm to the directions that die behind it (arXiv 2606.19491; derived in the README)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class Directions:
    """What a scale says."""

    basis: Tensor
    """``[k, d]`` float64, orthonormal rows."""
    dead: bool
    """Whether nothing varies along them. False: they are the candidate that a LayerNorm's formula gives, and the norm
    does not centre."""
    zeros: int
    """Entries of the scale that count as zero."""


def dead_directions(gamma: Tensor, nature: Literal["layer", "rms"], epsilon: float) -> Directions:
    """Return the directions along which the output of a norm with scale ``gamma`` cannot vary.

    LayerNorm: the standardised features sum to zero, so with u ~ 1/gamma the product u . (y - beta) is that sum, and
    zero for every single input. RMSNorm: nothing sums to zero. For both, a feature whose scale is zero is constant; a
    LayerNorm with m zeros then has exactly these m, since 1/gamma is no direction any more.

    Args:
        gamma: ``[d]``, signs included.
        nature: of the norm.
        epsilon: rounding step of the dtype of the forward. Entries below ``d * epsilon`` times the largest count as
            zero: what comes through them drowns in the rounding of the others, and 1/gamma is not unique any more.
    """
    gamma = gamma.double()
    magnitude = gamma.abs()
    zero = magnitude < len(gamma) * epsilon * magnitude.max()
    if zero.any() or not magnitude.max() > 0:
        dead = zero | (magnitude == 0)
        return Directions(torch.eye(len(gamma), dtype=torch.float64)[dead], True, int(dead.sum()))
    return Directions(inverse_direction(gamma)[None], nature == "layer", 0)


def inverse_direction(gamma: Tensor) -> Tensor:
    """Return 1/gamma as a unit vector, ``[d]`` float64, for a scale without zeros.

    Written as ``sign(gamma) * min|gamma| / |gamma|``, which neither overflows nor loses digits where gamma is tiny.
    """
    magnitude = gamma.double().abs()
    direction = gamma.double().sign() * (magnitude.min() / magnitude)
    return direction / direction.norm()
