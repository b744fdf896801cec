"""Collections of graphs in PyTorch Geometric's own layout, and one made of MNIST's images, as cards."""

from __future__ import annotations

from benchsuite.contracts.cards import DatasetCard

_BENCHMARKING = "Dwivedi et al., JMLR 2023, arXiv 2003.00982"

GRAPHS: tuple[DatasetCard, ...] = (
    DatasetCard(
        name="zinc-12k",
        target="benchsuite.data.pyg.zinc:zinc",
        summary="ZINC's subset of 12,000 molecules, penalized logP; read from PyTorch Geometric's processed files.",
        licence="ZINC is free to use and asks that large parts not be redistributed",
        source=f"Irwin et al. 2012, doi 10.1021/ci3001277; split of {_BENCHMARKING}",
        files=tuple(f"ZINC/subset/processed/{part}.pt" for part in ("train", "val", "test")),
    ),
    DatasetCard(
        name="mnist-superpixels",
        target="benchsuite.data.pyg.superpixels:mnist_superpixels",
        summary="MNIST's 70,000 images as graphs of superpixels; read from PyTorch Geometric's processed files.",
        licence="CC BY-SA 3.0 (MNIST); MIT (benchmarking-gnns)",
        source=_BENCHMARKING,
        files=tuple(f"GNNBenchmarkDataset/MNIST/processed/{part}_data.pt" for part in ("train", "val", "test")),
    ),
    DatasetCard(
        name="cifar10-superpixels",
        target="benchsuite.data.pyg.superpixels:cifar10_superpixels",
        summary="CIFAR10's 60,000 images as graphs of superpixels; read from PyTorch Geometric's processed files.",
        licence="None stated for CIFAR10; MIT (benchmarking-gnns)",
        source=f"Krizhevsky 2009; {_BENCHMARKING}",
        files=tuple(f"GNNBenchmarkDataset/CIFAR10/processed/{part}_data.pt" for part in ("train", "val", "test")),
    ),
    DatasetCard(
        name="mnist-superpixels-10k",
        target="benchsuite.data.pyg.slic:mnist_superpixels_10k",
        summary="MNIST's 10,000 test images as graphs of superpixels by SLIC; a stand-in for the 70,000, split 8:1:1.",
        licence="CC BY-SA 3.0 (MNIST)",
        source=f"LeCun, Cortes, Burges; made after {_BENCHMARKING}",
        files=("mnist_t10k/t10k-images-idx3-ubyte.gz", "mnist_t10k/t10k-labels-idx1-ubyte.gz"),
    ),
)
