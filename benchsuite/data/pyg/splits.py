"""Collections of graphs that lie as three files, one for each part of the split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from benchsuite.contracts.dataset import Split
from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from pathlib import Path

    from benchsuite.data.pyg.stored import Stored


@dataclass(frozen=True)
class Facts:
    """What is known of one collection, and where PyTorch Geometric puts it."""

    name: str
    places: tuple[str, ...]
    """Folders below the data folder, in the order of search."""
    files: tuple[str, str, str]
    """Of the graphs that train, validate and test."""
    graphs: tuple[int, int, int]
    """How many each has."""
    maker: str
    """What makes PyTorch Geometric write them."""


def find(facts: Facts, root: Path | None) -> list[Path]:
    """Return the three files of the first folder that has them.

    Raises:
        MissingDataError: no folder is named, or none has all three.
    """
    what = f"data set {facts.name!r}"
    mend = f"Let PyTorch Geometric write {', '.join(facts.files)}: {facts.maker}"
    if root is None or not root.is_dir():
        lack = "is not set" if root is None else f"names no folder: {root}"
        raise MissingDataError(f"{what} needs files, and BENCHSUITE_DATA {lack}", f"Set it to a folder. {mend}")
    for place in facts.places:
        missing = [name for name in facts.files if not (root / place / name).is_file()]
        if not missing:
            return [root / place / name for name in facts.files]
        if len(missing) < len(facts.files):
            raise MissingDataError(f"{what}: {root / place} lacks {', '.join(missing)}", mend)
    raise MissingDataError(f"{what}: {root} has no {facts.places[0]} with its files", mend)


def folds(facts: Facts, files: list[Stored]) -> tuple[Split]:
    """Return the one split that the files make.

    Raises:
        MissingDataError: a file has another number of graphs than is known.
    """
    for file, wanted in zip(files, facts.graphs, strict=True):
        if len(file.sizes) != wanted:
            raise file.wrong(f"has {len(file.sizes):,} graphs in place of {wanted:,}")
    part = torch.arange(len(files)).repeat_interleave(torch.tensor(facts.graphs))
    return (Split(part == 0, part == 1, part == 2),)
