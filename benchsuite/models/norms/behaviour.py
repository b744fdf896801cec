"""What a module is, told from what it does to random input: LayerNorm, RMSNorm, or no such norm.

Both norms forget how large their input is. LayerNorm forgets its mean too, RMSNorm does not. What passes these tests
is then held against the formula itself: the output, coordinate by coordinate, must be an affine function of the
standardised input, and that regression gives the scale and the bias that the module really applies, whatever its
parameters are called and whatever it adds to them (``1 + w``).

The margins are wide: on a LayerNorm in float32 the shift test gives about 1e-7, on an RMSNorm 0.4 to 0.8, and the
limit is 1e-3. Float64 input would not help, since many norms cast to float32 inside.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch

if TYPE_CHECKING:
    from torch import Tensor, nn

#: ``layer`` and ``rms`` are norms over the last axis, row by row. ``batch-coupled``: a row's output depends on other
#: rows. ``none``: no norm. ``unclassified``: NaN, or nothing can be told.
Nature = Literal["layer", "rms", "batch-coupled", "none", "unclassified"]

LIMIT = 1e-3
"""Largest relative change that counts as none, in the scale, row and shift tests."""
CERTAIN = 1e-8
"""Largest share of the output's variance that the regression may leave unexplained, beyond float32 rounding of it."""
ROWS = 32
"""Rows of random input."""
SCALE, SHIFT = 64.0, 5.0
_SEED = 20


@dataclass(frozen=True, eq=False)
class Examination:
    """What was found out about one module."""

    nature: Nature
    reason: str
    """One clause for people: why it is, or is not, a norm."""
    gamma: Tensor | None = None
    """``[width]`` float64: the scale that the module applies, signs included; None where it is no norm."""
    beta: Tensor | None = None
    """``[width]`` float64: the bias that it applies."""
    unexplained: float | None = None
    """Share of the output's variance that the formula leaves unexplained."""

    @property
    def is_norm(self) -> bool:
        """Whether it is a LayerNorm or an RMSNorm."""
        return self.nature in ("layer", "rms")


def examine(module: nn.Module, width: int) -> Examination:
    """Find out what ``module`` is. It is not changed: a float32 copy of it is called, on the CPU.

    Args:
        module: small; it should map ``[rows, width]`` to the same shape.
        width: size of the last axis.
    """
    trial = copy.deepcopy(module).to("cpu", torch.float32)
    x = 1 + torch.randn(ROWS, width, generator=torch.Generator().manual_seed(_SEED))
    try:
        with torch.no_grad():
            return _examine(trial, x)
    except Exception as error:  # noqa: BLE001 - any module of any model may come here, and most were not made for it
        cause = " ".join(str(error).split())[:120]
        return Examination("none", f"it cannot be called with one matrix ({type(error).__name__}: {cause})")


def _examine(module: nn.Module, x: Tensor) -> Examination:
    plain = module(x)
    fault = _fault(plain, x)
    if fault is not None:
        return fault
    spread = float((plain - plain.mean(0)).norm())
    if spread == 0:
        return Examination("unclassified", "its output does not depend on its input")
    scaled = module(SCALE * x)
    if _change(scaled, plain, spread) > LIMIT:
        return Examination("none", f"its output changes when its input grows {SCALE:g}-fold")
    part = slice(0, 5)
    if _change(module(x[part]), plain[part], spread) > LIMIT:
        return Examination("batch-coupled", "the output of a row depends on the other rows")
    shifted = _change(module(x + SHIFT), plain, spread)
    return _certified("layer" if shifted <= LIMIT else "rms", SCALE * x, scaled)


def _fault(output: object, x: Tensor) -> Examination | None:
    if not isinstance(output, torch.Tensor) or output.shape != x.shape:
        return Examination("none", "it does not map a matrix to one of the same shape")
    if not torch.isfinite(output).all():
        return Examination("unclassified", "its output is not finite")
    return None


def _change(output: Tensor, plain: Tensor, spread: float) -> float:
    """Return how far ``output`` is from ``plain``, in units of how much the rows differ among themselves."""
    change = float((output - plain).norm()) / spread
    return change if change == change else float("inf")


def standardise(x: Tensor, nature: Nature) -> Tensor:
    """Return the rows of ``x`` in float64, centred for a LayerNorm, divided by their root mean square."""
    x = x.double()
    centred = x - x.mean(-1, keepdim=True) if nature == "layer" else x
    return centred / centred.square().mean(-1, keepdim=True).sqrt()


def _certified(nature: Nature, x: Tensor, output: Tensor) -> Examination:
    """Regress every coordinate of ``output`` on that of the standardised ``x`` (large, so that no epsilon matters)."""
    given, made = standardise(x, nature), output.double()
    mean, level = given.mean(0), made.mean(0)
    given, made = given - mean, made - level
    gamma = (given * made).sum(0) / given.square().sum(0)
    unexplained = float((made - gamma * given).square().sum() / made.square().sum())
    # A bias much larger than the scale costs the output digits.
    rounding = float((torch.finfo(torch.float32).eps * output.double()).square().sum() / made.square().sum())
    if not unexplained < CERTAIN + rounding:
        return Examination("none", f"the norm's formula leaves {unexplained:.1e} of its output unexplained")
    what = "centres and scales" if nature == "layer" else "scales, and does not centre,"
    reason = f"it {what} row by row; the formula leaves {unexplained:.1e} unexplained"
    return Examination(nature, reason, gamma, level - gamma * mean, unexplained)
