"""The three goals: what a model learns from, and how the host values an order of the nodes. Host only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from benchsuite.models.selection.greedy import greedy_degree, independent_set
from benchsuite.tasks.seeds import derive
from benchsuite.tasks.selection.dismantling import area, inverse_order
from benchsuite.tasks.selection.influence import Worlds, draw_worlds, marginal_gains, spread

if TYPE_CHECKING:
    from benchsuite.contracts.norm_placement import Goal
    from benchsuite.tasks.selection.graphs import Plain
    from benchsuite.tasks.selection.recipe import SelectionRecipe


class Objective(ABC):
    """One graph with one goal.

    Args:
        graph: with at least one node.
        recipe: of the task.
        seed: of whatever valuing the graph or making its target draws.
    """

    goal: ClassVar[Goal]

    def __init__(self, graph: Plain, recipe: SelectionRecipe, seed: int) -> None:
        self.graph, self.recipe, self.seed = graph, recipe, seed

    @abstractmethod
    def target(self) -> np.ndarray:
        """Return ``[nodes]``: what a model's scores are to look like; larger is picked earlier."""

    @abstractmethod
    def value(self, order: np.ndarray) -> float:
        """Return what picking nodes in ``order`` (``[nodes]`` int64, each once) achieves, as a share of the nodes."""

    @cached_property
    def greedy(self) -> float:
        """What the greedy degree rule achieves."""
        return self.value(greedy_degree(self.graph.edge_index, self.graph.nodes, self.goal))

    def ratio(self, order: np.ndarray) -> float:
        """Return the value of ``order`` over that of the greedy degree rule, in per cent; 100 where both are zero."""
        value = self.value(order)
        return 100.0 if value == self.greedy else 100.0 * value / self.greedy


class Influence(Objective):
    """Mean share of the nodes that cascades from the first nodes of the order reach."""

    goal = "influence"

    def target(self) -> np.ndarray:
        """Return each node's gain in spread when the greedy algorithm picks it."""
        return marginal_gains(self._worlds("target", self.recipe.cascade.target_worlds))

    def value(self, order: np.ndarray) -> float:
        """Return the spread of the budget's seeds."""
        budget = max(1, round(self.recipe.cascade.budget * self.graph.nodes))
        return spread(self._test_worlds, order[:budget].tolist()) / self.graph.nodes

    @cached_property
    def _test_worlds(self) -> Worlds:
        return self._worlds("test", self.recipe.cascade.test_worlds)

    def _worlds(self, purpose: str, count: int) -> Worlds:
        draw = np.random.RandomState(derive(self.seed, "worlds", purpose) % 2**32)
        return draw_worlds(self.graph, self.recipe.cascade.probability, count, draw)


class Dismantling(Objective):
    """Area under the curve of the largest component's share: small is good."""

    goal = "dismantling"

    def target(self) -> np.ndarray:
        """Return how early each node goes in an order that was built from its end: 1 first, towards 0 last."""
        early = np.empty(self.graph.nodes)
        early[inverse_order(self.graph)] = 1 - np.arange(self.graph.nodes) / self.graph.nodes
        return early

    def value(self, order: np.ndarray) -> float:
        """Return R."""
        return area(self.graph, order)


class Independence(Objective):
    """Size of the independent set that taking nodes in order leads to."""

    goal = "independence"

    def target(self) -> np.ndarray:
        """Return zeros: the loss is a function of the graph (:func:`benchsuite.tasks.selection.training.relaxed`)."""
        return np.zeros(self.graph.nodes)

    def value(self, order: np.ndarray) -> float:
        """Return the share of the nodes that are taken."""
        return len(independent_set(self.graph.edge_index, order)) / self.graph.nodes


OBJECTIVES: dict[Goal, type[Objective]] = {each.goal: each for each in (Influence, Dismantling, Independence)}


def objectives(graphs: list[Plain], recipe: SelectionRecipe, split: str) -> list[Objective]:
    """Return the objective of each graph of one split, each with a seed of its own."""
    seeds = [derive(recipe.graphs.seed, "objective", split, str(i)) for i in range(len(graphs))]
    return [OBJECTIVES[recipe.goal](graph, recipe, seed) for graph, seed in zip(graphs, seeds, strict=True)]


def order_of(scores: np.ndarray) -> np.ndarray:
    """Return the nodes by falling score; ties go to the lower index, which says nothing of the node."""
    return np.argsort(-scores, kind="stable")
