"""Files that can be made again: made once, whole or absent, whoever asks first."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, TypeVar

from benchsuite.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
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

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        held = filelock.FileLock(path.with_name(f"{path.name}.lock")).acquire()
    except OSError as error:
        raise _unwritable(path, error) from error
    with held:
        found = read(path)
        if found is None:
            _write(path, make())
            found = read(path)
    if found is None:
        raise StoreError(f"{path} was written and cannot be read", "Is the disk full or failing?")
    return found


def _write(path: Path, payload: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        temporary.write_bytes(payload)
        temporary.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def _unwritable(path: Path, error: OSError) -> StoreError:
    message = f"the cache folder {path.parent} cannot be written: {error.strerror or error}"
    return StoreError(message, "Name another one in BENCHSUITE_CACHE")
