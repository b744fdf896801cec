"""MNIST's own file form: a magic number, sizes, then bytes; compressed by gzip (http://yann.lecun.com/exdb/mnist)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchsuite.data.bounded import read_gzip
from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from pathlib import Path

_UNSIGNED_BYTES = 0x0800


def read_idx(path: Path, shape: tuple[int, ...]) -> np.ndarray:
    """Return the array in an ``.idx.gz`` file, uint8.

    Args:
        path: of the file.
        shape: that it must have.

    Raises:
        MissingDataError: it cannot be read, is damaged, or holds another array.
    """
    head, size = 4 + 4 * len(shape), int(np.prod(shape))
    payload = read_gzip(path, head + size)
    numbers = np.frombuffer(payload[: len(payload) // 4 * 4][:head], ">u4").tolist()
    wanted = [_UNSIGNED_BYTES + len(shape), *shape]
    if numbers != wanted:
        message = f"{path} begins with {numbers} in place of {wanted}: it is no idx file of {list(shape)} bytes"
        raise MissingDataError(message, "Get the original file again")
    if len(payload) != head + size:
        message = f"{path} holds {len(payload) - head:,} bytes in place of {size:,}"
        raise MissingDataError(message, "Get the original file again")
    return np.frombuffer(payload, np.uint8, offset=head).reshape(shape)
