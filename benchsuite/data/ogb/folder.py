"""Where the files of one of OGB's data sets lie, and in which of the two forms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from benchsuite.data.ogb.facts import PLACES
from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from pathlib import Path

    from benchsuite.data.ogb.facts import Facts

_SUFFIXES = (".csv.gz", ".csv")
_DATA = "raw/data.npz"


@dataclass(frozen=True)
class Folder:
    """A data set's own folder, as OGB's archive has it."""

    facts: Facts
    path: Path

    @cached_property
    def binary(self) -> bool:
        """Whether the graphs and targets are arrays in ``.npz`` files; the split is text in both forms."""
        return not self.has("raw/edge") and (self.path / _DATA).is_file()

    def has(self, table: str) -> bool:
        """Return whether there is a table, e.g. ``raw/edge``."""
        return any((self.path / f"{table}{suffix}").is_file() for suffix in _SUFFIXES)

    def table(self, table: str) -> Path:
        """Return the file of a table: the compressed one, if there are two.

        Raises:
            MissingDataError: there is none.
        """
        for suffix in _SUFFIXES:
            if (path := self.path / f"{table}{suffix}").is_file():
                return path
        raise self._lacks(f"{table}.csv.gz")

    def arrays(self, name: str) -> Path:
        """Return a file of arrays, ``raw/<name>.npz``.

        Raises:
            MissingDataError: there is none.
        """
        path = self.path / "raw" / f"{name}.npz"
        if not path.is_file():
            raise self._lacks(f"raw/{name}.npz")
        return path

    def files(self) -> list[Path]:
        """Return all files that are read.

        Raises:
            MissingDataError: one is absent.
        """
        if self.binary:
            return [*map(self.arrays, ("data", self.facts.label)), *map(self.table, self.facts.parts)]
        return [*map(self.table, self.facts.tables)]

    def wrong(self, where: str | Path, what: str) -> MissingDataError:
        """Return the error for a file whose content cannot be right."""
        said = f"damaged, or another data set than {self.facts.name!r}"
        return MissingDataError(
            f"{where} {what}: {said}", f"Replace it: benchsuite data fetch {self.facts.name} --force"
        )

    def _lacks(self, file: str) -> MissingDataError:
        return MissingDataError(f"data set {self.facts.name!r}: {self.path} has no {file}", mend(self.facts, None))


def find(facts: Facts, root: Path | None) -> Folder:
    """Return the first folder of :data:`benchsuite.data.ogb.facts.PLACES` that is there.

    Args:
        facts: of the data set.
        root: the data folder, or None.

    Raises:
        MissingDataError: no data folder is named, or it has no such folder, or cannot be searched.
    """
    what = f"data set {facts.name!r}"
    if root is None or not root.is_dir():
        lack = "is not set" if root is None else f"names no folder: {root}"
        raise MissingDataError(f"{what} needs files, and BENCHSUITE_DATA {lack}", mend(facts, None))
    for place in PLACES:
        path = root / f"{place}{facts.folder}"
        try:
            if path.is_dir() and any(path.iterdir()):
                return Folder(facts, path)
        except OSError as error:
            raise MissingDataError(
                f"{what}: {path} cannot be searched ({error.strerror})", "Make it readable"
            ) from error
    looked = ", ".join(f"{place}{facts.folder}" for place in PLACES)
    raise MissingDataError(f"{what}: {root} has no folder {looked}", mend(facts, root))


def mend(facts: Facts, root: Path | None) -> str:
    """Return what to do about a data set that is not there."""
    commands = f"benchsuite data fetch {facts.name}, or benchsuite data import {facts.archive}.zip"
    if root is None:
        return f"Set BENCHSUITE_DATA to a folder and run: {commands} (OGB's archive)"
    return f"Run: {commands} (OGB's archive), or put its folder {facts.archive} there as {root / facts.folder}"
