"""Which nodes a training forward leaves in floats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchsuite.plugin import Graph


def degree_cdf(graph: Graph) -> Tensor:
    """Return for each node the share of its graph's nodes whose in-degree is at most its own.

    Args:
        graph: one graph, or a disjoint union, whose graphs are counted apart.

    Returns:
        ``[nodes]`` float32 in (0, 1]; built once per graph object.
    """
    key = "degree-quant/cdf"
    if key not in graph.cache:
        graph.cache[key] = _degree_cdf(graph)
    found: Tensor = graph.cache[key]
    return found


def _degree_cdf(graph: Graph) -> Tensor:
    n = graph.num_nodes
    degree = torch.bincount(graph.edge_index[1], minlength=n)
    batch = torch.zeros_like(degree) if graph.batch is None else graph.batch
    # One ordering of all nodes, graph by graph and by degree within: a node's rank less its graph's start is the
    # number of its graph's nodes that do not exceed it.
    key = batch * (n + 1) + degree
    ordered = key.sort().values
    start = torch.searchsorted(ordered, batch * (n + 1))
    at_most = torch.searchsorted(ordered, key, right=True) - start
    return at_most / torch.bincount(batch, minlength=1)[batch]


class Protection:
    """Draws a Bernoulli mask over the nodes for each training forward; none in eval mode.

    A node of in-degree k is protected with probability ``p_low + p_change * F(k)``, where F is the empirical
    distribution function of in-degrees in its graph, so equal degrees have equal probability (as in the authors' code,
    ``dq/transforms.py`` of ``camlsys/degree-quant``).

    Args:
        p_low: lower end of the probability.
        p_change: how far the probability of the highest degree lies above ``p_low``.
        generator: the method's own stream.
    """

    def __init__(self, p_low: float, p_change: float, generator: torch.Generator) -> None:
        self.p_low, self.p_change, self.generator = p_low, p_change, generator
        self.mask: Tensor | None = None

    def probability(self, graph: Graph) -> Tensor:
        """Return the protection probability of each node, ``[nodes]`` float32."""
        return (self.p_low + self.p_change * degree_cdf(graph)).clamp(max=1)

    def draw(self, model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Draw the mask of one forward: a pre-hook of the backbone, registered ``with_kwargs``."""
        self.mask = None
        if model.training:
            graph: Graph = args[0] if args else kwargs["graph"]
            self.mask = torch.bernoulli(self.probability(graph), generator=self.generator).bool()
