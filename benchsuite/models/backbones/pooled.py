"""Networks that say something of a whole graph: a backbone encodes its nodes, their mean goes through a head."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchsuite.errors import UsageError, near
from benchsuite.models.adjacency import adjacency
from benchsuite.models.backbone import Backbone
from benchsuite.models.backbones.gcn import GCN
from benchsuite.models.backbones.gin import GIN
from benchsuite.models.backbones.gine import GINE
from benchsuite.models.sites import Combination, one_hot

if TYPE_CHECKING:
    from benchsuite.contracts.graph import Graph
    from benchsuite.models.adjacency import Adjacency
    from benchsuite.models.sites import Site


class Shape(NamedTuple):
    """What a network must fit: what comes in and what goes out."""

    features: int
    """Width of the node features; of codes, how many columns they have."""
    outputs: int
    node_categories: tuple[int, ...] = ()
    """Where nodes have codes: how many each column has."""
    edge_categories: tuple[int, ...] = ()
    """Where edges have codes: how many each column has."""


class Pooled(Backbone):
    """An encoder of nodes, each graph's mean over its nodes in floats, and a head of one or two combinations.

    Codes go to the encoder as one-hot columns.

    Args:
        encoder: maps nodes to ``hidden`` features.
        shape: what comes in and goes out.
        hidden: width of the encoder's result.
        head_dropout: probability, inside a head of two; None for a head of one combination.
    """

    def __init__(self, encoder: Backbone, shape: Shape, hidden: int, head_dropout: float | None) -> None:
        super().__init__()
        self.normalisation = encoder.normalisation
        self.shape, self.head_dropout = shape, head_dropout
        self.encoder = encoder
        layer = 1 + max(site.layer for _, site in encoder.sites())
        widths = [hidden, shape.outputs] if head_dropout is None else [hidden, hidden, shape.outputs]
        pairs = list(pairwise(widths))
        self.head = nn.ModuleList(Combination(*pair, layer + i, rows="graph") for i, pair in enumerate(pairs))
        self.head_biases = nn.ParameterList(torch.zeros(width) for width in widths[1:])

    def forward(self, graph: Graph) -> Tensor:
        """Return ``[graphs, outputs]`` float32."""
        found = adjacency(graph, self.normalisation)
        x = mean_pool(self.encode(self._features(graph), found), graph)
        for i, (combination, bias) in enumerate(zip(self.head, self.head_biases, strict=True)):
            if i:
                x = functional.dropout(functional.relu(x), self.head_dropout or 0.0, self.training)
            x = combination(x, found) + bias
        return x

    def encode(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """Return ``[nodes, hidden]``."""
        return self.encoder.encode(x, adjacency)

    def output_site(self) -> Site | None:
        """Return None: the head follows the last update."""
        return None

    def _features(self, graph: Graph) -> Tensor:
        if graph.x.is_floating_point():
            return graph.x
        if "features/one-hot" not in graph.cache:
            graph.cache["features/one-hot"] = one_hot(graph.x, self.shape.node_categories)
        found: Tensor = graph.cache["features/one-hot"]
        return found


def mean_pool(x: Tensor, graph: Graph) -> Tensor:
    """Return the mean of ``x`` (``[nodes, features]``) over each graph's nodes, ``[graphs, features]``."""
    if graph.batch is None:
        return x.mean(0, keepdim=True)
    number = graph.num_graphs
    counts = torch.bincount(graph.batch, minlength=number).clamp(min=1)
    return x.new_zeros(number, x.shape[1]).index_add(0, graph.batch, x) / counts.unsqueeze(1)


def _gcn(shape: Shape, hidden: int, layers: int, dropout: float) -> Pooled:
    width = sum(shape.node_categories) or shape.features
    encoder = GCN(width, hidden, hidden=hidden, layers=layers, dropout=0.0, activate_last=True)
    return Pooled(encoder, shape, hidden, dropout)


def _gin(shape: Shape, hidden: int, layers: int, dropout: float) -> Pooled:
    width = sum(shape.node_categories) or shape.features
    encoder = GIN(width, hidden, hidden=hidden, layers=layers, dropout=0.0, activate_last=True, batch_norm=True)
    return Pooled(encoder, shape, hidden, dropout)


def _gine(shape: Shape, hidden: int, layers: int, dropout: float) -> Pooled:
    encoder = GINE(shape.node_categories, shape.edge_categories, hidden, layers, dropout)
    return Pooled(encoder, shape, hidden, None)


#: By name: called with a :class:`Shape` and ``hidden``, ``layers``, ``dropout``. ``gcn`` and ``gin`` have a head of two
#: combinations with dropout inside, as the networks that graph classification is compared with in PyTorch Geometric's
#: ``benchmark/kernel``; ``gine`` one, as OGB's.
POOLED = {"gcn": _gcn, "gin": _gin, "gine": _gine}


def build_pooled(name: str, shape: Shape, seed: int, **options: Any) -> Pooled:
    """Return an untrained network for whole graphs.

    Args:
        name: a key of :data:`POOLED`.
        shape: what it must fit.
        seed: of the initial weights; the same seed gives the same weights.
        options: ``hidden``, ``layers``, ``dropout``.

    Raises:
        UsageError: there is no such network, or it needs codes and the graphs have none.
    """
    if name not in POOLED:
        raise UsageError(f"there is no network {name!r} for whole graphs", near(name, POOLED))
    if name == "gine" and not (shape.node_categories and shape.edge_categories):
        raise UsageError("gine embeds codes of nodes and edges, and these graphs have none", "Take gcn or gin")
    model = POOLED[name](shape, **options)
    model.reset_parameters(torch.Generator().manual_seed(seed))
    return model
