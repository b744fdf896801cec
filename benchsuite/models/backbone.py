"""The base of all backbones: a stack of layers over one adjacency, with its sites enumerable."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from benchsuite.models.adjacency import Adjacency, Normalisation, adjacency
from benchsuite.models.norm import BatchNorm
from benchsuite.models.sites import Aggregation, Combination, Embedding, Role, Site, Weighted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchsuite.contracts.graph import Graph


class Backbone(nn.Module, ABC):
    """A graph neural network made of combinations and aggregations.

    A subclass sets :attr:`normalisation` and implements :meth:`encode`; everything a quantizer needs (sites,
    combinations, aggregations) is found by walking its modules.
    """

    normalisation: Normalisation

    def forward(self, graph: Graph) -> Tensor:
        """Return the outputs, float32: ``[nodes, classes]``, or a row for each graph where the model pools."""
        return self.encode(graph.x, adjacency(graph, self.normalisation))

    @abstractmethod
    def encode(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """Return ``[nodes, outputs]`` from features ``[nodes, features]``."""

    def output_site(self) -> Site | None:
        """Return the update site that the model's output passes; None where something follows the last one."""
        return [site for _, site in self.sites() if site.role is Role.UPDATE][-1]

    def sites(self) -> Iterator[tuple[str, Site]]:
        """Yield ``(name, site)`` in forward order."""
        yield from ((name, m) for name, m in self.named_modules() if isinstance(m, Site))

    def weights(self) -> Iterator[tuple[str, Weighted]]:
        """Yield ``(name, module)`` for every module whose weight passes a site, in forward order."""
        yield from ((name, m) for name, m in self.named_modules() if isinstance(m, Weighted))

    def combinations(self) -> Iterator[tuple[str, Combination]]:
        """Yield ``(name, combination)`` in forward order."""
        yield from ((name, m) for name, m in self.named_modules() if isinstance(m, Combination))

    def aggregations(self) -> Iterator[tuple[str, Aggregation]]:
        """Yield ``(name, aggregation)`` in forward order."""
        yield from ((name, m) for name, m in self.named_modules() if isinstance(m, Aggregation))

    def embeddings(self) -> Iterator[tuple[str, Embedding]]:
        """Yield ``(name, embedding)`` in forward order."""
        yield from ((name, m) for name, m in self.named_modules() if isinstance(m, Embedding))

    def reset_parameters(self, generator: torch.Generator) -> None:
        """Draw all weights anew, in module order; norms start as the identity, biases become zero."""
        for _, module in self.weights():
            module.reset_parameters(generator)
        weights = {id(module.weight) for _, module in self.weights()}
        for parameter in self.parameters():
            if id(parameter) not in weights:
                nn.init.zeros_(parameter)
        for norm in self.modules():
            if isinstance(norm, BatchNorm):
                norm.reset_parameters()
