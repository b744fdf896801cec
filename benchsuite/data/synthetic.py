"""``powerlaw-sbm``: a degree-corrected stochastic block model with planted classes.

Every node has a weight drawn from a power law and a class. An edge joins two nodes of one class, or of two classes, in
proportions set by the homophily; within classes its ends are chosen in proportion to the weights (Karrer and Newman,
Phys. Rev. E 83, 016107, 2011, arXiv 1008.3926).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from benchsuite.contracts.dataset import NodeDataset
from benchsuite.contracts.graph import Graph
from benchsuite.data.edges import distinct, stratified_split, undirected
from benchsuite.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

_ROUNDS = 64


@dataclass(frozen=True)
class Recipe:
    """What a generated graph is like."""

    nodes: int = 3000
    classes: int = 5
    mean_degree: float = 12.0
    homophily: float = 0.5
    """Share of edges that join nodes of one class."""
    exponent: float = 2.5
    """Of the degree distribution's tail, p(d) ~ d^-exponent; above 2."""
    features: int = 32
    noise: float = 3.0
    """Standard deviation of the features around their class's mean, over that of the means; together they have 1."""
    per_class: int = 20
    """Training nodes of each class."""
    validation: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        bad = next((name for name, fine in self._rules() if not fine), None)
        if bad is not None:
            raise UsageError(
                f"powerlaw-sbm cannot have {bad} = {getattr(self, bad)!r}", "See benchsuite/data/synthetic.py"
            )

    def _rules(self) -> tuple[tuple[str, bool], ...]:
        room = self.nodes - self.classes * (self.per_class + 1)
        return (
            ("classes", self.classes >= 2),
            ("nodes", room >= self.validation),
            ("mean_degree", 0 < self.mean_degree < self.nodes / self.classes),
            ("homophily", 0 <= self.homophily <= 1),
            ("exponent", self.exponent > 2),
            ("features", self.features >= 1),
            ("noise", self.noise >= 0),
            ("per_class", self.per_class >= 1),
            ("validation", self.validation >= self.classes),
        )


def powerlaw_sbm(_root: Path | None = None) -> NodeDataset:
    """Return the data set of the ``quick`` suite: :class:`Recipe` as it stands."""
    return generate(Recipe())


def generate(recipe: Recipe) -> NodeDataset:
    """Return a graph made by ``recipe``; the same recipe gives the same tensors.

    Raises:
        UsageError: so many edges do not fit between the nodes that the weights prefer.
    """
    # RandomState, not Generator: its stream is frozen (NEP 19), so the graph is the same under every NumPy.
    draw = np.random.RandomState(recipe.seed)
    y = draw.permutation(np.arange(recipe.nodes) % recipe.classes)
    source, target = _Edges(y, draw.permutation(weights(recipe)), draw).draw_all(recipe)
    means = draw.standard_normal((recipe.classes, recipe.features))
    x = means[y] + recipe.noise * draw.standard_normal((recipe.nodes, recipe.features))
    x /= np.hypot(1, recipe.noise)
    # Rounded, so that a last bit of some machine's logarithm does not make it another data set.
    graph = Graph(torch.from_numpy(np.round(x, 3).astype(np.float32)), undirected(source, target, recipe.nodes))
    train, val, test = stratified_split(y, recipe.per_class, recipe.validation, recipe.seed)
    return NodeDataset("powerlaw-sbm", graph, torch.from_numpy(y), train, val, test, recipe.classes)


def weights(recipe: Recipe) -> np.ndarray:
    """Return ``[nodes]`` expected degrees, descending: evenly spaced quantiles of a Pareto distribution.

    They are capped at sqrt(nodes * mean degree): above it two hubs would be joined more than once (Chung and Lu,
    Annals of Combinatorics 6, 2002).
    """
    rank = (np.arange(recipe.nodes) + 0.5) / recipe.nodes
    pareto = rank ** (-1 / (recipe.exponent - 1))
    cap = np.sqrt(recipe.nodes * recipe.mean_degree)
    expected: np.ndarray = np.minimum(pareto * recipe.mean_degree / pareto.mean(), cap)
    return expected


class _Edges:
    """Draws edges between nodes with classes ``y`` and weights."""

    def __init__(self, y: np.ndarray, weight: np.ndarray, draw: np.random.RandomState) -> None:
        self.y, self.draw, self.nodes = y, draw, len(y)
        self.order = np.argsort(y, kind="stable")
        self.bounds = np.concatenate([[0.0], np.cumsum(weight[self.order])])
        ends = np.concatenate([[0], np.cumsum(np.bincount(y))])
        self.class_bounds = self.bounds[ends]

    def draw_all(self, recipe: Recipe) -> tuple[np.ndarray, np.ndarray]:
        """Return both ends of all edges, each edge once."""
        total = round(recipe.nodes * recipe.mean_degree / 2)
        inside = round(total * recipe.homophily)
        keys = np.concatenate([self._distinct(inside, same=True), self._distinct(total - inside, same=False)])
        return keys // self.nodes, keys % self.nodes

    def _distinct(self, count: int, same: bool) -> np.ndarray:
        """Return ``count`` different pairs, as ``lower * nodes + higher``, within classes or between them."""
        keys = np.empty(0, np.int64)
        for _ in range(_ROUNDS):
            if len(keys) >= count:
                return self.draw.permutation(keys)[:count]
            one, other = self._pairs(count - len(keys) + count // 20 + 8, same)
            # The second test is for a point that rounds onto the bound of the next class.
            keep = (one != other) & ((self.y[one] == self.y[other]) == same)
            low, high = np.minimum(one, other)[keep], np.maximum(one, other)[keep]
            keys = distinct(np.concatenate([keys, low * self.nodes + high]))
        message = f"powerlaw-sbm: {count:,} edges do not fit between {self.nodes:,} nodes with so steep degrees"
        raise UsageError(message, "Lower mean_degree or raise exponent")

    def _pairs(self, count: int, same: bool) -> tuple[np.ndarray, np.ndarray]:
        one = self._pick(self.draw.random_sample(count) * self.bounds[-1])
        low, high = self.class_bounds[self.y[one]], self.class_bounds[self.y[one] + 1]
        chance = self.draw.random_sample(count)
        if same:
            return one, self._pick(low + chance * (high - low))
        # The other classes' stretch of the line is what remains without [low, high).
        point = chance * (self.bounds[-1] - (high - low))
        return one, self._pick(np.where(point < low, point, point + (high - low)))

    def _pick(self, point: np.ndarray) -> np.ndarray:
        place = np.searchsorted(self.bounds, point, side="right") - 1
        return self.order[np.minimum(place, self.nodes - 1)]
