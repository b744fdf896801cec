"""Parsed copies of raw files: written once, then mapped into memory, so that pages are read as they are needed."""

from __future__ import annotations

import hashlib
import secrets
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from benchsuite.data.unions import cache_root
from benchsuite.errors import MissingDataError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from torch import Tensor

_BLOCK = 2**20


class Kept(NamedTuple):
    """A parsed copy."""

    tensors: dict[str, Tensor]
    notes: dict[str, str]
    """What was found when the raw files were parsed."""


def kept(name: str, code: str, files: Sequence[Path], make: Callable[[], Kept]) -> Kept:
    """Return what ``make`` makes of ``files``, from the cache where it was made before.

    The copy's name is a hash over the names, sizes and contents of the files; its own contents are checked, too.

    Args:
        name: what the copy is called, before the hash.
        code: version of the code that parses.
        files: the raw files.
        make: called where the cache holds no whole copy.

    Raises:
        MissingDataError: a file cannot be read.
        StoreError: the cache cannot be written.
    """
    path = cache_root() / "ogb" / f"{name}-{_key(code, files)}.safetensors"
    found = _read(path)
    if found is not None:
        return found
    import filelock

    with _writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        held = filelock.FileLock(path.with_name(f"{path.name}.lock")).acquire()
    with held:
        found = _read(path)
        if found is None:
            _write(path, make())
            found = _read(path)
    if found is None:
        raise StoreError(f"{path} was written and cannot be read", "Is the disk full or failing?")
    return found


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    """Turn what writing raises in the block into a line that names the folder of ``path``.

    Raises:
        StoreError: the block raised an OSError, or safetensors could not write.
    """
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, SafetensorError) as error:
        message = f"the cache folder {path.parent} cannot be written: {error}"
        raise StoreError(message, "Name another one in BENCHSUITE_CACHE") from error


def sha256(path: Path) -> str:
    """Return the sha256 (hex) of a file of any size.

    Raises:
        MissingDataError: it cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise MissingDataError(f"{path} cannot be read: {error.strerror}", "Make it readable") from error
    return digest.hexdigest()


def _key(code: str, files: Sequence[Path]) -> str:
    # The hash of a file goes first: it says so where the file cannot be read.
    lines = [code, *(f"{sha256(path)} {path.stat().st_size} {path.name}" for path in files)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _write(path: Path, made: Kept) -> None:
    from safetensors.torch import save_file

    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    with _writable(path):
        try:
            # Written from where the tensors lie: no second copy in memory.
            save_file(made.tensors, temporary, {**made.notes, "sha256": _digest(made.tensors)})
            temporary.replace(path)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def _read(path: Path) -> Kept | None:
    """Return the copy, or None where it is absent, damaged or another one."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            notes = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  it is no mapping
    except (SafetensorError, OSError):
        return None
    return Kept(tensors, notes) if notes.pop("sha256", None) == _digest(tensors) else None


def _digest(tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        array = tensors[name].numpy()
        digest.update(f"{name} {array.dtype} {array.shape}\n".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()
