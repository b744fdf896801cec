"""Quantization sites: the named places of a backbone that a quantizer may fill.

Every arithmetic operation of a backbone that costs something is one of two products, and each product's operands and
results are sites::

    combination    X W              input x weight            dense times dense
    aggregation    A X_c            adjacency x combined      sparse times dense, edge by edge: message

An empty site is the identity. A *filler* is a module called as ``filler(tensor, adjacency)`` that returns a tensor of
the same shape. An aggregation whose operands must be quantized together (TopGQ) takes an *operator* instead, called as
``operator(adjacency, value, x)``, which replaces the product.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchsuite.models.adjacency import Adjacency

Axis = Literal["node", "entry", "graph", "feature", "out", "in", "head"]


class Role(str, Enum):
    """What the tensor at a site is."""

    INPUT = "input"
    WEIGHT = "weight"
    COMBINED = "combined"
    ADJACENCY = "adjacency"
    MESSAGE = "message"
    AGGREGATE = "aggregate"
    UPDATE = "update"


class Site(nn.Module):
    """A place where one tensor passes.

    Args:
        role: what the tensor is.
        layer: index of the layer, from 0.
        axes: meaning of each dimension.
    """

    def __init__(self, role: Role, layer: int, axes: tuple[Axis, ...]) -> None:
        super().__init__()
        self.role = role
        self.layer = layer
        self.axes = axes
        self.filler: nn.Module | None = None

    def fill(self, filler: nn.Module | None) -> None:
        """Put ``filler`` in place, or empty the site with None."""
        self.filler = filler

    def forward(self, tensor: Tensor, adjacency: Adjacency) -> Tensor:
        """Return what the filler makes of ``tensor``; the tensor itself where there is none."""
        return tensor if self.filler is None else cast("Tensor", self.filler(tensor, adjacency))

    def extra_repr(self) -> str:
        """Show role and layer in the module's repr."""
        return f"{self.role.value}, layer={self.layer}"


class Weighted(nn.Module):
    """A module with one weight matrix that passes a weight site on its way into the arithmetic.

    Args:
        fan_in: input features.
        fan_out: output features.
        layer: index of the layer.
    """

    def __init__(self, fan_in: int, fan_out: int, layer: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(fan_out, fan_in))
        self.weight_site = Site(Role.WEIGHT, layer, ("out", "in"))

    def reset_parameters(self, generator: torch.Generator) -> None:
        """Draw Glorot-uniform weights."""
        bound = math.sqrt(6.0 / sum(self.weight.shape))
        with torch.no_grad():
            self.weight.uniform_(-bound, bound, generator=generator)


class Combination(Weighted):
    """X W: the dense product, without bias (biases are added where the backbone adds them, in float).

    Args:
        fan_in: input features.
        fan_out: output features.
        layer: index of the layer.
        rows: what a row of the input belongs to: a node, or in the head behind a pooling a graph.
    """

    def __init__(self, fan_in: int, fan_out: int, layer: int, rows: Literal["node", "graph"] = "node") -> None:
        super().__init__(fan_in, fan_out, layer)
        self.input_site = Site(Role.INPUT, layer, (rows, "feature"))

    def forward(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """Map ``[rows, in]`` to ``[rows, out]``."""
        return functional.linear(self.input_site(x, adjacency), self.weight_site(self.weight, adjacency))


class Embedding(Weighted):
    """X W with a one-hot X: the sum of one row of a table for each column of codes (:func:`one_hot`).

    A one-hot X is exact on any grid, so there is no input site; the tables pass a weight site as any weight does.

    Args:
        categories: how many codes each column has.
        fan_out: output features.
        layer: index of the layer.
    """

    def __init__(self, categories: Sequence[int], fan_out: int, layer: int) -> None:
        super().__init__(sum(categories), fan_out, layer)
        self.categories = tuple(categories)

    def reset_parameters(self, generator: torch.Generator) -> None:
        """Draw Glorot-uniform weights, table by table."""
        with torch.no_grad():
            for table in torch.split(self.weight, list(self.categories), 1):
                bound = math.sqrt(6.0 / sum(table.shape))
                table.uniform_(-bound, bound, generator=generator)

    def forward(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """Map one-hot ``[rows, sum of categories]`` float32 to ``[rows, out]``."""
        return functional.linear(x, self.weight_site(self.weight, adjacency))


def one_hot(codes: Tensor, categories: Sequence[int]) -> Tensor:
    """Return ``[rows, sum of categories]`` float32 with a one in each column's stretch, from codes ``[rows, columns]``.

    Args:
        codes: int64, each from 0 to its column's number of categories less one.
        categories: how many codes each column has.
    """
    starts = torch.tensor([sum(categories[:i]) for i in range(len(categories))], device=codes.device)
    out = torch.zeros(len(codes), sum(categories), device=codes.device)
    return out.scatter_(1, codes + starts, 1.0)


class AttentionScore(Weighted):
    """One half of an attention score: the inner product of each head's features with that head's vector.

    Args:
        heads: attention heads (the weight's rows).
        features: features per head (its columns).
        layer: index of the layer.
    """

    def __init__(self, heads: int, features: int, layer: int) -> None:
        super().__init__(features, heads, layer)

    def forward(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """Map ``[nodes, heads, features]`` to ``[nodes, heads]``."""
        weight: Tensor = self.weight_site(self.weight, adjacency)
        return (x * weight).sum(-1)


class Aggregation(nn.Module):
    """A X_c: the sparse product.

    Args:
        layer: index of the layer.
        heads: attention heads; 0 where the values are the adjacency's own and static.
        by_entry: X_c has a row for each entry, not for each node: what is sent depends on the edge too, so that
            ``A X_c`` sums over the entries of a row without looking up their sources.
    """

    def __init__(self, layer: int, heads: int = 0, by_entry: bool = False) -> None:
        super().__init__()
        self.heads, self.by_entry = heads, by_entry
        dense: tuple[Axis, ...] = ("head", "feature") if heads else ("feature",)
        self.adjacency_site = Site(Role.ADJACENCY, layer, ("entry", "head") if heads else ("entry",))
        self.combined_site = Site(Role.COMBINED, layer, ("entry" if by_entry else "node", *dense))
        self.message_site = Site(Role.MESSAGE, layer, ("entry", *dense))
        self.aggregate_site = Site(Role.AGGREGATE, layer, ("node", *dense))
        self.operator: nn.Module | None = None

    def replace(self, operator: nn.Module | None) -> None:
        """Let ``operator(adjacency, value, x)`` compute the product; None restores the plain one."""
        self.operator = operator

    def forward(self, adjacency: Adjacency, value: Tensor, x: Tensor) -> Tensor:
        """Aggregate ``x`` over the entries.

        Args:
            adjacency: structure.
            value: ``[entries]``, or ``[entries, heads]`` with attention.
            x: ``[nodes, features]``, or ``[nodes, heads, features]``; ``by_entry`` rows are entries.

        Returns:
            The shape of ``x``, with a row for each node.
        """
        if self.operator is not None:
            product: Tensor = self.operator(adjacency, value, x)
        else:
            product = self._product(adjacency, self.adjacency_site(value, adjacency), self.combined_site(x, adjacency))
        return cast("Tensor", self.aggregate_site(product, adjacency))

    def _product(self, adjacency: Adjacency, value: Tensor, x: Tensor) -> Tensor:
        if not self.heads and not self.by_entry and self.message_site.filler is None:
            return adjacency.matmul(x, value)
        messages = value.unsqueeze(-1) * (x if self.by_entry else x[adjacency.col])
        return adjacency.reduce(self.message_site(messages, adjacency))
