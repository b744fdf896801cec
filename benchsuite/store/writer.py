"""Append lines to a run file so that no crash loses or tears more than the line being written."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import platform
import secrets
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, TypeVar

from benchsuite.errors import StoreError
from benchsuite.store.order import stamp_of
from benchsuite.store.records import Line
from benchsuite.store.scan import run_files

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

L = TypeVar("L", bound=Line)

_STAMP = "%Y%m%dT%H%M%SZ"

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def utc_now() -> str:
    """Return the time as ISO 8601 in UTC, to the microsecond; such texts sort in time's order."""
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")


def new_run_id(out: Path | None = None) -> str:
    """Return a name no other run has: UTC time, six hex digits of the machine, six random ones.

    Where a run in the folder has a later time in its name, since this clock went backwards or another machine's is
    ahead, the time is a second after that one's: names tell which run began after which, see
    :mod:`benchsuite.store.order`.

    Args:
        out: the folder that holds ``results``; None looks at no other run.
    """
    now = datetime.now(timezone.utc)
    if out is not None:
        stamps = (stamp_of(path.name) for path in run_files(out / "results"))
        newest = max((stamp for stamp in stamps if stamp is not None), default="")
        if newest > now.strftime(_STAMP):
            now = _after(newest, now)
    time = now.strftime(_STAMP)
    machine = hashlib.sha256(platform.node().encode()).hexdigest()[:6]
    return f"{time}-{machine}-{secrets.token_hex(3)}"


def _after(newest: str, now: datetime) -> datetime:
    try:
        return datetime.strptime(newest, _STAMP) + timedelta(seconds=1)
    except (ValueError, OverflowError):  # digits that are no time
        return now


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk: a file whose bytes are there is lost all the same without its name."""
    with contextlib.suppress(OSError):  # not every file system can, and what is in the files is safe
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class RunWriter:
    """The one writer of a run file, ``<out>/results/<run>.jsonl``.

    Each run has a file of its own, so that nobody appends to what a crash left; a file is opened again only where the
    same run is named again. A line is written with one call at the end of the file and is on the disk before
    :meth:`append` returns. A line that a crash tore is closed with a newline when the file is opened again: readers
    skip it, nothing after it is lost.

    Args:
        out: the folder that holds ``results``; made where it is missing.
        run: the run's id.

    Raises:
        StoreError: the folder cannot be made or written, or another process writes this run.
    """

    def __init__(self, out: Path, run: str) -> None:
        self.path = out / "results" / f"{run}.jsonl"
        self.run = run
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise self._failure(error) from error
        try:
            self._lock()
            self._seal_torn_tail()
            sync_folder(self.path.parent)
        except BaseException:
            self.close()
            raise

    def append(self, line: L) -> L:
        """Write ``line`` and return it with its hash.

        Raises:
            StoreError: it could not be written; the file then ends where it ended before.
        """
        self._seal_torn_tail()
        sealed, text = line.seal()
        self._write(text.encode())
        return sealed

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreError(f"another process writes the run file {self.path}", "Wait until it has ended") from error

    def _seal_torn_tail(self) -> None:
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            self._write(b"\n")

    def _write(self, data: bytes) -> None:
        size = os.fstat(self._file).st_size
        try:
            written = 0
            while written < len(data):
                written += os.write(self._file, data[written:])
            os.fsync(self._file)
        except OSError as error:
            # Whatever of the line got onto the disk would be a torn tail.
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, size)
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> StoreError:
        reason = error.strerror or str(error)
        if error.errno in _NO_SPACE:
            mend = "Make room and give the same command again: the cells that have a record are not run again"
        else:
            mend = "Name a folder that you may write with --out"
        return StoreError(f"the results file {self.path} cannot be written: {reason}", mend)
