"""Scales per node that follow from the graph alone: PostDeg, and the arms that differ from it in one thing each."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from benchsuite.models.selection import core_numbers, degrees, graph_of, per_graph_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchsuite.plugin import Graph, ScaleSite, Slot


class Bare:
    """The backbone as it is: LayerNorm, and nothing in any slot."""

    slot: Slot | None = None
    norm_after = False

    def scaler(self, site: ScaleSite) -> Callable[[Tensor, Graph], Tensor]:
        """Return the scale that changes nothing."""
        return lambda x, graph: x.new_ones(len(x))


class InverseDegree:
    """``s_i = (1 + deg_i)^-power`` in one slot of every block (arXiv 2606.14022).

    Args:
        power: the exponent, positive or negative; 0.5 by default.
        slot: where it is multiplied in: S3, the output of the LayerNorm.
    """

    norm_after: ClassVar[bool] = False

    def __init__(self, power: float = 0.5, slot: Slot = "S3") -> None:
        self.power = power
        self.slot: Slot | None = slot

    def scaler(self, site: ScaleSite) -> Callable[[Tensor, Graph], Tensor]:
        """Return the scale, the same at every site."""
        return self._scale

    def scale(self, graph: Graph) -> Tensor:
        """Return ``[nodes]`` float32."""
        return (1 + self.count(graph)).pow(-self.power)

    def count(self, graph: Graph) -> Tensor:
        """Return ``[nodes]`` float32: the degree."""
        return degrees(graph)

    def _scale(self, x: Tensor, graph: Graph) -> Tensor:
        # Not in graph.cache: a power of a few thousand numbers costs less than a name that no other scale may share.
        return self.scale(graph).to(x.dtype)


class InverseCore(InverseDegree):
    """``(1 + core_i)^-power`` with the core number, another positive scalar that the topology gives."""

    def count(self, graph: Graph) -> Tensor:
        """Return ``[nodes]`` float32: the core number."""
        return core_numbers(graph)


class Graphwise(InverseDegree):
    """PostDeg's mean over the graph, the same for all of its nodes: it cannot order them."""

    def scale(self, graph: Graph) -> Tensor:
        """Return ``[nodes]`` float32, constant within each graph."""
        return per_graph_mean(super().scale(graph), graph)


class ExtraNorm(InverseDegree):
    """PostDeg with a second LayerNorm right behind the slot, which divides the scale out again."""

    norm_after = True


class Shuffled(InverseDegree):
    """PostDeg's values dealt out at random to the nodes of each graph: the right magnitudes on the wrong nodes.

    The deal depends on the graph and the cell's seed, and is the same in every block and every step.
    """

    def __init__(self, power: float = 0.5, slot: Slot = "S3") -> None:
        super().__init__(power, slot)
        self.seed: int | None = None

    def scaler(self, site: ScaleSite) -> Callable[[Tensor, Graph], Tensor]:
        """Return the scale; the first site decides the deal for all."""
        if self.seed is None:
            self.seed = int(torch.randint(2**62, (), generator=site.generator))
        return self._scale

    def count(self, graph: Graph) -> Tensor:
        """Return ``[nodes]`` float32: each the degree of a node of its graph."""
        # By id of the method: two of them may meet one graph.
        key = f"postdeg/shuffled/{self.seed}"
        if key not in graph.cache:
            graph.cache[key] = self._deal(graph)
        found: Tensor = graph.cache[key]
        return found

    def _deal(self, graph: Graph) -> Tensor:
        batch = graph_of(graph).cpu()
        generator = torch.Generator().manual_seed(self.seed or 0)
        chance = torch.randperm(len(batch), generator=generator)
        # Sorted by graph, at random within it; the places of each graph, in order, then take those nodes' degrees.
        drawn = torch.argsort(batch * len(batch) + chance)
        dealt = torch.empty(len(batch))
        dealt[torch.argsort(batch, stable=True)] = degrees(graph).cpu()[drawn]
        return dealt.to(graph.x.device)
