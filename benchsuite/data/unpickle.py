"""Typed readers for Planetoid's pickles: a CSR matrix, an array, adjacency lists. Nothing in a file is executed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix

from benchsuite.data.pickles import Array, Csr, Lists, Refused, evaluate
from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from pathlib import Path

#: Bytes; the largest original file (PubMed's allx) has 7.6 million.
LARGEST_FILE = 64 * 2**20


def read_matrix(path: Path, mend: str = "") -> csr_matrix:
    """Return the sparse matrix in ``path``: float data, every index in range, rows in order.

    Args:
        path: a Python 2 pickle of a ``scipy.sparse.csr_matrix``.
        mend: what the user can do if it cannot be read.

    Raises:
        MissingDataError: it cannot be read, is damaged, or holds anything else.
    """
    try:
        return _matrix(evaluate(read_bytes(path)))
    except Refused as refusal:
        raise _refusal(path, refusal, "a sparse matrix", mend) from refusal


def read_array(path: Path, mend: str = "") -> np.ndarray:
    """Return the numeric array in ``path``, of at most two dimensions. Arguments and errors as :func:`read_matrix`."""
    try:
        return _array(evaluate(read_bytes(path)), "it")
    except Refused as refusal:
        raise _refusal(path, refusal, "an array", mend) from refusal


def read_lists(path: Path, mend: str = "") -> dict[int, list[int]]:
    """Return the adjacency lists in ``path``, with at most as many items as the file has bytes.

    Arguments and errors as :func:`read_matrix`.
    """
    try:
        program = read_bytes(path)
        return _lists(evaluate(program), len(program))
    except Refused as refusal:
        raise _refusal(path, refusal, "adjacency lists", mend) from refusal


def read_bytes(path: Path) -> bytes:
    """Return the bytes of ``path``.

    Raises:
        Refused: it cannot be read, is no plain file, is empty, or is larger than any Planetoid file.
    """
    try:
        if not path.is_file():
            raise Refused("it is no file")
        size = path.stat().st_size
        if not 0 < size <= LARGEST_FILE:
            raise Refused(f"it has {size:,} bytes")
        return path.read_bytes()
    except OSError as error:
        raise Refused(f"it cannot be opened ({error.strerror})") from error


def _refusal(path: Path, refusal: Refused, wanted: str, mend: str) -> MissingDataError:
    return MissingDataError(f"{path} is refused as {wanted} of Planetoid's: {refusal}", mend)


def _array(found: Any, what: str) -> np.ndarray:
    if not isinstance(found, Array) or found.value is None:
        raise Refused(f"{what} is no array")
    return found.value


def _vector(state: dict[Any, Any], name: str, kind: str) -> np.ndarray:
    vector = _array(state.get(name), name)
    if vector.ndim != 1 or vector.dtype.kind != kind:
        raise Refused(f"{name} is no vector of the right type")
    return vector


def _matrix(found: Any) -> csr_matrix:
    if not isinstance(found, Csr) or found.state is None:
        raise Refused("it is no matrix")
    match found.state.get("_shape"):
        case (int() as rows, int() as columns) if rows >= 0 and columns >= 0:
            shape = rows, columns
        case _:
            raise Refused("the matrix has no shape")
    data = _vector(found.state, "data", "f")
    indices = _vector(found.state, "indices", "i")
    indptr = _vector(found.state, "indptr", "i")
    # SciPy trusts these when it builds and multiplies: out of range they would read foreign memory.
    if len(indptr) != shape[0] + 1 or indptr[0] != 0 or indptr[-1] != len(data) or len(indices) != len(data):
        raise Refused("the matrix's parts do not fit together")
    if (np.diff(indptr) < 0).any() or (len(indices) and not 0 <= indices.min() <= indices.max() < shape[1]):
        raise Refused("the matrix has an index out of range")
    return csr_matrix((data, indices, indptr), shape=shape)


def _lists(found: Any, most: int) -> dict[int, list[int]]:
    if not isinstance(found, Lists):
        raise Refused("it is no dict of lists")
    if not all(type(node) is int and type(others) is list for node, others in found.items()):
        raise Refused("it maps something else than numbers to lists")
    # One list can stand at many keys: without this a small file could hold more edges than memory does.
    if sum(map(len, found.values())) > most:
        raise Refused("it has more items than bytes")
    if not all(type(other) is int for others in found.values() for other in others):
        raise Refused("a list holds something else than numbers")
    return dict(found)
