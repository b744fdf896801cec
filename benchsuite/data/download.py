"""One file from an address: whole and checked, or a part that the next call goes on from.

The request itself is ``requests``'s, which PyTorch Geometric brings along: certificates are checked, proxies of the
environment are used. What it lacks is here: going on from a part (RFC 9110, sections 13.1.5 and 14), patience with a
server that is silent, room on the disk, size and checksum.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import shutil
from dataclasses import asdict, dataclass
from http.client import IncompleteRead
from typing import TYPE_CHECKING, NamedTuple, Protocol

from benchsuite import __version__
from benchsuite.errors import MissingDataError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import requests

    from benchsuite.contracts.cards import Download

__all__ = ["PATIENCE", "Meter", "Order", "download", "require_room", "sha256"]

#: Progress, one line a file, at level INFO.
_log = logging.getLogger(__name__)

#: Seconds without a byte from the server.
PATIENCE = 60.0

_CHUNK = 2**16
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)$")


class Meter(Protocol):
    """Shows how a download goes."""

    def __call__(self, file: str, done: int, total: int | None) -> None:
        """Say that ``done`` bytes of ``total`` (None where the server names no size) of ``file`` are here."""


class Order(NamedTuple):
    """What a download is for, as its errors say it."""

    dataset: str
    by_hand: str
    """What to do without this download, e.g. ``"Put the file into /data by hand"``."""

    def failed(self, url: str, reason: str) -> MissingDataError:
        """Return the error of an address that does not give the file."""
        message = f"data set {self.dataset!r} cannot be fetched: {url} {reason}"
        mend = f"{self.by_hand}, or run on a machine with a network (BENCHSUITE_DATA names the root)"
        return MissingDataError(message, mend)


def download(
    what: Download, folder: Path, order: Order, meter: Meter | None = None, patience: float | None = None
) -> Path:
    """Download one file into ``folder`` and return it; it has its name only when it is whole and checked.

    What arrived of a download that broke off stays beside it as ``<name>.part`` and is gone on from, in this call as
    long as each attempt brings it further, else in the next. Where the server has another version by then, or sends
    no parts, it starts anew.

    Args:
        what: the address, and what is known of the file.
        folder: where it goes; it must exist.
        order: for messages.
        meter: told of every piece that arrives.
        patience: seconds without a byte after which a server is given up; :data:`PATIENCE` by default.

    Raises:
        MissingDataError: the server is out of reach, refuses, is silent, or sends something else than the file.
        StoreError: the disk has no room.
        OSError: ``folder`` cannot be written.
    """
    target = folder / what.file
    if target.is_file() and _same(target, what):
        return target
    part = _Part(target.with_name(f"{what.file}.part"))
    _arrive(what, part, order, meter or _silent, PATIENCE if patience is None else patience)
    differs = "size" if what.size not in (None, part.size) else "sha256" if not _same(part.path, what) else ""
    if differs:
        size = part.size
        part.clear()
        message = f"{what.file} arrived as {size:,} bytes that are not the original file ({differs} differs)"
        raise MissingDataError(message, f"Run the command again. {order.by_hand} otherwise")
    part.path.replace(target)
    part.clear()
    _log.info("%s: %s bytes", what.file, f"{target.stat().st_size:,}")
    return target


def require_room(needed: int, folder: Path, what: str) -> None:
    """Refuse to write what the disk has no room for.

    Args:
        needed: in bytes.
        folder: on the disk; it must exist.
        what: for the message.

    Raises:
        StoreError: there is less room.
    """
    free = shutil.disk_usage(folder).free
    if needed > free:
        message = f"{what} needs {needed:,} bytes, and the disk of {folder} has room for {free:,}"
        raise StoreError(message, "Make room, or set BENCHSUITE_DATA to a folder on another disk")


def sha256(path: Path) -> str | None:
    """Return the sha256 of a file (hex), or None where there is no such file."""
    if not path.is_file():
        return None
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(2**20):
            digest.update(chunk)
    return digest.hexdigest()


def _same(file: Path, what: Download) -> bool:
    return what.sha256 is None or sha256(file) == what.sha256


def _silent(file: str, done: int, total: int | None) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class _Version:
    """What a server said of the file that a part is of."""

    url: str
    etag: str = ""
    modified: str = ""
    total: int | None = None

    @property
    def validator(self) -> str:
        """What ``If-Range`` takes: a strong tag, or a date; nothing where the server gave neither."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.modified


class _Part:
    """The bytes of a file that are here, and which version of it they are of."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._note = path.with_name(f"{path.name}.json")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.is_file() else 0

    def version(self, url: str) -> _Version:
        """Return what is known of the file; starts anew where that is nothing, or the part is of another address."""
        try:
            known = _Version(**json.loads(self._note.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            known = _Version("")
        whole = known.total is None or self.size <= known.total
        if known.url == url and whole and (known.validator or known.etag or known.total is not None):
            return known
        self.clear()
        return _Version(url)

    def begin(self, version: _Version) -> None:
        self.path.write_bytes(b"")
        self._note.write_text(json.dumps(asdict(version)), encoding="utf-8")

    def clear(self) -> None:
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)


def _arrive(what: Download, part: _Part, order: Order, meter: Meter, patience: float) -> None:
    """Bring the part to its whole size, in as many attempts as bring it further."""
    from requests import RequestException
    from urllib3.exceptions import HTTPError

    furthest = 0
    while True:
        version = part.version(what.url)
        if version.total is not None and part.size == version.total:
            return
        try:
            _attempt(what, version, part, order, meter, patience)
            return
        except (RequestException, HTTPError) as error:
            if part.size <= furthest:
                here = f"; {part.size:,} bytes are here, and the same command goes on from them" if part.size else ""
                raise order.failed(what.url, f"is out of reach ({_reason(error, patience)}{here})") from error
            furthest = part.size


def _attempt(what: Download, known: _Version, part: _Part, order: Order, meter: Meter, patience: float) -> None:
    import requests

    # Bytes as they lie on the server: a packing on the way would be counted as the file's.
    headers = {"User-Agent": f"benchsuite/{__version__}", "Accept-Encoding": "identity"}
    if part.size:
        headers["Range"] = f"bytes={part.size}-"
        if known.validator:
            headers["If-Range"] = known.validator
    with requests.get(what.url, headers=headers, stream=True, timeout=patience) as answer:
        if part.size and answer.status_code in (206, 416) and not _goes_on(answer, known, part.size):
            part.clear()  # it is of another version: ask for the whole
            _attempt(what, _Version(what.url), part, order, meter, patience)
            return
        _require_file(answer, what, order)
        if answer.status_code == 200:
            part.clear()
        if not part.size:
            known = _offered(answer, what, order)
            part.begin(known)
        total = known.total if known.total is not None else what.size
        require_room((total or 0) - part.size, part.path.parent, what.file)
        _append(answer, part, lambda done: meter(what.file, done, total))


def _append(answer: requests.Response, part: _Part, told: Callable[[int], None]) -> None:
    done = part.size
    told(done)
    with part.path.open("ab", buffering=0) as out:
        for chunk in answer.raw.stream(_CHUNK, decode_content=False):
            out.write(chunk)
            done += len(chunk)
            told(done)


def _goes_on(answer: requests.Response, known: _Version, start: int) -> bool:
    """Tell whether an answer holds what follows the first ``start`` bytes of the version that is ``known``."""
    found = _RANGE.match(answer.headers.get("Content-Range", ""))
    if answer.status_code != 206 or found is None or int(found[1]) != start:
        return False
    etag = answer.headers.get("ETag", "")
    return (known.total in (None, int(found[2]))) and not (etag and known.etag and etag != known.etag)


def _require_file(answer: requests.Response, what: Download, order: Order) -> None:
    if answer.status_code not in (200, 206):
        raise order.failed(what.url, f"is out of reach (HTTP {answer.status_code})")
    if answer.headers.get("Content-Type", "").startswith("text/html"):
        raise order.failed(what.url, "gives a web page in place of the file")


def _offered(answer: requests.Response, what: Download, order: Order) -> _Version:
    """Return what the server says of the whole file that it is about to send."""
    headers = answer.headers
    length = headers.get("Content-Length", "")
    total = int(length) if length.isdecimal() else None
    if what.size is not None and total not in (None, what.size):
        raise order.failed(what.url, f"offers {total:,} bytes in place of {what.size:,}: another file")
    return _Version(what.url, headers.get("ETag", ""), headers.get("Last-Modified", ""), total)


def _reason(error: Exception, patience: float) -> str:
    """Say in a few words what was the matter: the first cause, since each library wraps that of the one below."""
    causes: list[BaseException] = [error]
    while (cause := _cause(causes[-1])) is not None and cause not in causes:
        causes.append(cause)
    if any("timed out" in str(each) for each in causes):
        return f"timed out: nothing came for {patience:g} s"
    if any(isinstance(each, IncompleteRead) for each in causes):
        return "the connection broke off"
    said = next((each.strerror for each in reversed(causes) if isinstance(each, OSError) and each.strerror), None)
    return " ".join((said or str(causes[-1]) or type(error).__name__).split())


def _cause(error: BaseException) -> BaseException | None:
    inside = (getattr(error, "reason", None), *error.args, error.__cause__, error.__context__)
    return next((each for each in inside if isinstance(each, BaseException)), None)
