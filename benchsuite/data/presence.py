"""Where the files of a data set lie, by its card alone: nothing is opened, and nothing heavy is imported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchsuite.contracts.cards import DatasetCard

__all__ = ["Presence", "find", "marks"]


class Presence(NamedTuple):
    """The files of a data set that is there."""

    place: Path
    """The folder that holds them all, or the one file."""
    size: int
    """Bytes on disk: of everything in a folder of the data set's own, else of the files that its card names."""


def find(card: DatasetCard, root: Path | None) -> Presence | None:
    """Return where the first layout lies that is there as a whole, or None.

    Args:
        card: its ``layouts`` are looked for where they say; its ``files`` also flat in ``root``, and as PyTorch
            Geometric puts them, ``<Name>/raw``.
        root: the data folder, or None.
    """
    if root is None or not root.is_dir():
        return None
    try:
        for folder, patterns in _places(card, root):
            found = [sorted(folder.glob(pattern)) for pattern in patterns]
            if found and all(found):
                return _presence(card, root, [path for paths in found for path in paths])
    except OSError:  # a folder that may not be looked into: its reader says so
        return None
    return None


def marks(card: DatasetCard) -> list[tuple[str, ...]]:
    """Return, for each of the card's layouts that lies in its own folder, the patterns of its files inside that."""
    inside = f"{card.folder}/"
    own = [files for files in (card.files, *card.layouts) if files and all(f.startswith(inside) for f in files)]
    return [tuple(file.removeprefix(inside) for file in files) for files in own] if card.folder else []


def _places(card: DatasetCard, root: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    for files in (card.files, *card.layouts):
        yield root, files
    names = tuple(file.rpartition("/")[2] for file in card.files)
    for folder in _folders(card, root):
        yield folder, names


def _folders(card: DatasetCard, root: Path) -> Iterator[Path]:
    """Yield where else the files may lie: flat in ``root``, and as PyTorch Geometric puts them, ``<Name>/raw``."""
    yield root
    flat = {file.partition("/")[0].lower() for file in card.files if "/" in file}
    for folder in sorted(root.iterdir()):
        if folder.name.lower() in flat:
            yield folder
    for raw in sorted((*root.glob("*/raw"), *root.glob("*/*/raw"))):
        if raw.parent.name.lower() == card.name:
            yield raw


def _presence(card: DatasetCard, root: Path, paths: list[Path]) -> Presence:
    own = root / card.folder
    if card.folder and all(own in path.parents for path in paths):
        return Presence(own, _size(own))
    common = os.path.commonpath([path if len(paths) == 1 else path.parent for path in paths])
    return Presence(Path(common), sum(map(_size, paths)))


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files if file.is_file())
