"""MNIST's test images as graphs: the file form, the graph of one image, and the whole data set."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest
import torch

from benchsuite.data.pyg import slic
from benchsuite.data.pyg.idx import read_idx
from benchsuite.data.pyg.slic import mnist_superpixels_10k, nearest, superpixels
from benchsuite.errors import MissingDataError


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHSUITE_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def segmentation():
    reason = "scikit-image is not installed: pip install 'benchsuite[superpixels]'"
    return pytest.importorskip("skimage.segmentation", reason=reason)


def idx(array: np.ndarray, magic: int | None = None) -> bytes:
    head = [0x0800 + array.ndim if magic is None else magic, *array.shape]
    return struct.pack(f">{len(head)}I", *head) + array.tobytes()


def write(path, payload: bytes):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(payload))
    return path


ARRAY = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


def test_an_idx_file(tmp_path):
    assert np.array_equal(read_idx(write(tmp_path / "a.gz", idx(ARRAY)), (2, 3, 4)), ARRAY)


BAD = [
    (idx(ARRAY, 0x0D03), "begins with [3331, 2, 3, 4] in place of [2051, 2, 3, 4]"),
    (idx(ARRAY.reshape(4, 3, 2)), "begins with [2051, 4, 3, 2]"),
    (idx(ARRAY)[:-1], "holds 23 bytes in place of 24"),
    (idx(ARRAY)[:9], "begins with [2051, 2] in place of"),
    (b"", "begins with [] in place of"),
    (idx(ARRAY) + b"!", "unpacks to more than 40 bytes"),
]


@pytest.mark.parametrize(("payload", "said"), BAD)
def test_a_bad_idx_file(tmp_path, payload, said):
    path = write(tmp_path / "a.gz", payload)
    with pytest.raises(MissingDataError) as caught:
        read_idx(path, (2, 3, 4))
    assert f"{path} {said}" in str(caught.value)


def test_nearest_by_hand():
    """Points 0, 1, 3 and 10 on a line: the nearest of 10 is 3, whose own nearest is 1."""
    edges = nearest(np.array([[0.0], [1.0], [3.0], [10.0]]), 1)
    assert {*map(tuple, edges.T.tolist())} == {(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)}
    assert nearest(np.zeros((3, 2)), 8).shape == (2, 6)
    assert nearest(np.zeros((1, 2)), 8).shape == (2, 0)


def test_nearest_are_sklearns():
    from sklearn.neighbors import kneighbors_graph

    points = np.random.RandomState(0).random_sample((60, 2))
    wanted = kneighbors_graph(points, 8).toarray().astype(bool)
    ours = np.zeros((60, 60), bool)
    ours[tuple(nearest(points, 8))] = True
    assert np.array_equal(ours, wanted | wanted.T)


def test_features_of_superpixels_by_hand():
    """A stand-in for SLIC cuts a 4 x 4 image into quarters."""
    image = np.zeros((4, 4))
    image[:2, 2:] = [[0.2, 0.4], [0.6, 0.8]]
    quarters = np.kron([[7, 3], [9, 5]], np.ones((2, 2), int))
    graph = superpixels(image, lambda *_, **__: quarters)
    # In the order of the numbers 3, 5, 7, 9: mean grey, then x (columns) and y (rows) over 4.
    assert graph.x.tolist() == pytest.approx(
        np.array([[0.5, 0.625, 0.125], [0, 0.625, 0.625], [0, 0.125, 0.125], [0, 0.125, 0.625]], np.float32)
    )
    assert graph.x.dtype == np.float32
    assert graph.edges.shape == (2, 12)


@pytest.fixture
def few(tmp_path, monkeypatch):
    """Return a folder with 60 images of one bright block, and their classes."""
    monkeypatch.setattr(slic, "IMAGES", 60)
    monkeypatch.setattr(slic, "HELD", 10)
    images = np.zeros((60, 28, 28), np.uint8)
    for number in range(60):
        images[number, 5 : 15 + number % 10, 8:20] = 200
    write(tmp_path / slic.FOLDER / slic.FILES[0], idx(images))
    write(tmp_path / slic.FOLDER / slic.FILES[1], idx(np.arange(60, dtype=np.uint8) % 10))
    return tmp_path


def test_the_data_set(few, segmentation):
    dataset = mnist_superpixels_10k(few)
    graph = dataset.graph
    assert dataset.num_graphs == 60
    assert [int(part.sum()) for part in dataset.folds[0]] == [40, 10, 10]
    assert torch.stack(list(dataset.folds[0])).sum(0).tolist() == [1] * 60
    assert dataset.y[dataset.folds[0].test].bincount().tolist() == [1] * 10
    degrees = graph.edge_index[1].bincount(minlength=graph.num_nodes)
    assert int(degrees.min()) >= 8
    source, target = graph.edge_index
    assert (torch.diff(target * graph.num_nodes + source) > 0).all()
    assert torch.equal(torch.sort(source * graph.num_nodes + target).values, target * graph.num_nodes + source)
    assert float(graph.x.min()) >= 0
    assert float(graph.x.max()) < 1
    assert mnist_superpixels_10k(few).content_hash() == dataset.content_hash()


def test_a_class_that_is_none(few, segmentation):
    write(few / slic.FOLDER / slic.FILES[1], idx(np.full(60, 10, np.uint8)))
    with pytest.raises(MissingDataError, match=r"t10k-labels-idx1-ubyte\.gz has class 10"):
        mnist_superpixels_10k(few)


def test_absent_files(tmp_path):
    with pytest.raises(MissingDataError, match="BENCHSUITE_DATA is not set"):
        mnist_superpixels_10k(None)
    with pytest.raises(MissingDataError, match="has no mnist_t10k/ with its files"):
        mnist_superpixels_10k(tmp_path)


def test_without_scikit_image(few, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "skimage", None)
    with pytest.raises(
        MissingDataError, match=r"scikit-image, which is missing\. Install it: pip install 'benchsuite\["
    ):
        mnist_superpixels_10k(few)


def real(data_root):
    folder = data_root / slic.FOLDER
    if not all((folder / name).is_file() for name in slic.FILES):
        pytest.skip(f"{slic.FOLDER} is not below BENCHSUITE_DATA")
    return folder


@pytest.mark.data
def test_real_images(data_root, segmentation):
    folder = real(data_root)
    labels = read_idx(folder / slic.FILES[1], (10_000,))
    assert np.bincount(labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    images = read_idx(folder / slic.FILES[0], (10_000, 28, 28))
    sizes = [len(superpixels(image / 255, segmentation.slic).x) for image in images[:200]]
    assert min(sizes) >= 60
    assert max(sizes) <= 85
    assert np.mean(sizes) == pytest.approx(73.6, abs=0.5)


@pytest.mark.data
@pytest.mark.slow
def test_the_real_data_set(data_root, segmentation):
    real(data_root)
    dataset = mnist_superpixels_10k(data_root)
    assert dataset.y.bincount().tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert [int(part.sum()) for part in dataset.folds[0]] == [8000, 1000, 1000]
    assert dataset.graph.num_nodes / 10_000 == pytest.approx(73.6, abs=1.5)
