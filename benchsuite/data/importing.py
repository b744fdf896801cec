"""Bring a data set that lies in an archive or a folder to its place below the data folder.

Which one it is, the names of the files inside tell: each card's ``files`` and ``layouts`` say what its folder holds.
Nothing gets that name before the data set's own reader has read it.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from benchsuite.archives import written_whole
from benchsuite.data import GraphDataset, NodeDataset, load
from benchsuite.data.download import require_room
from benchsuite.data.presence import marks
from benchsuite.errors import MissingDataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from benchsuite.archives import Source
    from benchsuite.contracts.cards import DatasetCard

__all__ = ["Found", "bring", "lacking", "recognise"]

_LEFTOVERS = ("__MACOSX",)
_MADE = (*_LEFTOVERS, "processed")
"""Folders inside a data set that are not taken: leftovers of a Mac, and what other libraries made of the files."""


class Found(NamedTuple):
    """A data set inside an archive or a folder."""

    card: DatasetCard
    inside: str
    """The folder in there that holds it; empty where that is all of it."""


def recognise(source: Source, cards: Iterable[DatasetCard], member: str | None = None) -> Found | None:
    """Return which data set ``source`` holds, or None where it holds none.

    Where the names inside fit several (OGB's molecules all have the same), the one is taken after which the folder
    inside or the archive is called.

    Args:
        source: an archive or a folder.
        cards: of the data sets that it may be.
        member: the folder inside, where there are several; None for the one that lies least deep.

    Raises:
        UsageError: it may be several; or it is at several places inside.
    """
    folders = _folders(source.names)
    wanted = None if member is None else str(PurePosixPath(member)).removeprefix(".")
    fitting = [(card, where) for card in cards if (where := _where(card, folders, wanted))]
    if len(fitting) > 1:
        called = [each for each in fitting if _calls(each[0]) & {*map(_last, each[1]), _stem(source.path)}]
        fitting = called or fitting
    if not fitting:
        return None
    if len(fitting) > 1:
        names = ", ".join(card.name for card, _ in fitting)
        raise UsageError(f"{source.path} may be any of {names}", "Choose one with --name")
    card, where = fitting[0]
    if len(where) > 1:
        raise UsageError(f"{source.path} holds {card.name} at {', '.join(where)}", "Choose one with --member")
    return Found(card, where[0])


def lacking(source: Source, cards: Iterable[DatasetCard]) -> MissingDataError | None:
    """Return the error of an archive that holds a part of a data set, or None where it holds a part of none."""
    names = {PurePosixPath(name).name for name in _sound(source.names)}
    best: tuple[float, str, list[str]] | None = None
    for card in cards:
        for files in marks(card):
            lacks = [file for file in files if not any(fnmatchcase(name, PurePosixPath(file).name) for name in names)]
            share = 1 - len(lacks) / len(files)
            if share and (best is None or share > best[0]):
                best = share, card.name, lacks
    if best is None:
        return None
    lacks = best[2] or ["its folders"]
    more = f" and {len(lacks) - 3} more" if len(lacks) > 3 else ""
    return MissingDataError(
        f"{source.path} looks like {best[1]}, and lacks {', '.join(lacks[:3])}{more}", "Get it again, whole"
    )


def bring(source: Source, found: Found, root: Path, force: bool) -> Path:
    """Copy a data set to its folder below ``root``, and return that. It is there whole and sound, or not at all.

    Args:
        source: what it lies in.
        found: of :func:`recognise`.
        root: the data folder; made where it does not exist.
        force: replace a folder that is there.

    Raises:
        UsageError: the folder is there already.
        MissingDataError: the archive is damaged, or its reader refuses what is in there.
        StoreError: the data folder cannot be written, or the disk has no room.
    """
    card, target = found.card, root / found.card.folder
    if target.exists() and not force:
        raise UsageError(f"{target} is there already", "Replace it with --force")
    before = f"{found.inside}/" if found.inside else ""
    below = [name.removeprefix(before) for name in source.names if name.startswith(before)]
    names = _sound(below, _MADE)
    with written_whole(target, root, force) as folder:
        require_room(sum(source.size(before + name) for name in names), folder, f"data set {card.name!r}")
        for name in names:
            copy = folder / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            source.copy(before + name, copy)
        _require_sound(card, folder.parents[len(PurePosixPath(card.folder).parts) - 1], source.path)
    return target


def _require_sound(card: DatasetCard, root: Path, path: Path) -> None:
    """Read the data set below ``root``, which is not there for long: errors name ``path``.

    Raises:
        MissingDataError: its reader refuses it, or it breaks an invariant.
    """
    from benchsuite.data.validate import validate

    try:
        dataset = load(card, root)
        if isinstance(dataset, NodeDataset | GraphDataset):
            validate(dataset)
    except MissingDataError as error:
        said = error.message.replace(f"{root}/", "").replace(str(root), "it")
        raise MissingDataError(f"{path} holds no sound {card.name}: {said}", "Get it again") from error


def _folders(names: Iterable[str]) -> dict[str, list[str]]:
    """Return, for each folder (the outermost is ``""``), the paths inside it of all files below it."""
    found: dict[str, list[str]] = {}
    for name in _sound(names):
        parts = name.split("/")
        for depth in range(len(parts)):
            found.setdefault("/".join(parts[:depth]), []).append("/".join(parts[depth:]))
    return found


def _where(card: DatasetCard, folders: dict[str, list[str]], wanted: str | None) -> list[str]:
    """Return the folders that hold the card's files; of several those that lie least deep."""
    among = folders if wanted is None else {wanted: folders.get(wanted, [])}
    found = [folder for folder, names in among.items() if any(_has(names, files) for files in marks(card))]
    least = min((folder.count("/") + bool(folder) for folder in found), default=0)
    return sorted(folder for folder in found if folder.count("/") + bool(folder) == least)


def _has(names: Collection[str], patterns: Sequence[str]) -> bool:
    return all(any(_matches(name, pattern) for name in names) for pattern in patterns)


def _matches(name: str, pattern: str) -> bool:
    """Tell whether a path is of a pattern, in which no ``*`` stands for a ``/``."""
    return name.count("/") == pattern.count("/") and fnmatchcase(name, pattern)


def _sound(names: Iterable[str], litter: Sequence[str] = _LEFTOVERS) -> list[str]:
    """Return the names that are no litter: nothing hidden, and nothing in a folder of that name."""
    return [n for n in names if not any(part.startswith(".") or part in litter for part in n.split("/"))]


def _calls(card: DatasetCard) -> set[str]:
    """Return what folder and archive of a data set may be called, in lower case."""
    archives = {_stem(Path(each.file)) for each in card.downloads}
    return {card.name, card.name.replace("-", "_"), _last(card.folder), *archives}


def _last(path: str) -> str:
    return path.rpartition("/")[2].lower()


def _stem(path: Path) -> str:
    return path.name.partition(".")[0].lower()
