"""MNIST and CIFAR10 as graphs of superpixels, from the files that PyTorch Geometric's ``GNNBenchmarkDataset`` wrote.

The graphs are those of Dwivedi et al. (JMLR 2023, arXiv 2003.00982): a node is a superpixel, and sends edges to the
eight that are most like it in place and colour, so that an edge need not have its reverse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from benchsuite.contracts.dataset import GraphDataset
from benchsuite.data.pyg.splits import Facts, find, folds
from benchsuite.data.pyg.stored import Stored, join, read_stored

if TYPE_CHECKING:
    from pathlib import Path

CLASSES = 10
_FILES = ("train_data.pt", "val_data.pt", "test_data.pt")


def _facts(name: str, folder: str, graphs: tuple[int, int, int]) -> Facts:
    parents = ("GNNBenchmarkDataset/", "superpixels/", "")
    places = tuple(f"{parent}{folder}/processed" for parent in parents)
    maker = f"GNNBenchmarkDataset(BENCHSUITE_DATA/GNNBenchmarkDataset, '{folder}')"
    return Facts(name, places, _FILES, graphs, maker)


MNIST = _facts("mnist-superpixels", "MNIST", (55_000, 5_000, 10_000))
CIFAR10 = _facts("cifar10-superpixels", "CIFAR10", (45_000, 5_000, 10_000))


def mnist_superpixels(root: Path | None) -> GraphDataset:
    """Return MNIST's 70,000 images. Raises as :func:`read_superpixels`."""
    return read_superpixels(MNIST, 1, root)


def cifar10_superpixels(root: Path | None) -> GraphDataset:
    """Return CIFAR10's 60,000 images. Raises as :func:`read_superpixels`."""
    return read_superpixels(CIFAR10, 3, root)


def read_superpixels(facts: Facts, colours: int, root: Path | None) -> GraphDataset:
    """Return the graphs: mean colour and place of a superpixel as features, and the similarity on an edge.

    Args:
        facts: where the files lie, and how many graphs they have.
        colours: 1 for grey, 3 for red, green and blue.
        root: the data folder, or None.

    Raises:
        MissingDataError: no folder, missing files, or a file that is damaged, refused or another data set's.
    """
    files = [read_stored(path) for path in find(facts, root)]
    real = torch.float32
    graph, undirected = join(
        files,
        [
            torch.cat([file.take("x", real, file.sizes, colours), file.take("pos", real, file.sizes, 2)], 1)
            for file in files
        ],
        [file.take("edge_attr", real, file.counts, 1) for file in files],
    )
    return GraphDataset(
        name=facts.name,
        graph=graph,
        y=torch.cat([_classes(file) for file in files]),
        folds=folds(facts, files),
        num_classes=CLASSES,
        undirected=undirected,
    )


def _classes(file: Stored) -> torch.Tensor:
    y = file.take("y", torch.int64, torch.ones_like(file.sizes), 1)[:, 0]
    if not (int(y.min()) >= 0 and int(y.max()) < CLASSES):
        raise file.wrong(f"has classes outside 0 to {CLASSES - 1}")
    return y
