"""How weights start: drawn, copied, or with a silent output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from benchsuite.models.student.layers import Attention, Branch, FeedForward, RMSNorm

if TYPE_CHECKING:
    from torch import Tensor, nn

STD = 0.02
"""Standard deviation of every projection before a placement's gain: the default of Llama and Qwen3 models."""


def draw(module: nn.Module, generator: torch.Generator) -> None:
    """Draw all projections of ``module`` from N(0, STD^2) times the gain of their branch; norms start at one; in place.

    A norm takes nothing from the generator, and a gain is multiplied in afterwards: with one seed all placements start
    from the same numbers. A gain acts on value, output and all feed-forward projections, not on query and key, as in
    DeepNorm (arXiv 2203.00555, figure 2).
    """
    with torch.no_grad():
        for branch in (part for part in module.modules() if isinstance(part, Branch)):
            _draw_branch(branch, generator)
        for norm in (part for part in module.modules() if isinstance(part, RMSNorm)):
            norm.weight.fill_(1.0)


def _draw_branch(branch: Branch, generator: torch.Generator) -> None:
    for name, weight in branch.function.named_parameters():
        plain = name.startswith(("q_proj", "k_proj"))
        weight.copy_(normal(weight.shape, generator) * (1.0 if plain else branch.norms.gain))


def normal(shape: torch.Size, generator: torch.Generator) -> Tensor:
    """Return float32 draws from N(0, STD^2), on the generator's device."""
    return STD * torch.randn(shape, generator=generator, device=generator.device)


def silence(module: nn.Module) -> None:
    """Zero the last projection of every branch of ``module``, in place."""
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, Attention):
                part.o_proj.weight.zero_()
            elif isinstance(part, FeedForward):
                part.down_proj.weight.zero_()
