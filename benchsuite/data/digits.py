"""``digits-knn``: scikit-learn's bundled handwritten digits as a nearest-neighbour graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

from benchsuite.contracts.dataset import NodeDataset
from benchsuite.contracts.graph import Graph
from benchsuite.data.edges import stratified_split, undirected

if TYPE_CHECKING:
    from pathlib import Path

NEIGHBOURS = 10
_SPLIT_SEED = 0


def digits_knn(_root: Path | None = None) -> NodeDataset:
    """Return the digits: 1,797 nodes, 64 features in 0..1 (pixels over 16), 10 classes.

    Each digit is joined with its ten nearest others by Euclidean distance, and the graph is made undirected. Of each
    class 20 train; 500 validate; 1,097 test.
    """
    digits = load_digits()
    x = torch.from_numpy(digits.data.astype(np.float32) / 16)
    y = digits.target.astype(np.int64)
    source, target = nearest(digits.data, NEIGHBOURS)
    graph = Graph(x, undirected(source, target, len(y)))
    train, val, test = stratified_split(y, per_class=20, validation=500, seed=_SPLIT_SEED)
    return NodeDataset("digits-knn", graph, torch.from_numpy(y), train, val, test, num_classes=10)


def nearest(points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(point, neighbour)`` for the ``k`` nearest others of every point; equal distances go by lower index.

    Args:
        points: ``[n, d]`` whole numbers as float64, so small that no sum rounds: ties between distances are common,
            and the graph must not depend on how a machine sums or sorts.
        k: how many neighbours.
    """
    squares = (points**2).sum(1)
    distances = squares[:, None] + squares - 2 * points @ points.T
    ranked = distances * len(points) + np.arange(1, len(points) + 1)
    np.fill_diagonal(ranked, 0)  # below all others, also below those at distance 0
    graph = NearestNeighbors(n_neighbors=k, metric="precomputed").fit(ranked).kneighbors_graph()
    point, neighbour = graph.nonzero()
    return point, neighbour
