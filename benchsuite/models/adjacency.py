"""Normalised adjacencies in CSR form, and the one sparse product all backbones use."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

if TYPE_CHECKING:
    from benchsuite.contracts.graph import Graph

#: ``gcn``: D^-1/2 (A+I) D^-1/2; ``sum``: A+I; ``mean``: D^-1 A; ``loops``: A+I for attention, whose values come later;
#: ``edges``: A, whose entries are the graph's edges in their order.
Normalisation = Literal["gcn", "sum", "mean", "loops", "edges"]

#: Those without self loops.
_BARE = frozenset({"mean", "edges"})


@dataclass(frozen=True, eq=False)
class Adjacency:
    """A sparse ``[targets, sources]`` matrix over the nodes of ``graph``, in CSR form."""

    graph: Graph
    rowptr: Tensor
    """``[nodes + 1]`` int64."""
    row: Tensor
    """``[entries]`` int64, the target of each entry, ascending."""
    col: Tensor
    """``[entries]`` int64, the source of each entry."""
    value: Tensor
    """``[entries]`` float32; all ones for ``loops``."""

    @property
    def num_nodes(self) -> int:
        """Number of nodes, rows and columns alike."""
        return self.graph.num_nodes

    @property
    def num_entries(self) -> int:
        """Number of stored entries, self loops included."""
        return int(self.col.shape[0])

    @cached_property
    def transposition(self) -> tuple[Tensor, Tensor, Tensor]:
        """``(rowptr, col, order)`` of the transposed matrix; ``value[order]`` are its values."""
        order = torch.argsort(self.col, stable=True)  # entries of one source stay in the order of their targets
        counts = torch.bincount(self.col, minlength=self.num_nodes)
        return _pointers(counts), self.row[order], order

    @cached_property
    def transposed_value(self) -> Tensor:
        """:attr:`value` in the order of the transposed matrix."""
        return self.value[self.transposition[2]]

    def matmul(self, x: Tensor, value: Tensor | None = None) -> Tensor:
        """Return the product with ``x`` without materialising messages.

        Args:
            x: ``[nodes, features]`` float.
            value: ``[entries]`` to use in place of :attr:`value`; no gradient flows into it.

        Returns:
            ``[nodes, features]``.
        """
        values = self.value if value is None else value
        if x.requires_grad:
            other = None if values is self.value else values.detach()
            product: Tensor = _SparseProduct.apply(self, other, x)  # type: ignore[no-untyped-call]
            return product
        return csr(self.rowptr, self.col, values, self.num_nodes) @ x

    def reduce(self, messages: Tensor) -> Tensor:
        """Sum ``messages`` (``[entries, ...]``, in entry order) into their targets: ``[nodes, ...]``."""
        return messages.new_zeros(self.num_nodes, *messages.shape[1:]).index_add(0, self.row, messages)

    def softmax(self, scores: Tensor) -> Tensor:
        """Normalise ``scores`` (``[entries, heads]``) over the entries of each target."""
        shape = (self.num_nodes, *scores.shape[1:])
        index = self.row.view(-1, *[1] * (scores.dim() - 1)).expand_as(scores)
        top = scores.detach().new_full(shape, -torch.inf).scatter_reduce(0, index, scores.detach(), "amax")
        weights = (scores - top.index_select(0, self.row)).exp()
        return weights / self.reduce(weights).index_select(0, self.row)


class _SparseProduct(torch.autograd.Function):
    """CSR times dense, with the transposed product as its gradient (torch would transpose at every step)."""

    @staticmethod
    def forward(ctx: Any, adjacency: Adjacency, value: Tensor | None, x: Tensor) -> Tensor:
        ctx.adjacency, ctx.value = adjacency, value
        values = adjacency.value if value is None else value
        return csr(adjacency.rowptr, adjacency.col, values, adjacency.num_nodes) @ x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, None, Tensor]:
        rowptr, col, order = ctx.adjacency.transposition
        value = ctx.adjacency.transposed_value if ctx.value is None else ctx.value[order]
        return None, None, csr(rowptr, col, value, ctx.adjacency.num_nodes) @ grads[0].contiguous()


def csr(rowptr: Tensor, col: Tensor, value: Tensor, num_nodes: int) -> Tensor:
    """Return a square sparse CSR tensor of ``num_nodes`` rows."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse (CSR tensor support|invariant checks)", UserWarning)
        return torch.sparse_csr_tensor(rowptr, col, value, (num_nodes, num_nodes), check_invariants=False)


def _pointers(counts: Tensor) -> Tensor:
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def adjacency(graph: Graph, normalisation: Normalisation) -> Adjacency:
    """Return the adjacency of ``graph``, built once per graph object.

    Args:
        graph: any graph, also one without edges or nodes.
        normalisation: see :data:`Normalisation`. Every node gets exactly one self loop, but for ``mean`` and
            ``edges``, which have none: there an isolated node receives zero.
    """
    key = f"adjacency/{normalisation}"
    if key not in graph.cache:
        graph.cache[key] = _build(graph, normalisation)
    found: Adjacency = graph.cache[key]
    return found


def _build(graph: Graph, normalisation: Normalisation) -> Adjacency:
    n = graph.num_nodes
    row, col = _entries(graph)
    counts = torch.bincount(row, minlength=n)
    if normalisation not in _BARE:
        # Each row has one entry more, its own: behind the entries with a lower column, before the others.
        places = torch.arange(len(row), device=row.device) + row + (col > row)
        counts = counts + 1
        row = torch.arange(n, device=row.device).repeat_interleave(counts)
        col = row.clone().index_copy_(0, places, col)
    value = torch.ones(len(col), device=col.device)
    if normalisation == "gcn":
        scale = counts.float().rsqrt()
        value = scale[row] * scale[col]
    elif normalisation == "mean":
        value = counts.float().reciprocal()[row]
    return Adjacency(graph, _pointers(counts), row, col, value)


def _entries(graph: Graph) -> tuple[Tensor, Tensor]:
    """Return targets and sources of the edges, ascending, without self loops; as they are where they are so already."""
    col, row = graph.edge_index
    keep = row != col
    if not bool(keep.all()):
        col, row = col[keep], row[keep]
    keys = row * max(graph.num_nodes, 1) + col
    if not bool((keys[1:] > keys[:-1]).all()):
        order = torch.argsort(keys)
        col, row = col[order], row[order]
    return row, col
