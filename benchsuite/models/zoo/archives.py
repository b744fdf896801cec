"""The files of a folder, a zip or a tar under one interface, with nothing in them that leads out of it.

Nothing is unpacked by an archive's own idea of where it belongs: one file is read at a time, and written where the
caller says. So no member can name a place, and whoever needs three files of an archive writes three.
"""

from __future__ import annotations

import logging
import lzma
import stat
import tarfile
import zipfile
import zlib
from contextlib import ExitStack, contextmanager
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any

from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

#: Progress, one line a large file, at level INFO.
_log = logging.getLogger(__name__)

_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError)
"""What reading a damaged archive may raise."""
_LONG = 50 * 2**20
"""Bytes from which a copy is worth a line."""
_DISTRUST = "Do not trust this archive"
_UNIX = 3
"""What a zip says of a member whose attributes hold a Unix mode."""


class Source:
    """The files of a folder or an archive, by their paths inside it.

    Args:
        path: of the folder or archive, for messages.
        members: what ``opener`` takes, by path inside (with ``/``, and without ``.``).
        opener: returns a member opened for reading.
    """

    def __init__(self, path: Path, members: dict[str, Any], opener: Callable[[Any], IO[bytes] | None]) -> None:
        self.path = path
        self._members = members
        self._open = opener

    @property
    def names(self) -> list[str]:
        """The paths of all files, sorted."""
        return sorted(self._members)

    def copy(self, name: str, target: Path) -> None:
        """Write the file ``name`` to ``target``.

        Raises:
            MissingDataError: the archive is damaged or encrypted.
            OSError: ``target`` cannot be written.
        """
        with target.open("wb") as out:
            for block in self._blocks(name):
                out.write(block)
        size = target.stat().st_size
        if size > _LONG:
            _log.info("%s: %.0f MB", name, size / 1e6)

    def _blocks(self, name: str) -> Iterator[bytes]:
        with _damage_told(self.path):
            opened = self._open(self._members[name])
            assert opened is not None  # a tar has no content for folders alone, and none is among the members
            with opened as file:
                yield from iter(lambda: file.read(2**20), b"")


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Open a folder, a ``.whl`` or ``.zip``, a tar of any compression, or a ``.gguf`` file that lies by itself.

    Links in a folder are followed, since they are the user's own (the cache of Hugging Face is made of them); in an
    archive they are refused.

    Raises:
        MissingDataError: it is none of these, is damaged, or holds a link, a device or a name that leads out of it.
    """
    if path.is_dir():
        files = {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}
        yield Source(path, files, _read)
    elif path.suffix.lower() == ".gguf":
        yield Source(path, {path.name: path}, _read)
    else:
        with ExitStack() as stack:
            # The names alone: what the caller does with them may fail for reasons of its own.
            with _damage_told(path):
                source = _of_zip(path, stack) if zipfile.is_zipfile(path) else _of_tar(path, stack)
            yield source


def _read(file: Path) -> IO[bytes]:
    return file.open("rb")


def _of_zip(path: Path, stack: ExitStack) -> Source:
    archive = stack.enter_context(zipfile.ZipFile(path))
    entries = archive.infolist()
    for entry in entries:
        mode = stat.S_IFMT(entry.external_attr >> 16) if entry.create_system == _UNIX else 0
        if mode not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise _no_file(path, entry.filename)
    inside = _inside(path, ((entry.filename, entry) for entry in entries))
    return Source(path, {name: entry.filename for name, entry in inside.items() if not entry.is_dir()}, archive.open)


def _of_tar(path: Path, stack: ExitStack) -> Source:
    tape = stack.enter_context(_tape(path))
    entries = tape.getmembers()
    _require_end(tape)
    for entry in entries:
        if not (entry.isfile() or entry.isdir()):
            raise _no_file(path, entry.name)
    inside = _inside(path, ((entry.name, entry) for entry in entries))
    return Source(path, {name: entry for name, entry in inside.items() if entry.isfile()}, tape.extractfile)


def _tape(path: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(path)
    except tarfile.ReadError as error:
        # Its own text lists each compression that it tried, and says no more.
        raise tarfile.ReadError("it is no wheel, zip, tar or .gguf file, or is cut off") from error


def _require_end(tape: tarfile.TarFile) -> None:
    """Refuse a tar without its mark of the end: one that was cut between two members looks whole otherwise."""
    file = tape.fileobj
    assert file is not None
    file.seek(tape.offset)
    if len(file.read(tarfile.BLOCKSIZE)) < tarfile.BLOCKSIZE:
        raise tarfile.ReadError("it is cut off")


def _inside(path: Path, entries: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return entries by their plain names (``tar czf x.tgz ./model`` writes ``./model/...``); of twins the last."""
    found = {}
    for name, entry in entries:
        inner = PurePosixPath(name)
        if inner.is_absolute() or ".." in inner.parts or "\\" in name or ":" in name:
            raise MissingDataError(f"{path} holds {name!r}, which leads out of it", _DISTRUST)
        found[str(inner)] = entry
    return found


def _no_file(path: Path, name: str) -> MissingDataError:
    return MissingDataError(f"{path} holds {name!r}, which is no plain file", _DISTRUST)


@contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    """Turn what a library raises about the archive at ``path`` into one line.

    Raises:
        MissingDataError: the block raised such an error.
    """
    try:
        yield
    except RuntimeError as error:  # encrypted, or a compression that Python's library does not have
        mend = "Unpack it yourself, and import the folder"
        raise MissingDataError(f"{path} cannot be unpacked: {_cause(error)}", mend) from error
    except _DAMAGE as error:
        raise MissingDataError(f"{path} cannot be read: {_cause(error)}", "Get it again") from error


def _cause(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
