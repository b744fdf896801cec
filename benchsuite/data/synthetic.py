"""``powerlaw-sbm`` and ``powerlaw-sbm-large``: a degree-corrected stochastic block model with planted classes.

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
    from collections.abc import Iterator
    from pathlib import Path

_ROUNDS = 64
_CHUNK = 2**20
"""Numbers that are worked on at once, so that memory goes with the graph and not with what is made on the way."""


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


LARGE = Recipe(
    nodes=170_000,
    classes=40,
    mean_degree=14.0,
    homophily=0.45,
    features=128,
    noise=8.0,
    per_class=2250,
    validation=30_000,
)
"""Of ``powerlaw-sbm-large``."""


def powerlaw_sbm(_root: Path | None = None) -> NodeDataset:
    """Return the data set of the ``quick`` suite: :class:`Recipe` as it stands."""
    return generate(Recipe())


def powerlaw_sbm_large(_root: Path | None = None) -> NodeDataset:
    """Return a graph of the size of ogbn-arxiv: nodes, edges, features, classes and shares of the split."""
    return generate(LARGE, "powerlaw-sbm-large")


def generate(recipe: Recipe, name: str = "powerlaw-sbm") -> NodeDataset:
    """Return a graph made by ``recipe``; the same recipe gives the same tensors.

    Args:
        recipe: what the graph is like.
        name: of the data set.

    Raises:
        UsageError: so many edges do not fit between the nodes that the weights prefer.
    """
    # RandomState, not Generator: its stream is frozen (NEP 19), so the graph is the same under every NumPy.
    draw = np.random.RandomState(recipe.seed)
    y = draw.permutation(np.arange(recipe.nodes) % recipe.classes)
    source, target = _Edges(y, draw.permutation(weights(recipe)), draw).draw_all(recipe)
    x = _features(recipe, y, draw)
    graph = Graph(torch.from_numpy(x), undirected(source, target, recipe.nodes))
    train, val, test = stratified_split(y, recipe.per_class, recipe.validation, recipe.seed)
    return NodeDataset(name, graph, torch.from_numpy(y), train, val, test, recipe.classes)


def _features(recipe: Recipe, y: np.ndarray, draw: np.random.RandomState) -> np.ndarray:
    """Return ``[nodes, features]`` float32."""
    means = draw.standard_normal((recipe.classes, recipe.features))
    found = np.empty((recipe.nodes, recipe.features), np.float32)
    rows = max(1, _CHUNK // recipe.features)
    for start in range(0, recipe.nodes, rows):
        mean = means[y[start : start + rows]]
        x = mean + recipe.noise * draw.standard_normal(mean.shape)
        x /= np.hypot(1, recipe.noise)
        # Rounded, so that a last bit of some machine's logarithm does not make it another data set.
        found[start : start + rows] = np.round(x, 3)
    return found


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
    """Draws edges between nodes with classes ``y`` and weights.

    The nodes lie on a line, class after class, each with a stretch of its weight; a point of the line picks a node.
    """

    def __init__(self, y: np.ndarray, weight: np.ndarray, draw: np.random.RandomState) -> None:
        self.draw, self.nodes = draw, len(y)
        order = np.argsort(y, kind="stable")
        bounds = np.concatenate([[0.0], np.cumsum(weight[order])])
        self.line, self.whole = Line(bounds), bounds[-1]
        # Small numbers stay in the cache.
        self.order, self.classes = order.astype(np.int32), y[order].astype(np.int32)
        self.class_bounds = bounds[np.concatenate([[0], np.cumsum(np.bincount(y))])]

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
                self.draw.shuffle(keys)
                return keys[:count]
            keys = distinct(np.concatenate([keys, *self._pairs(count - len(keys) + count // 20 + 8, same)]))
        message = f"powerlaw-sbm: {count:,} edges do not fit between {self.nodes:,} nodes with so steep degrees"
        raise UsageError(message, "Lower mean_degree or raise exponent")

    def _pairs(self, count: int, same: bool) -> Iterator[np.ndarray]:
        """Yield keys of up to ``count`` pairs, some of them twice."""
        first, second = self.draw.random_sample(count), self.draw.random_sample(count)
        for start in range(0, count, _CHUNK):
            one = self.line.find(first[start : start + _CHUNK] * self.whole)
            other = self.line.find(self._partner(self.classes[one], second[start : start + _CHUNK], same))
            # The second test is for a point that rounds onto the bound of the next class.
            keep = (one != other) & ((self.classes[one] == self.classes[other]) == same)
            ends = self.order[one[keep]], self.order[other[keep]]
            yield np.minimum(*ends).astype(np.int64) * self.nodes + np.maximum(*ends)

    def _partner(self, classes: np.ndarray, chance: np.ndarray, same: bool) -> np.ndarray:
        """Return a point of the same class as each of ``classes``, or of another, in proportion to the weights."""
        low, high = self.class_bounds[classes], self.class_bounds[classes + 1]
        points: np.ndarray
        if same:
            points = low + chance * (high - low)
            return points
        # The other classes' stretch of the line is what remains without [low, high).
        points = chance * (self.whole - (high - low))
        return np.where(points < low, points, points + (high - low))


class Line:
    """Stretches of a line one after the other, and which of them holds a point.

    A table says for each of many equal cells which stretch holds its begin, and a few steps from there lead to the
    point (Chen and Asau, AIIE Transactions 6, 1974). A binary search misses the cache at each of its twenty steps.
    """

    def __init__(self, bounds: np.ndarray) -> None:
        self.bounds, self.last = bounds, len(bounds) - 2
        cells = 4 * len(bounds)
        self.scale = cells / bounds[-1]
        self.table = self._search(np.arange(cells + 2) / self.scale).astype(np.int32)

    def _search(self, point: np.ndarray) -> np.ndarray:
        return np.minimum(np.searchsorted(self.bounds, point, side="right") - 1, self.last)

    def find(self, point: np.ndarray) -> np.ndarray:
        """Return ``[points]`` int32: for each point the last stretch that begins at it or before."""
        place: np.ndarray = self.table[(point * self.scale).astype(np.int32)]
        late = np.flatnonzero((self.bounds[place + 1] <= point) & (place < self.last))
        while len(late):
            place[late] += 1
            at = place[late]
            late = late[(self.bounds[at + 1] <= point[late]) & (at < self.last)]
        # A point that was rounded into the next cell: begun too late.
        early = np.flatnonzero(self.bounds[place] > point)
        place[early] = self._search(point[early])
        return place
