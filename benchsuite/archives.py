"""The files of a folder, a zip or a tar under one interface, with nothing in them that leads out of it.

Nothing is unpacked by an archive's own idea of where it belongs: one file is read at a time, and written where the
caller says. So no member can name a place, and whoever needs three files of an archive writes three.
"""

from __future__ import annotations

import logging
import lzma
import secrets
import shutil
import stat
import tarfile
import zipfile
import zlib
from contextlib import ExitStack, contextmanager
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from benchsuite.errors import MissingDataError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from pathlib import Path

#: Progress, one line a large file, at level INFO.
_log = logging.getLogger(__name__)

_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError)
"""What reading a damaged archive may raise."""
_LONG = 50 * 2**20
"""Bytes from which a copy is worth a line."""
_PLAIN = (".gguf", ".npz")
"""What is a file by itself, although ``.npz`` is a zip inside."""
_MEMBERS = 100_000
_PADDING = 2**24
"""Bytes that may stand behind the end of a tar; programs write some thousand."""
_SMALL, _SWELLING = 2**30, 200
"""An archive may unpack to this many bytes, or to this many times its own size: tables of text reach 30 times."""
_DISTRUST = "Do not trust this archive"
_UNIX = 3
"""What a zip says of a member whose attributes hold a Unix mode."""


class _Entry(NamedTuple):
    name: str
    key: Any
    """What the archive's library opens it by."""
    size: int
    folder: bool


class Source:
    """The files of a folder or an archive, by their paths inside it.

    Args:
        path: of the folder or archive, for messages.
        members: by path inside (with ``/``, and without ``.``): what ``opener`` takes, and its size in bytes.
        opener: returns a member opened for reading.
    """

    def __init__(
        self, path: Path, members: dict[str, tuple[Any, int]], opener: Callable[[Any], IO[bytes] | None]
    ) -> None:
        self.path = path
        self._members = members
        self._open = opener

    @property
    def names(self) -> list[str]:
        """The paths of all files, sorted."""
        return sorted(self._members)

    def size(self, name: str) -> int:
        """Return how many bytes the file ``name`` has; of an archive, how many it says."""
        return self._members[name][1]

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
            opened = self._open(self._members[name][0])
            assert opened is not None  # a tar has no content for folders alone, and none is among the members
            with opened as file:
                yield from iter(lambda: file.read(2**20), b"")


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Open a folder, a ``.whl`` or ``.zip``, a tar of any compression, or a ``.gguf`` or ``.npz`` file by itself.

    Links in a folder are followed, since they are the user's own (the cache of Hugging Face is made of them); in an
    archive they are refused.

    Raises:
        MissingDataError: it is none of these, is damaged, or holds a link, a device, a name that leads out of it, or
            far more than fits into an archive of its size.
    """
    if path.is_dir():
        files = (file for file in path.rglob("*") if file.is_file())
        yield Source(path, {file.relative_to(path).as_posix(): (file, file.stat().st_size) for file in files}, _read)
    elif path.suffix.lower() in _PLAIN:
        yield Source(path, {path.name: (path, path.stat().st_size)}, _read)
    else:
        with ExitStack() as stack:
            # The names alone: what the caller does with them may fail for reasons of its own.
            with _damage_told(path):
                source = _of_zip(path, stack) if zipfile.is_zipfile(path) else _of_tar(path, stack)
            yield source


@contextmanager
def written_whole(target: Path, root: Path, force: bool) -> Iterator[Path]:
    """Give an empty folder, which becomes ``target`` when the block ends well and is removed when not.

    Args:
        target: below ``root``.
        root: the empty folder lies in a hidden folder in there as ``target`` lies in ``root``, so that whoever looks
            for ``target`` below a root can be shown the hidden folder first.
        force: replace a ``target`` that is there.

    Raises:
        StoreError: it cannot be written, or ``target`` is there.
    """
    hidden = root / f".{target.name}.{secrets.token_hex(6)}"
    folder = hidden / target.relative_to(root)
    try:
        folder.mkdir(parents=True)
        yield folder
        target.parent.mkdir(parents=True, exist_ok=True)
        if force and target.exists():
            _swap(folder, target)
        else:
            folder.rename(target)
    except OSError as error:
        message = f"{target} cannot be written: {error.strerror or error}"
        raise StoreError(message, "Mend the folder or the disk") from error
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def _swap(new: Path, target: Path) -> None:
    """Put ``new`` in the place of ``target``; where that fails the old one is there again."""
    old = new.with_name(f"{new.name}.old")
    target.rename(old)
    try:
        new.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _read(file: Path) -> IO[bytes]:
    return file.open("rb")


def _of_zip(path: Path, stack: ExitStack) -> Source:
    archive = stack.enter_context(zipfile.ZipFile(path))
    return Source(path, _inside(path, _zip_entries(path, archive)), archive.open)


def _zip_entries(path: Path, archive: zipfile.ZipFile) -> Iterator[_Entry]:
    for entry in archive.infolist():
        mode = stat.S_IFMT(entry.external_attr >> 16) if entry.create_system == _UNIX else 0
        if mode not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise _no_file(path, entry.filename)
        yield _Entry(entry.filename, entry.filename, entry.file_size, entry.is_dir())


def _of_tar(path: Path, stack: ExitStack) -> Source:
    tape = stack.enter_context(_tape(path))
    inside = _inside(path, _tar_entries(path, tape))
    _require_end(tape)
    return Source(path, inside, tape.extractfile)


def _tar_entries(path: Path, tape: tarfile.TarFile) -> Iterator[_Entry]:
    # One by one: what a hostile tar says of its next member is known before that member is unpacked.
    for entry in tape:
        if not (entry.isfile() or entry.isdir()):
            raise _no_file(path, entry.name)
        yield _Entry(entry.name, entry, entry.size, entry.isdir())


def _tape(path: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(path)
    except tarfile.ReadError as error:
        # Its own text lists each compression that it tried, and says no more.
        raise tarfile.ReadError("it is no wheel, zip, tar or .gguf file, or is cut off") from error


def _require_end(tape: tarfile.TarFile) -> None:
    """Refuse a tar without its mark of the end: one that was cut between two members looks whole otherwise.

    What pads it is read too, since a gzip file has its checksum last of all.
    """
    file = tape.fileobj
    assert file is not None
    file.seek(tape.offset)
    if len(file.read(tarfile.BLOCKSIZE)) < tarfile.BLOCKSIZE:
        raise tarfile.ReadError("it is cut off")
    if len(file.read(_PADDING + 1)) > _PADDING:
        raise tarfile.ReadError("it goes on behind its end")


def _inside(path: Path, entries: Iterable[_Entry]) -> dict[str, tuple[Any, int]]:
    """Return files by their plain names (``tar czf x.tgz ./model`` writes ``./model/...``); of twins the last."""
    found: dict[str, tuple[Any, int]] = {}
    room, total = max(_SMALL, _SWELLING * path.stat().st_size), 0
    for number, entry in enumerate(entries):
        inner, name = PurePosixPath(entry.name), entry.name
        if inner.is_absolute() or ".." in inner.parts or "\\" in name or ":" in name:
            raise MissingDataError(f"{path} holds {name!r}, which leads out of it", _DISTRUST)
        total += entry.size
        if total > room:
            size = f"{total:,} bytes, out of {path.stat().st_size:,}"
            raise MissingDataError(f"{path} would unpack to more than {size}", _DISTRUST)
        if number >= _MEMBERS:
            raise MissingDataError(f"{path} holds more than {_MEMBERS:,} files", _DISTRUST)
        if not entry.folder:
            found[str(inner)] = (entry.key, entry.size)
    _require_tree(path, found)
    return found


def _require_tree(path: Path, names: Collection[str]) -> None:
    """Refuse what no folder could hold: a file that is a folder too."""
    for name in names:
        if name == "." or any(str(parent) in names for parent in PurePosixPath(name).parents if parent.name):
            raise MissingDataError(f"{path} holds {name!r} inside what is a file", _DISTRUST)


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
