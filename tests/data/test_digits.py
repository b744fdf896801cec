"""digits-knn: real digits, exact neighbours, a stratified split."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph

from benchsuite.data.digits import NEIGHBOURS, digits_knn, nearest


@pytest.fixture(scope="module")
def dataset():
    return digits_knn()


def test_features_and_labels_are_scikit_learns(dataset):
    digits = load_digits()
    assert torch.equal(dataset.graph.x, torch.from_numpy(digits.data / 16).float())
    assert dataset.y.tolist() == digits.target.tolist()


def test_sizes(dataset):
    assert dataset.graph.num_nodes == 1797
    assert [int(split.sum()) for split in dataset.splits().values()] == [200, 500, 1097]
    assert torch.bincount(dataset.y[dataset.train]).tolist() == [20] * 10
    assert (dataset.train.int() + dataset.val.int() + dataset.test.int() == 1).all()


def test_validation_has_the_classes_proportions(dataset):
    rest = ~dataset.train
    wanted = torch.bincount(dataset.y[rest]) * 500 / int(rest.sum())
    assert (torch.bincount(dataset.y[dataset.val]) - wanted).abs().max() <= 1


def test_every_edge_is_to_one_of_the_nearest(dataset):
    """Against scikit-learn's own graph: the same but for which of several equally far neighbours is taken."""
    points = load_digits().data
    distance = np.rint(cdist(points, points, "sqeuclidean"))
    np.fill_diagonal(distance, np.inf)
    reach = np.sort(distance, 1)[:, NEIGHBOURS - 1]
    source, target = dataset.graph.edge_index.numpy()
    assert (distance[source, target] <= np.maximum(reach[source], reach[target])).all()
    theirs = kneighbors_graph(points, NEIGHBOURS).nonzero()
    ours = set(zip(source.tolist(), target.tolist(), strict=True))
    absent = [(a, b) for a, b in zip(*theirs, strict=True) if (a, b) not in ours]
    assert all(distance[a, b] == reach[a] for a, b in absent)


def test_the_content_is_the_same_everywhere(dataset):
    """Integer distances and a frozen random stream: no machine may differ, or its results could not be compared."""
    assert dataset.content_hash() == digits_knn().content_hash()
    assert dataset.content_hash().startswith("69d501293ed7")


def test_ties_go_to_the_lower_index():
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    point, neighbour = nearest(square, 1)
    assert dict(zip(point.tolist(), neighbour.tolist(), strict=True)) == {0: 1, 1: 0, 2: 0, 3: 1}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=4, max_size=20))
def test_nearest_is_a_stable_sort_by_distance(rows):
    points = np.array(rows, dtype=float)
    found = {p: set() for p in range(len(points))}
    for p, q in zip(*nearest(points, 3), strict=True):
        found[int(p)].add(int(q))
    for p in found:
        others = sorted((((points[p] - points[q]) ** 2).sum(), q) for q in found if q != p)
        assert found[p] == {q for _, q in others[:3]}
