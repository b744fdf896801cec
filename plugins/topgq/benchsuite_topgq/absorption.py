"""Dual-axis scale absorption: the aggregation A X_c on integers, with scales per node and per feature at once.

A scale per node on X_c would stand between the two integer matrices. TopGQ moves it into the columns of A::

    A X_c = (A diag(S_N)) (diag(S_N)^-1 X_c) ~ (S_A outer S_X) * (A^Q X^Q)

with the left factor rounded per row (S_A) and the right one per column (S_X). Without S_N this is the plain
column-wise quantization that came before; each layer keeps the one that rounds less away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from benchsuite_topgq.grids import FLOOR

if TYPE_CHECKING:
    from benchsuite.models.adjacency import Adjacency
    from benchsuite_topgq.groups import Groups, Placement

#: What the two candidates of a layer are compared on: X_c against its rounded self, or A X_c.
Selection = Literal["activation", "output"]


class QuantizedAggregation(nn.Module):
    """The product ``A X_c`` on integer codes, for static adjacency values and for attention, head by head.

    Args:
        groups: the groups of nodes.
        bits: width of both operands.
        feature_scale: ``[features]`` or ``[heads, features]`` float32, the step of each column.
        node_scale: ``[groups]`` or ``[groups, heads]`` float32, S_N; None for column-wise quantization.
        by_entry: rows of X_c are entries; each takes the scale of the node that sends it.
    """

    feature_scale: Tensor
    node_scale: Tensor | None

    def __init__(
        self,
        groups: Groups,
        bits: int,
        feature_scale: Tensor,
        node_scale: Tensor | None = None,
        by_entry: bool = False,
    ) -> None:
        super().__init__()
        self.groups, self.by_entry = groups, by_entry
        self.top = 2**bits - 1
        self.peak = 2 ** (bits - 1) - 1
        self.register_buffer("feature_scale", feature_scale)
        self.register_buffer("node_scale", node_scale)
        self._static: WeakKeyDictionary[Placement, tuple[Tensor, Tensor]] = WeakKeyDictionary()

    def node_scales(self, adjacency: Adjacency) -> Tensor | None:
        """Return S_N of every node, ``[nodes]`` or ``[nodes, heads]``; None for column-wise quantization."""
        if self.node_scale is None:
            return None
        return self.groups.of(adjacency.graph).spread(self.node_scale).clamp_(min=FLOOR)

    def feature_steps(self, adjacency: Adjacency) -> Tensor:
        """Return the step of every element of X_c: ``S_N outer S_X``, or S_X alone. It broadcasts to X_c."""
        rows = self.node_scales(adjacency)
        if rows is None:
            return self.feature_scale
        return (rows[adjacency.col] if self.by_entry else rows).unsqueeze(-1) * self.feature_scale

    def feature_codes(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """Return X^Q as floats, the shape of ``x``, from ``-(2^(bits-1) - 1)`` to ``2^(bits-1) - 1``."""
        return (x / self.feature_steps(adjacency)).round_().clamp_(-self.peak, self.peak)

    def rounded(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """Return ``x`` as its codes stand for it."""
        return self.feature_codes(x, adjacency).mul_(self.feature_steps(adjacency))

    def adjacency_codes(self, adjacency: Adjacency, value: Tensor) -> tuple[Tensor, Tensor]:
        """Return A^Q (the shape of ``value``, floats from 0 to ``2^bits - 1``) and S_A (``[nodes]`` or with heads).

        Static values are rounded once per graph; attention at every call.
        """
        if value is not adjacency.value:
            return self._round_adjacency(adjacency, value)
        place = self.groups.of(adjacency.graph)
        found = self._static.get(place)
        if found is None:
            found = self._static[place] = self._round_adjacency(adjacency, value)
        return found

    def _round_adjacency(self, adjacency: Adjacency, value: Tensor) -> tuple[Tensor, Tensor]:
        nodes = self.node_scales(adjacency)
        merged = value if nodes is None else value * nodes[adjacency.col]
        row = adjacency.row.view(-1, *[1] * (merged.dim() - 1)).expand_as(merged)
        highest = merged.new_zeros(adjacency.num_nodes, *merged.shape[1:]).scatter_reduce_(0, row, merged, "amax")
        scale = highest.div_(self.top).clamp_(min=FLOOR)
        return (merged / scale[adjacency.row]).round_().clamp_(0, self.top), scale

    def forward(self, adjacency: Adjacency, value: Tensor, x: Tensor) -> Tensor:
        """Return the aggregate, the shape of ``x``.

        The sums of codes are whole numbers carried in float32, exact below 2^24.

        Args:
            adjacency: structure.
            value: ``[entries]`` or ``[entries, heads]`` float32, not negative.
            x: ``[nodes, features]`` or ``[nodes, heads, features]`` float32; ``[entries, features]`` where
                ``by_entry``.
        """
        codes, scale = self.adjacency_codes(adjacency, value)
        features = self.feature_codes(x, adjacency)
        if self.by_entry:
            sums = adjacency.reduce(features.mul_(codes.unsqueeze(-1)))
        else:
            sums = code_product(adjacency, codes, features)
        return sums.mul_(scale.unsqueeze(-1)).mul_(self.feature_scale)


def code_product(adjacency: Adjacency, codes: Tensor, x: Tensor) -> Tensor:
    """Return the sparse product of ``codes`` (``[entries]`` or with heads) and ``x``, head by head."""
    if codes.dim() == 1:
        return adjacency.matmul(x, codes)
    heads = zip(codes.unbind(1), x.unbind(1), strict=True)
    return torch.stack([adjacency.matmul(part.contiguous(), weight.contiguous()) for weight, part in heads], 1)


class Pick(NamedTuple):
    """What one layer's aggregation became."""

    operator: QuantizedAggregation
    dual_axis_mse: float
    column_mse: float


def candidates(
    groups: Groups, bits: int, x: Tensor, sender: Tensor | None = None
) -> tuple[QuantizedAggregation, QuantizedAggregation]:
    """Return the dual-axis and the column-wise quantization of ``x``, fitted to the calibration graph.

    Args:
        groups: the groups of the calibration graph.
        bits: width.
        x: X_c, ``[nodes, features]`` or ``[nodes, heads, features]``; or ``[entries, features]``.
        sender: ``[entries]`` int64, the node behind each row where rows are entries; None where they are nodes.
    """
    magnitude, by_entry = x.abs(), sender is not None
    nodes = groups.calibrated.peak(_by_node(magnitude.amax(-1), sender, groups), len(groups))
    column = QuantizedAggregation(groups, bits, _steps(magnitude, bits), by_entry=by_entry)
    scale = groups.calibrated.spread(nodes).clamp_(min=FLOOR)
    shares = magnitude.div_((scale if sender is None else scale[sender]).unsqueeze(-1))
    return QuantizedAggregation(groups, bits, _steps(shares, bits), nodes, by_entry), column


def _by_node(peaks: Tensor, sender: Tensor | None, groups: Groups) -> Tensor:
    """Return the largest of each node's ``peaks``, zero for a node that sends nothing."""
    if sender is None:
        return peaks
    return peaks.new_zeros(len(groups.calibrated.index)).scatter_reduce_(0, sender, peaks, "amax")


def _steps(magnitude: Tensor, bits: int) -> Tensor:
    peak = magnitude.amax(0) if len(magnitude) else magnitude.new_zeros(magnitude.shape[1:])
    return peak.div_(2 ** (bits - 1) - 1).clamp_(min=FLOOR)


def select(
    pair: tuple[QuantizedAggregation, QuantizedAggregation],
    on: Selection,
    adjacency: Adjacency,
    value: Tensor,
    x: Tensor,
    product: Tensor,
) -> Pick:
    """Keep the candidate with the lower mean squared error; the column-wise one where they tie.

    Args:
        pair: dual-axis and column-wise.
        on: what the error is taken on.
        adjacency: the calibration graph's.
        value: its values.
        x: X_c in float32.
        product: A X_c in float32.
    """
    if on == "activation":
        dual, column = (_mse(candidate.rounded(x, adjacency), x) for candidate in pair)
    else:
        dual, column = (_mse(candidate(adjacency, value, x), product) for candidate in pair)
    return Pick(pair[0] if dual < column else pair[1], dual, column)


def _mse(found: Tensor, wanted: Tensor) -> float:
    return float((found - wanted).square_().mean()) if wanted.numel() else 0.0
