"""Files in the cache folder: whole or absent, never half."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchsuite.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def write_atomically(path: Path, payload: bytes) -> None:
    """Write ``payload`` to ``path`` so that a reader sees the old file or the new one, whatever happens in between.

    Args:
        path: its folder is made where it is missing.
        payload: the whole content.

    Raises:
        StoreError: the folder cannot be written, or the disk is full.
    """
    with writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        try:
            temporary.write_bytes(payload)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Turn an OSError of the block into a line that names the folder of ``path``.

    Raises:
        StoreError: the block raised an OSError.
    """
    try:
        yield
    except OSError as error:
        message = f"the cache folder {path.parent} cannot be written: {error.strerror or error}"
        raise StoreError(message, "Name another one in BENCHSUITE_CACHE") from error
