"""``mnist-superpixels-10k``: MNIST's 10,000 test images as graphs of superpixels. A stand-in for the 70,000 images.

Made after Dwivedi et al. (JMLR 2023, arXiv 2003.00982): SLIC with about 75 superpixels an image, a node for each,
joined with the eight nearest in place. Their edges point one way and their code weighs colour too; and of MNIST there
are the test images alone. So results are of this data set, and not of theirs.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.model_selection import train_test_split

from benchsuite.contracts.dataset import GraphDataset, Split
from benchsuite.contracts.graph import Graph
from benchsuite.data.bounded import digest
from benchsuite.data.edges import mask
from benchsuite.data.pyg.idx import read_idx
from benchsuite.data.unions import Small, kept, union
from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch import Tensor

NAME = "mnist-superpixels-10k"
FOLDER = "mnist_t10k"
FILES = ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz")
IMAGES, SIDE, CLASSES, NEIGHBOURS = 10_000, 28, 10, 8
HELD = 1_000
"""Images that validate, and as many that test."""
#: Raise it when the same files give other tensors: kept files are then made again.
CODE = "1"

log = logging.getLogger(__name__)


def mnist_superpixels_10k(root: Path | None) -> GraphDataset:
    """Return the images as graphs: mean grey (0 to 1) and centre (x, y, over the image's side) of each superpixel.

    8,000 images train, 1,000 validate and 1,000 test, stratified by class.

    Args:
        root: the data folder, or None.

    Raises:
        MissingDataError: no folder or file, scikit-image is missing, or a file is damaged or another one.
        StoreError: the cache cannot be written.
    """
    images, labels = _paths(root)
    depends = (digest(images), digest(labels), _skimage("skimage").__version__, CODE)
    tensors = kept(NAME, depends, lambda: _make(images, labels))
    return GraphDataset(
        name=NAME,
        graph=Graph(tensors["x"], tensors["edge_index"], tensors["batch"]),
        y=tensors["y"],
        folds=(Split(tensors["train"], tensors["val"], tensors["test"]),),
        num_classes=CLASSES,
    )


def _paths(root: Path | None) -> tuple[Path, Path]:
    what = f"data set {NAME!r}"
    mend = f"Put MNIST's {' and '.join(FILES)} into its {FOLDER}/"
    if root is None or not root.is_dir():
        lack = "is not set" if root is None else f"names no folder: {root}"
        raise MissingDataError(f"{what} needs files, and BENCHSUITE_DATA {lack}", f"Set it to a folder. {mend}")
    for folder in (root / FOLDER, root / "MNIST" / "raw", root):
        if all((folder / name).is_file() for name in FILES):
            return folder / FILES[0], folder / FILES[1]
    raise MissingDataError(f"{what}: {root} has no {FOLDER}/ with its files", mend)


def _skimage(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        mend = "Install it: pip install 'benchsuite[superpixels]'"
        raise MissingDataError(f"data set {NAME!r} is made by scikit-image, which is missing", mend) from error


def _make(images: Path, labels: Path) -> dict[str, Tensor]:
    pixels, classes = read_idx(images, (IMAGES, SIDE, SIDE)), read_idx(labels, (IMAGES,))
    if classes.max() >= CLASSES:
        raise MissingDataError(f"{labels} has class {classes.max()}", "Get the original file again")
    log.info("%s: %s images are cut into superpixels, once; about a minute", NAME, f"{IMAGES:,}")
    slic = _skimage("skimage.segmentation").slic
    graph = union([superpixels(image / 255, slic) for image in pixels])
    assert graph.batch is not None
    rest, test = train_test_split(np.arange(IMAGES), test_size=HELD, random_state=0, stratify=classes)
    train, val = train_test_split(rest, test_size=HELD, random_state=0, stratify=classes[rest])
    return {
        "x": graph.x,
        "edge_index": graph.edge_index,
        "batch": graph.batch,
        "y": torch.from_numpy(classes.astype(np.int64)),
        "train": mask(train, IMAGES),
        "val": mask(val, IMAGES),
        "test": mask(test, IMAGES),
    }


def superpixels(image: np.ndarray, slic: Callable[..., np.ndarray]) -> Small:
    """Return the graph of one image.

    Args:
        image: ``[side, side]`` float64, 0 to 1.
        slic: :func:`skimage.segmentation.slic`.
    """
    found = slic(image, n_segments=75, compactness=0.25, max_num_iter=10, start_label=0, channel_axis=None)
    codes = np.unique(found, return_inverse=True)[1].reshape(-1)
    pixels = np.bincount(codes)
    row, column = np.indices(image.shape).reshape(2, -1)
    grey, x, y = (np.bincount(codes, values) / pixels for values in (image.reshape(-1), column, row))
    centre = np.stack([x, y], 1) / len(image)
    features = np.concatenate([grey[:, None], centre], 1).astype(np.float32)
    return Small(features, nearest(centre, NEIGHBOURS))


def nearest(points: np.ndarray, neighbours: int) -> np.ndarray:
    """Return edges between points where either is among the other's nearest, in both directions.

    Args:
        points: ``[points, dimensions]``.
        neighbours: how many are nearest; of equally far ones those with lower indices.

    Returns:
        ``[2, edges]`` int64.
    """
    distance = ((points[:, None] - points[None]) ** 2).sum(2)
    np.fill_diagonal(distance, np.inf)
    chosen = np.argsort(distance, 1, kind="stable")[:, : min(neighbours, len(points) - 1)]
    near = np.zeros(distance.shape, bool)
    np.put_along_axis(near, chosen, True, 1)
    return np.stack(np.nonzero(near | near.T))
