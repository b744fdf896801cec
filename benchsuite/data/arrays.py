"""NumPy's files (``.npz``, ``.npy``) that others made, read without trust: no pickles, no more than a stated size."""

from __future__ import annotations

import zipfile
import zlib
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

_AGAIN = "Get the original file again"
_DISTRUST = "Do not trust this file"
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError, KeyError)
"""What reading a damaged, encrypted or strangely packed file may raise; a pickle raises ValueError."""


class Arrays(NamedTuple):
    """The arrays of one file, and the errors that name it."""

    path: Path
    found: dict[str, np.ndarray]

    def wrong(self, what: str) -> MissingDataError:
        """Return the error for content that is not what it should be."""
        return MissingDataError(f"{self.path} {what}: damaged, or another data set", _AGAIN)

    def take(self, name: str, kind: str, *shape: int | None) -> np.ndarray:
        """Return one array.

        Args:
            name: of the array.
            kind: ``integers`` or ``numbers``.
            shape: that it must have; None where any length will do.

        Raises:
            MissingDataError: it is missing, or of another shape or kind.
        """
        array = self.found.get(name)
        if array is None:
            raise self.wrong(f"has no {name}")
        fits = array.ndim == len(shape) and all(w in (None, n) for w, n in zip(shape, array.shape, strict=True))
        if not fits or array.dtype.kind not in ("iu" if kind == "integers" else "iufb"):
            said = ", ".join("any" if length is None else str(length) for length in shape)
            raise self.wrong(f"has {name} of {list(array.shape)} {array.dtype} in place of [{said}] {kind}")
        return array

    def table(self, name: str, rows: int, columns: int) -> np.ndarray:
        """Return ``[rows, columns]`` float32, finite.

        Raises:
            MissingDataError: as :meth:`take`; or a value is not finite.
        """
        table = self.take(name, "numbers", rows, columns).astype(np.float32, copy=False)
        if not np.isfinite(table.sum(dtype=np.float64)):
            raise self.wrong(f"has {name} that is not finite")
        return table

    def classes(self, name: str, items: int, classes: int) -> np.ndarray:
        """Return ``[items]`` int64, each below ``classes``.

        Raises:
            MissingDataError: as :meth:`take`; or a value is outside.
        """
        return self.below(name, self.take(name, "integers", items).astype(np.int64), classes)

    def pairs(self, prefix: str, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
        """Return row and column of each entry of a matrix in compressed rows, ``[entries]`` int64 both.

        Args:
            prefix: before ``indptr`` and ``indices``.
            rows: that the matrix must have.
            columns: that it must have.

        Raises:
            MissingDataError: as :meth:`take`; or they make no such matrix.
        """
        bounds = self.take(f"{prefix}indptr", "integers", rows + 1).astype(np.int64)
        indices = self.take(f"{prefix}indices", "integers", None).astype(np.int64)
        lengths = np.diff(bounds)
        if bounds[0] != 0 or bounds[-1] != len(indices) or (lengths < 0).any():
            raise self.wrong(f"has {prefix}indptr that does not fit its {len(indices):,} {prefix}indices")
        return np.repeat(np.arange(rows), lengths), self.below(f"{prefix}indices", indices, columns)

    def below(self, name: str, values: np.ndarray, count: int) -> np.ndarray:
        """Return ``values``, each of which is in ``0..count - 1``.

        Raises:
            MissingDataError: one is not.
        """
        if len(values) and not (values.min() >= 0 and values.max() < count):
            raise self.wrong(f"has {name} outside 0 to {count - 1}")
        return values


def read_npz(path: Path, wanted: Collection[str], limit: int) -> Arrays:
    """Return those of the ``wanted`` arrays that the file has; of the others nothing is read.

    Args:
        path: of the file.
        wanted: names of arrays.
        limit: bytes that one array may have.

    Raises:
        MissingDataError: it cannot be read, is damaged, too large, or an array is a pickle.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = {info.filename.removesuffix(".npy"): info.file_size for info in archive.infolist()}
            broken = [name for name in wanted if name in names and names[name] > limit]
            if broken:
                raise MissingDataError(f"{path} has {broken[0]} of more than {limit:,} bytes", _DISTRUST)
            found = {}
            for name in wanted:
                if name in names:
                    with archive.open(f"{name}.npy") as member:
                        found[name] = _read(member, names[name])
                        # Its checksum is looked at when the end is read.
                        member.read()
    except ValueError as error:
        raise _refused(path, error) from error
    except _DAMAGE as error:
        raise MissingDataError(f"{path} is no whole npz: {' '.join(str(error).split())}", _AGAIN) from error
    return Arrays(path, found)


def read_npy(path: Path, name: str, limit: int) -> Arrays:
    """Return the array of the file, under a name.

    Args:
        path: of the file.
        name: of the array.
        limit: bytes that it may have.

    Raises:
        MissingDataError: it cannot be read, is damaged, too large, or a pickle.
    """
    try:
        size = path.stat().st_size
        if size > limit:
            raise MissingDataError(f"{path} has more than {limit:,} bytes", _DISTRUST)
        with path.open("rb") as file:
            return Arrays(path, {name: _read(file, size)})
    except ValueError as error:
        raise _refused(path, error) from error
    except _DAMAGE as error:
        raise MissingDataError(f"{path} is no whole npy: {' '.join(str(error).split())}", _AGAIN) from error


def _read(file: IO[bytes], size: int) -> np.ndarray:
    """Return the array in a file of ``size`` bytes; what its head claims beyond them is not believed."""
    version = np.lib.format.read_magic(file)
    read_head = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_head(file)
    claimed = dtype.itemsize * int(np.prod(shape, dtype=object)) if shape else dtype.itemsize
    if not dtype.hasobject and claimed > size:
        raise EOFError(f"it claims {claimed:,} bytes and has {size:,}")
    file.seek(0)
    return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def _refused(path: Path, error: ValueError) -> MissingDataError:
    if "allow_pickle" in str(error):
        return MissingDataError(f"{path} is refused: it holds a pickle, which can run any code", _DISTRUST)
    return MissingDataError(f"{path} is damaged: {' '.join(str(error).split())[:120]}", _AGAIN)
