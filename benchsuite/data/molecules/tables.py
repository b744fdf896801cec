"""Tables of SMILES and measurements, as MoleculeNet has them: ``smiles`` and then a column for each target."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchsuite.data.bounded import read_gzip
from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from pathlib import Path

#: Bytes that a table may unpack to.
LIMIT = 2**26
_AGAIN = "Get the original file again"


class Table(NamedTuple):
    """A table of molecules."""

    smiles: list[str]
    y: np.ndarray
    """``[rows, targets]`` float32, NaN where a value is missing."""


def read_table(path: Path, targets: int, binary: bool) -> Table:
    """Return the table in a ``.csv.gz`` file.

    Args:
        path: of the file.
        targets: how many columns must follow ``smiles``.
        binary: whether all values must be 0 or 1.

    Raises:
        MissingDataError: it cannot be read, is damaged, or is another table.
    """
    try:
        rows = list(csv.reader(io.StringIO(read_gzip(path, LIMIT).decode("utf-8-sig")), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise MissingDataError(f"{path} holds no table: {error}", _AGAIN) from error
    if not rows or len(rows[0]) != targets + 1 or rows[0][0] != "smiles":
        found = f"columns {', '.join(rows[0])[:80]}" if rows else "nothing"
        raise MissingDataError(f"{path} has {found} in place of smiles and {targets} targets", _AGAIN)
    y = np.full((len(rows) - 1, targets), np.nan, np.float32)
    for number, row in enumerate(rows[1:]):
        if len(row) != targets + 1 or not row[0]:
            raise MissingDataError(f"{path}, line {number + 2} has {len(row)} columns or no SMILES", _AGAIN)
        for column, text in enumerate(row[1:]):
            if text:
                y[number, column] = _value(text, binary, f"{path}, line {number + 2}")
    return Table([row[0] for row in rows[1:]], y)


def _value(text: str, binary: bool, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value) or (binary and value not in (0, 1)):
        raise MissingDataError(f"{where} has {text!r:.40} where {'0 or 1' if binary else 'a number'} should be", _AGAIN)
    return value


def read_smiles(path: Path) -> list[str]:
    """Return the SMILES in a ``.smi.gz`` file, one a line.

    Raises:
        MissingDataError: it cannot be read, is damaged, or holds something else.
    """
    try:
        lines = read_gzip(path, LIMIT).decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        raise MissingDataError(f"{path} holds no SMILES: {error}", _AGAIN) from error
    for number, line in enumerate(lines, 1):
        if not line or " " in line or len(line) > 1000:
            raise MissingDataError(f"{path}, line {number} is no SMILES: {line[:40]!r}", _AGAIN)
    return lines
