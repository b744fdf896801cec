"""Tables of numbers: gzipped or plain CSV without a header, and arrays in an ``.npz``. Nothing is unpickled."""

from __future__ import annotations

import gzip
import re
import warnings
import zipfile
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchsuite.data.ogb.folder import Folder

_DAMAGE = (gzip.BadGzipFile, zipfile.BadZipFile, EOFError, zlib.error, OSError, RuntimeError, NotImplementedError)
"""What reading a damaged, encrypted or strangely packed file may raise."""
_CELLS = 2**22
"""Numbers that are parsed at once."""
_SWELL = 1032
"""How many times its size a gzip file can unpack to (zlib's largest ratio)."""
_NUMBER = re.compile(rb"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
_MISSING = ("", "nan", "NaN")


def read_csv(
    folder: Folder, path: Path, dtype: type, columns: int, rows: int | None = None, most: int = 0
) -> np.ndarray:
    """Return the numbers of a CSV file, ``[rows, columns]``.

    Args:
        folder: for messages.
        path: ``.csv.gz`` or ``.csv``.
        dtype: ``np.int64``, ``np.float32``; or ``np.float64``, where an empty field is NaN.
        columns: how many each row must have.
        rows: how many there must be; None where that is not known.
        most: of an unknown number, how many there may be.

    Raises:
        MissingDataError: it is damaged, holds something that is no number, or has another shape.
    """
    bound = most if rows is None else rows
    # A number takes a byte at least besides its comma: sizes that cannot be are refused before they cost memory.
    if rows is not None and rows * columns > (path.stat().st_size + 1) * (_SWELL if path.suffix == ".gz" else 1):
        raise folder.wrong(path, f"is too short for {rows:,} rows")
    parts: list[np.ndarray] = []
    found = 0
    whole: np.ndarray | None = None if rows is None else np.empty((rows, columns), dtype)
    for part in _parts(folder, path, dtype, columns):
        found += len(part)
        if found > bound:
            raise folder.wrong(path, f"has more than {bound:,} rows")
        if whole is None:
            parts.append(part)
        else:
            whole[found - len(part) : found] = part
    if whole is None:
        return np.concatenate(parts) if parts else np.empty((0, columns), dtype)
    if found < len(whole):
        raise folder.wrong(path, f"has {found:,} rows in place of {rows:,}")
    return whole


def _parts(folder: Folder, path: Path, dtype: type, columns: int) -> Iterator[np.ndarray]:
    import pandas as pd

    try:
        with _opened(path) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas warns of a cast that it then refuses
            counted, rows = _Counted(file), 0
            for part in pd.read_csv(
                counted,  # type: ignore[call-overload]
                header=None,
                dtype=dtype,
                keep_default_na=False,
                na_values=_MISSING if dtype is np.float64 else [],
                skip_blank_lines=False,
                chunksize=max(1, _CELLS // columns),
            ):
                table = part.to_numpy()
                if table.shape[1] != columns:
                    raise folder.wrong(path, f"has {table.shape[1]} columns in place of {columns}")
                rows += len(table)
                yield table
            if counted.commas != rows * (columns - 1):
                raise ValueError("a row is too short")
    except pd.errors.EmptyDataError:
        if not path.stat().st_size:  # Python's gzip takes nothing for a packed nothing
            raise folder.wrong(path, "is empty") from None
    except (ValueError, OverflowError) as error:
        raise folder.wrong(path, _odd_line(path, dtype, columns) or f"cannot be read: {_cause(error)}") from error
    except _DAMAGE as error:
        raise folder.wrong(path, f"cannot be read: {_cause(error)}") from error


class _Counted:
    """A file that counts its commas as it is read: pandas fills a row that is too short with missing numbers."""

    def __init__(self, file: Any) -> None:
        self._file, self.commas = file, 0

    def read(self, size: int = -1) -> bytes:
        payload: bytes = self._file.read(size)
        self.commas += payload.count(b",")
        return payload

    def __iter__(self) -> Iterator[bytes]:  # pandas asks for it, and does not use it
        return iter(self._file)


def _odd_line(path: Path, dtype: type, columns: int) -> str:
    """Return what is wrong with the first line that is not as it should be; empty where all are."""
    kind, missing = ("whole number", False) if dtype is np.int64 else ("number", dtype is np.float64)
    with suppress(*_DAMAGE), _opened(path) as file:
        for number, line in enumerate(file, 1):
            fields = line.rstrip(b"\r\n").split(b",")
            if len(fields) != columns:
                return f"has {len(fields)} columns in place of {columns} in line {number:,}"
            for field in fields:
                if not (_fits(field, dtype) or (missing and field.strip(b' "').decode("latin1") in _MISSING)):
                    said = field[:40].decode("utf-8", "replace")
                    return f"has {said!r} in line {number:,}, which is no {kind}"
    return ""


def _opened(path: Path) -> Any:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def _fits(field: bytes, dtype: type) -> bool:
    if _NUMBER.fullmatch(field) is None:
        return False
    return dtype is not np.int64 or (float(field).is_integer() and abs(float(field)) < 2**63)


def read_npz(folder: Folder, path: Path, name: str, dtype: type, shape: tuple[int | None, ...]) -> np.ndarray:
    """Return one array of an ``.npz`` as ``dtype``.

    Args:
        folder: for messages.
        path: of the file.
        name: of the array in there.
        dtype: ``np.int64``, for which it must hold whole numbers of any width; else any numbers.
        shape: what it must have, None for any length.

    Raises:
        MissingDataError: the file is damaged; it has no such array, or one of another kind or shape.
    """
    try:
        with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as file:
            found, kind = _header(file)
            size = archive.getinfo(f"{name}.npy").file_size
            if len(found) != len(shape) or any(w not in (None, n) for w, n in zip(shape, found, strict=True)):
                wanted = ", ".join("any" if n is None else str(n) for n in shape)
                raise folder.wrong(path, f"has {name} of {list(found)} in place of [{wanted}]")
            if kind.kind not in ("iu" if dtype is np.int64 else "iufb"):
                raise folder.wrong(path, f"has {name} of {kind} in place of {np.dtype(dtype)}")
            # Refused before it costs memory.
            if int(np.prod(found, dtype=object)) * kind.itemsize > size:
                raise folder.wrong(path, f"has a {name} that is cut off")
        with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as file:
            array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
    except KeyError:
        raise folder.wrong(path, f"has no {name}") from None
    except (ValueError, *_DAMAGE) as error:
        raise folder.wrong(path, f"cannot be read: {_cause(error)}") from error
    return np.ascontiguousarray(array, dtype)


def _header(file: Any) -> tuple[tuple[int, ...], np.dtype]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    return shape, dtype


def _cause(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
