"""What runs a cell on another machine than the host's.

A worker there is handed a letter (the cell and its key) and, where it asks for it, the view's bytes. It needs the suite
and the plugins, of the same version: their code is compared with the host's before anything runs. The cell itself runs
below the local executor, so that a crash, a hang or a want of memory is an outcome there as here.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from benchsuite.caching import write_atomically
from benchsuite.engine.failures import describe
from benchsuite.engine.local import LocalExecutor
from benchsuite.engine.payload import Outcome, Payload
from benchsuite.engine.wire import Letter, read_letter, write_answer, write_letter
from benchsuite.errors import MissingDataError, PluginError
from benchsuite.host.discovery import Candidate, discover, locate
from benchsuite.host.info import PluginInfo
from benchsuite.host.options import HostOptions
from benchsuite.store.env import environment
from benchsuite.store.writer import utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchsuite.store.records import PluginSource

ANSWER, LETTER, VIEWS = ".answer", ".letter", "views"


class Post:
    """Makes letters of payloads; reads each view once."""

    def __init__(self) -> None:
        self._digests: dict[Path, str] = {}

    def letter(self, payload: Payload) -> bytes:
        """Return the payload as a letter.

        Raises:
            OSError: the view cannot be read.
        """
        return write_letter(payload, self.digest(payload.input.view))

    def digest(self, view: Path) -> str:
        """Return the SHA-256 (hex) of a view file; raises as :meth:`letter` does."""
        if view not in self._digests:
            self._digests[view] = _digest(view.read_bytes())
        return self._digests[view]


def carry_out(letter: bytes, fetch: Callable[[], bytes], timeout: float | None) -> bytes:
    """Run a letter's cell on this machine, in a process of its own, and return the answer.

    Args:
        letter: made by :meth:`Post.letter`.
        fetch: returns the bytes of the view; called where the host's file is not there.
        timeout: seconds that the cell may take; None for no limit.
    """
    return write_answer(replace(_outcome(letter, fetch, timeout), env=environment()))


def carry_out_filed(folder: str, cell: str, timeout: float | None) -> None:
    """Run the cell whose letter lies in a folder, and lay the answer beside it.

    Args:
        folder: holds ``<cell>.letter`` and ``views/<SHA-256>``; ``<cell>.answer`` is written, whole or not at all.
        cell: id of the cell.
        timeout: as :func:`carry_out`.

    Raises:
        OSError: the folder is not there, or cannot be read.
        StoreError: it cannot be written.
    """
    place = Path(folder)
    letter = (place / f"{cell}{LETTER}").read_bytes()
    answer = carry_out(letter, lambda: (place / VIEWS / read_letter(letter).view_digest).read_bytes(), timeout)
    write_atomically(place / f"{cell}{ANSWER}", answer)


def _outcome(letter: bytes, fetch: Callable[[], bytes], timeout: float | None) -> Outcome:
    started, clock = utc_now(), time.perf_counter()
    try:
        payload = _settled(read_letter(letter), fetch)
        with _bare_main():
            [(_, outcome)] = list(LocalExecutor(jobs=1, timeout=timeout).run([payload]))
    except Exception as error:  # noqa: BLE001 - whatever this machine lacks costs this cell alone, and is its record
        return Outcome("failed", started, time.perf_counter() - clock, error=describe(error, "load"))
    return outcome


def _settled(letter: Letter, fetch: Callable[[], bytes]) -> Payload:
    """Return the payload with the paths that hold on this machine."""
    payload = letter.payload()
    found = {package: _find(package, source, payload) for package, source in payload.sources.items()}
    packages = {package: str(info.search_path) for package, info in found.items() if info.search_path is not None}
    return _with_view(replace(payload, packages=packages), letter.view_digest, fetch)


def _find(package: str, wanted: PluginSource, payload: Payload) -> PluginInfo:
    """Return where the plugin lies on this machine, with the very code that the host has.

    Raises:
        PluginError: it is not here, or is another one.
    """
    others = False
    for info in _candidates(package, wanted, payload):
        if info.source_hash() == wanted.source:
            return info
        others = True
    here, version = f"on the node {platform.node()!r}", f"{wanted.plugin} {wanted.version}"
    if others:
        mend = f"Install there the code of {version} that the host runs"
        raise PluginError(f"plugin {wanted.plugin!r} {here} is not the one that the host has", mend)
    mend = f"Install {version} there, or name its folder in BENCHSUITE_PLUGIN_PATH there"
    raise PluginError(f"plugin {wanted.plugin!r} (package {package!r}) is not {here}", mend)


def _candidates(package: str, wanted: PluginSource, payload: Payload) -> Iterator[PluginInfo]:
    """Yield what has that package here: where the host has it, on Python's path, and where the host looks for them."""
    blank = PluginInfo(wanted.plugin, wanted.version, "path", package, None, None, "")
    if (folder := payload.packages.get(package)) is not None:
        here = replace(blank, search_path=Path(folder))
        if (Path(folder) / package).is_dir() or (Path(folder) / f"{package}.py").is_file():
            yield here
    if (place := locate(package)) is not None:
        yield replace(blank, location=place)
    named = filter(None, os.environ.get("BENCHSUITE_PLUGIN_PATH", "").split(os.pathsep))
    for found in discover(HostOptions(plugin_paths=tuple(path for each in named if (path := Path(each)).is_dir()))):
        if isinstance(found, Candidate) and found.info.package == package:
            yield found.info


def _with_view(payload: Payload, digest: str, fetch: Callable[[], bytes]) -> Payload:
    """Return the payload with a view that is here, and beside it the cache that is to be used.

    Where the host's view is here, so is its cache: the file system is shared. Elsewhere the view goes into this
    machine's own cache, and reference models are trained there too.
    """
    view = payload.input.view
    if _holds(view, digest):
        return payload
    cache = _cache()
    own = cache / VIEWS / view.name
    if not _holds(own, digest):
        content = fetch()
        if _digest(content) != digest:
            raise MissingDataError(f"the prepared file {view.name} was damaged on its way", "Start the run again")
        write_atomically(own, content)
    return replace(payload, input=replace(payload.input, view=own, cache=cache))


def _cache() -> Path:
    if named := os.environ.get("BENCHSUITE_CACHE"):
        return Path(named).expanduser().absolute()
    import platformdirs

    return platformdirs.user_cache_path("benchsuite")


def _holds(path: Path, digest: str) -> bool:
    with contextlib.suppress(OSError):
        return _digest(path.read_bytes()) == digest
    return False


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@contextlib.contextmanager
def _bare_main() -> Iterator[None]:
    """Let spawned processes start without this process's main module, which is the cluster engine's and not ours."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
