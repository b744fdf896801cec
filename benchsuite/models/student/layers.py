"""The parts of a decoder layer: RMSNorm, rotary attention, SwiGLU, and the residual branch that places the norms.

Names and layouts of weights are those of a Llama model in transformers, so that weights pass from one to the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

if TYPE_CHECKING:
    from benchsuite.contracts.norm_placement import LayerNorms
    from benchsuite.models.student.shape import StudentShape


class RMSNorm(nn.Module):
    """``weight * x / sqrt(mean(x^2) + eps)`` over the last axis (Zhang and Sennrich, NeurIPS 2019, eq. 4).

    The quotient is computed in float32 whatever the type of ``x``.
    """

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised ``[..., width]``, of the type of ``x``."""
        wide = x.float()
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return self.weight * (wide * scale).to(x.dtype)


class Rotary(nn.Module):
    """Rotary position embedding (Su et al., arXiv 2104.09864), turning the first half of a head against the second."""

    cos: Tensor
    sin: Tensor

    def __init__(self, shape: StudentShape) -> None:
        super().__init__()
        exponents = torch.arange(0, shape.head_width, 2).float() / shape.head_width
        angles = torch.outer(torch.arange(shape.context).float(), shape.rope_theta**-exponents)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Turn ``[batch, heads, time, head width]`` by its positions 0, 1, ..."""
        time = x.shape[-2]
        cos, sin = self.cos[:time].to(x.dtype), self.sin[:time].to(x.dtype)
        first, second = x.chunk(2, -1)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


class Attention(nn.Module):
    """Causal grouped-query attention without biases (Ainslie et al., arXiv 2305.13245)."""

    def __init__(self, shape: StudentShape, rotary: Rotary) -> None:
        super().__init__()
        self.heads, self.groups, self.size = shape.heads, shape.kv_heads, shape.head_width
        kv_width = shape.kv_heads * shape.head_width
        self.q_proj = nn.Linear(shape.width, shape.width, bias=False)
        self.k_proj = nn.Linear(shape.width, kv_width, bias=False)
        self.v_proj = nn.Linear(shape.width, kv_width, bias=False)
        self.o_proj = nn.Linear(shape.width, shape.width, bias=False)
        self.rotary = rotary

    def forward(self, x: Tensor) -> Tensor:
        """Map ``[batch, time, width]`` to the same shape."""
        shared = self.heads // self.groups
        q = self.rotary(self._split(self.q_proj(x), self.heads))
        k = self.rotary(self._split(self.k_proj(x), self.groups)).repeat_interleave(shared, 1)
        v = self._split(self.v_proj(x), self.groups).repeat_interleave(shared, 1)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        out: Tensor = self.o_proj(mixed.transpose(1, 2).reshape(x.shape))
        return out

    def _split(self, x: Tensor, heads: int) -> Tensor:
        return x.view(*x.shape[:2], heads, self.size).transpose(1, 2)


class FeedForward(nn.Module):
    """SwiGLU, ``down(silu(gate(x)) * up(x))`` (Shazeer, arXiv 2002.05202), without biases."""

    def __init__(self, shape: StudentShape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.width, shape.mlp, bias=False)
        self.up_proj = nn.Linear(shape.width, shape.mlp, bias=False)
        self.down_proj = nn.Linear(shape.mlp, shape.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map ``[batch, time, width]`` to the same shape."""
        out: Tensor = self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class Branch(nn.Module):
    """One residual branch, ``h <- N_res(alpha * h + beta * N_out(F(N_in(h))))``; a norm that is not placed is absent.

    Args:
        function: F.
        norms: which of the norms there are, and the scales.
        shape: for the width and the epsilon.
    """

    def __init__(self, function: Attention | FeedForward, norms: LayerNorms, shape: StudentShape) -> None:
        super().__init__()
        self.function = function
        self.norms = norms
        self.norm_in = _norm(norms.norm_in, shape)
        self.norm_out = _norm(norms.norm_out, shape)
        self.norm_res = _norm(norms.norm_res, shape)

    def forward(self, h: Tensor) -> Tensor:
        """Map ``[batch, time, width]`` to the same shape."""
        update = self.norm_out(self.function(self.norm_in(h)))
        skip = h if self.norms.alpha == 1 else self.norms.alpha * h
        out: Tensor = self.norm_res(torch.add(skip, update, alpha=self.norms.beta))
        return out


def _norm(placed: bool, shape: StudentShape) -> nn.Module:
    return RMSNorm(shape.width, shape.eps) if placed else nn.Identity()


class Layer(nn.Module):
    """An attention branch and a feed-forward branch."""

    def __init__(self, shape: StudentShape, norms: tuple[LayerNorms, LayerNorms], rotary: Rotary) -> None:
        super().__init__()
        self.attention = Branch(Attention(shape, rotary), norms[0], shape)
        self.feed_forward = Branch(FeedForward(shape), norms[1], shape)

    def forward(self, h: Tensor) -> Tensor:
        """Map ``[batch, time, width]`` to the same shape."""
        out: Tensor = self.feed_forward(self.attention(h))
        return out
