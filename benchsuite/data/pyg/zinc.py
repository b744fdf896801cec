"""``zinc-12k``: ZINC's subset of 12,000 molecules, from the files that PyTorch Geometric's ``ZINC`` wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from benchsuite.contracts.dataset import GraphDataset
from benchsuite.data.pyg.splits import Facts, find, folds
from benchsuite.data.pyg.stored import Stored, join, read_stored

if TYPE_CHECKING:
    from pathlib import Path

FACTS = Facts(
    name="zinc-12k",
    places=("ZINC/subset/processed", "zinc/subset/processed", "subset/processed", "zinc-12k"),
    files=("train.pt", "val.pt", "test.pt"),
    graphs=(10_000, 1_000, 1_000),
    maker="ZINC(BENCHSUITE_DATA/ZINC, subset=True)",
)
#: Kinds of atoms, and of bonds: 0 is no bond; 1, 2 and 3 are single, double and triple.
ATOM_CATEGORIES, BOND_CATEGORIES = (28,), (4,)


def zinc(root: Path | None) -> GraphDataset:
    """Return the molecules: kinds of atoms and bonds as codes, penalized logP as it stands in the files as the target.

    Raises:
        MissingDataError: no folder, missing files, or a file that is damaged, refused or another data set's.
    """
    return read_zinc(FACTS, root)


def read_zinc(facts: Facts, root: Path | None) -> GraphDataset:
    """Return the data set of the files that ``facts`` describes. Raises as :func:`zinc`."""
    files = [read_stored(path) for path in find(facts, root)]
    graph, undirected = join(
        files,
        [_codes(file, "x", file.sizes, ATOM_CATEGORIES[0]) for file in files],
        [_codes(file, "edge_attr", file.counts, BOND_CATEGORIES[0]) for file in files],
    )
    return GraphDataset(
        name=facts.name,
        graph=graph,
        y=torch.cat([file.take("y", torch.float32, torch.ones_like(file.sizes), 1) for file in files]),
        folds=folds(facts, files),
        num_classes=1,
        undirected=undirected,
        target_type="values",
        node_categories=ATOM_CATEGORIES,
        edge_categories=BOND_CATEGORIES,
    )


def _codes(file: Stored, name: str, rows: torch.Tensor, categories: int) -> torch.Tensor:
    codes = file.take(name, torch.int64, rows, 1)
    if codes.numel() and not (int(codes.min()) >= 0 and int(codes.max()) < categories):
        raise file.wrong(f"has {name} outside 0 to {categories - 1}")
    return codes
