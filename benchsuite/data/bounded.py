"""Files that others made, read without trust: in a folder, in a zip, or compressed; never more than a stated size."""

from __future__ import annotations

import gzip
import hashlib
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from benchsuite.errors import MissingDataError

_DAMAGE = (zipfile.BadZipFile, EOFError, zlib.error, OSError, RuntimeError, NotImplementedError)
"""What reading a damaged, encrypted or strangely packed file may raise."""
_MEMBERS = 100_000
_DISTRUST = "Do not trust this archive"
_AGAIN = "Get the original file again"


def read_gzip(path: Path, limit: int) -> bytes:
    """Return what a gzip file unpacks to.

    Args:
        path: of the file.
        limit: bytes that it may unpack to.

    Raises:
        MissingDataError: it cannot be read, is damaged, or unpacks to more.
    """
    try:
        with gzip.open(path) as file:
            payload = file.read(limit + 1)
    except _DAMAGE as error:
        raise MissingDataError(f"{path} cannot be read: {_cause(error)}", _AGAIN) from error
    if len(payload) > limit:
        raise MissingDataError(f"{path} unpacks to more than {limit:,} bytes", _DISTRUST)
    return payload


def digest(path: Path) -> str:
    """Return the sha256 (hex) of a small file.

    Raises:
        MissingDataError: it cannot be read.
    """
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise MissingDataError(f"{path} cannot be read: {error.strerror}", _AGAIN) from error


class Bundle:
    """The files of one folder, or of one zip, by their paths inside it; nothing is unpacked to disk.

    Args:
        path: of the folder or the zip.
        limit: bytes that one file may have.

    Raises:
        MissingDataError: it is no folder and no whole zip, or holds a name that leads out of it.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.path, self.limit = path, limit
        self._sizes = _folder(path) if path.is_dir() else _zip(path)

    @property
    def names(self) -> list[str]:
        """The paths of all files, sorted."""
        return sorted(self._sizes)

    def read(self, name: str) -> bytes:
        """Return one file.

        Raises:
            MissingDataError: there is no such file, it is damaged or encrypted, or it has more bytes than the limit.
        """
        if name not in self._sizes:
            raise MissingDataError(f"{self.path} has no file {name}", _AGAIN)
        if self._sizes[name] > self.limit:
            size = f"{self._sizes[name]:,} bytes, and {self.limit:,} are allowed"
            raise MissingDataError(f"{name} in {self.path} has {size}", _DISTRUST)
        try:
            if self.path.is_dir():
                return (self.path / name).read_bytes()
            with zipfile.ZipFile(self.path) as archive:
                # No more than the declared size is unpacked; a member that holds more fails its checksum.
                return archive.read(self._sizes.original(name))
        except _DAMAGE as error:
            raise MissingDataError(f"{name} in {self.path} cannot be read: {_cause(error)}", _AGAIN) from error


class _Sizes(dict[str, int]):
    """Bytes by plain name; of a zip also how the archive spells it."""

    def __init__(self) -> None:
        super().__init__()
        self.spelled: dict[str, str] = {}

    def original(self, name: str) -> str:
        return self.spelled.get(name, name)


def _folder(path: Path) -> _Sizes:
    found = _Sizes()
    try:
        for file in path.rglob("*"):
            if file.is_file():
                found[file.relative_to(path).as_posix()] = file.stat().st_size
    except OSError as error:
        raise MissingDataError(f"{path} cannot be searched ({error.strerror})", "Make it readable") from error
    return found


def _zip(path: Path) -> _Sizes:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except _DAMAGE as error:
        raise MissingDataError(f"{path} is no whole zip: {_cause(error)}", _AGAIN) from error
    if len(entries) > _MEMBERS:
        raise MissingDataError(f"{path} holds {len(entries):,} files", _DISTRUST)
    found = _Sizes()
    for entry in entries:
        inner = PurePosixPath(entry.filename)
        if inner.is_absolute() or ".." in inner.parts or "\\" in entry.filename or ":" in entry.filename:
            raise MissingDataError(f"{path} holds {entry.filename!r}, which leads out of it", _DISTRUST)
        if not entry.is_dir():
            found[str(inner)] = entry.file_size
            found.spelled[str(inner)] = entry.filename
    return found


def _cause(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
