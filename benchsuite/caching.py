"""Files that can be made again: made once, whole or absent, whoever asks first."""

from __future__ import annotations

import hashlib
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from benchsuite.errors import MissingDataError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Made = TypeVar("Made")


def read_or_make(path: Path, read: Callable[[Path], Made | None], make: Callable[[], bytes]) -> Made:
    """Return what ``path`` holds; where it holds nothing whole, write it first.

    Processes that ask at the same time wait for one of them to make it.

    Args:
        path: of the file; its name should say everything that the content depends on. Its folder is made.
        read: returns the content, or None where the file is absent, damaged or another one.
        make: returns the bytes of the file.

    Raises:
        StoreError: the folder cannot be written, or what was written cannot be read.
    """
    found = read(path)
    if found is not None:
        return found
    import filelock

    with _writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        held = filelock.FileLock(path.with_name(f"{path.name}.lock")).acquire()
    with held:
        found = read(path)
        if found is None:
            write_atomically(path, make())
            found = read(path)
    if found is None:
        raise StoreError(f"{path} was written and cannot be read", "Is the disk full or failing?")
    return found


def write_atomically(path: Path, payload: bytes) -> None:
    """Write ``payload`` to ``path`` so that a reader sees the old file or the new one, whatever happens in between.

    Args:
        path: its folder is made where it is missing.
        payload: the whole content.

    Raises:
        StoreError: the folder cannot be written, or the disk is full.
    """
    with _writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        try:
            temporary.write_bytes(payload)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    """Turn an OSError of the block into a line that names the folder of ``path``.

    Raises:
        StoreError: the block raised an OSError.
    """
    try:
        yield
    except OSError as error:
        message = f"the cache folder {path.parent} cannot be written: {error.strerror or error}"
        raise StoreError(message, "Name another one in BENCHSUITE_CACHE") from error


def write_hashed(folder: Path, payload: bytes, suffix: str) -> Path:
    """Write ``payload`` into ``folder`` under a name made of its hash and return the file.

    A file that is already there is kept if it holds the right bytes and replaced if not.

    Raises:
        StoreError: the folder cannot be written, or the disk is full.
    """
    path = folder / f"{_name(payload)}{suffix}"
    if not path.is_file() or path.read_bytes() != payload:
        write_atomically(path, payload)
    return path


def read_hashed(path: Path) -> bytes:
    """Return the content of a file that :func:`write_hashed` wrote.

    Raises:
        MissingDataError: the file is absent, or its bytes are not those that its name promises.
    """
    mend = "Start the run again: it is written anew"
    try:
        payload = path.read_bytes()
    except OSError as error:
        raise MissingDataError(f"the prepared file {path} cannot be read: {error.strerror}", mend) from error
    if _name(payload) != path.stem:
        raise MissingDataError(f"the prepared file {path} is damaged", mend)
    return payload


def _name(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()[:32]
