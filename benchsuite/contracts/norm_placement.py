"""Contract of the kind ``norm_placement``, version 1.

For transformers one formula covers the family::

    h <- N_res(alpha * h + beta * N_out(F(N_in(h))))        with an entry norm and a final norm around the stack

and a placement says which of these norms there are, layer by layer. For residual GNN blocks a placement names the
slot of a per-node scalar and the scalar.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch
    from torch import Tensor

    from benchsuite.contracts.graph import Graph

#: Positions in a residual GNN block: S0 on x before the convolution, S1 on its output, S2 on the norm's argument,
#: S3 on the norm's output, S4 after the activation, S5 on the block's output, S6 before the score head.
Slot = Literal["S0", "S1", "S2", "S3", "S4", "S5", "S6"]

#: What nodes are selected for: seeds of a cascade, nodes to remove, or nodes of an independent set.
Goal = Literal["influence", "dismantling", "independence"]


@dataclass(frozen=True)
class LayerNorms:
    """The norms and scales of one residual branch (attention or MLP) of one layer."""

    norm_in: bool = False
    norm_out: bool = False
    norm_res: bool = False
    alpha: float = 1.0
    """Scale of the skip path."""
    beta: float = 1.0
    """Scale of the branch."""
    gain: float = 1.0
    """Factor on the initial weights of the branch's value, output and feed-forward projections."""


@dataclass(frozen=True)
class StackNorms:
    """The norms of a whole stack of ``len(layers)`` layers."""

    layers: tuple[tuple[LayerNorms, LayerNorms], ...]
    """For each layer the attention branch and the MLP branch."""
    entry: bool
    """A norm on the embeddings, before the first layer."""
    final: bool
    """A norm after the last active layer."""


@runtime_checkable
class NormPlacement(Protocol):
    """A placement of norms in a decoder transformer."""

    def stack(self, depth: int) -> StackNorms:
        """Return the norms of a stack of ``depth`` layers; depth may enter the scales."""
        ...


@dataclass(frozen=True)
class ScaleSite:
    """One place in one model where a scale is put."""

    block: int
    """Index of the residual block, from 0; for slot S6, which is behind all of them, their number."""
    width: int
    """Features per node at the slot."""
    generator: torch.Generator
    """For the initial values of a scale that learns. It is not the one that the model's own weights come from, so that
    all placements of one seed start from the same model."""


@runtime_checkable
class NodeScale(Protocol):
    """A placement in a residual GNN block: a positive scalar per node, multiplied in at one slot of every block."""

    slot: Slot | None
    """None leaves the model as it is."""
    norm_after: bool
    """Whether a LayerNorm of its own follows the multiplication at once."""

    def scaler(self, site: ScaleSite) -> Callable[[Tensor, Graph], Tensor]:
        """Return the scale of one site; a ``torch.nn.Module`` is trained with the model.

        It is called as ``scaler(x, graph)`` with the features ``[nodes, width]`` at the slot, and returns ``[nodes]``
        of the type of ``x``: finite and positive. Nodes may be numbered in any order, and a graph may be a disjoint
        union (``graph.batch``), have isolated nodes, no edge or no node. What depends on the graph alone may be kept
        in ``graph.cache``.
        """
        ...


@runtime_checkable
class NodeRanking(Protocol):
    """A row without a model on a node-selection task: a heuristic that is not trained and has no norm to place."""

    def rank(self, graph: Graph, goal: Goal) -> Tensor:
        """Return ``[nodes]`` float scores of one graph or of a union: nodes of higher score are picked first."""
        ...
