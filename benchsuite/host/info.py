"""What the host knows of a plugin: a loaded one, and a broken one."""

from __future__ import annotations

import hashlib
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchsuite.host.options import Origin

#: Where loading ended: reading ``pyproject.toml`` or the distribution's metadata; importing the module; registering it;
#: an unknown hook; a hook's arguments; calling the hooks that return cards; the cards; a name that somebody else has.
Phase = Literal["discover", "import", "register", "hook", "signature", "collect", "validate", "conflict"]

_LONGEST_CAUSE = 400


@dataclass(frozen=True)
class PluginInfo:
    """A plugin: who it is and where it lies."""

    name: str
    version: str
    origin: Origin
    module: str
    """The module with its hooks and cards."""
    location: Path | None
    """The plugin's folder; for an installed distribution and for a builtin, its package."""
    search_path: Path | None
    """What goes on ``sys.path`` in a worker; None where the module can be imported as it is."""
    summary: str

    @property
    def package(self) -> str:
        """The top-level package: every target of the plugin lies in it."""
        return self.module.partition(".")[0]

    def source_hash(self) -> str:
        """Return the sha256 (hex) of the names and contents of the package's ``.py`` files.

        Raises:
            OSError: a file cannot be read.
        """
        digest = hashlib.sha256()
        for name, path in self._sources():
            content = path.read_bytes()
            digest.update(f"{name}\0{len(content)}\0".encode())
            digest.update(content)
        return digest.hexdigest()

    def _sources(self) -> Iterator[tuple[str, Path]]:
        root = self._package_path()
        if root is None:
            return
        if root.is_file():
            yield root.name, root
            return
        files = {path.relative_to(root).as_posix(): path for path in root.rglob("*.py")}
        for name in sorted(files):
            # Bundled plugins lie inside the suite's package and are not its source.
            if not name.startswith("_plugins/"):
                yield name, files[name]

    def _package_path(self) -> Path | None:
        if self.search_path is None:
            return self.location
        folder = self.search_path / self.package
        return folder if folder.is_dir() else folder.with_suffix(".py")


@dataclass(frozen=True)
class BrokenPlugin:
    """A plugin that gives nothing, or a name that nobody gets; and why."""

    name: str
    """The plugin's name. For a method, task or data set that two plugins offer: that name."""
    origin: Origin
    location: Path | None
    phase: Phase
    cause: str
    """One line."""

    def __str__(self) -> str:
        if self.phase == "conflict":
            return self.cause
        where = "" if self.location is None else f" in {self.location}"
        return f"plugin {self.name!r} ({self.origin}{where}) is broken in phase {self.phase}: {self.cause}"


class PhaseError(Exception):
    """Loading a plugin ended in ``phase``; the message is the cause."""

    def __init__(self, phase: Phase, cause: str) -> None:
        super().__init__(phase, cause)
        self.phase: Phase = phase
        self.cause = one_line(cause).rstrip(".")


def one_line(text: str) -> str:
    """Return ``text`` on one line, cut where it is very long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_CAUSE else line[: _LONGEST_CAUSE - 1] + "…"


def describe(error: BaseException, folder: Path | None = None) -> str:
    """Return one line that says what was raised, and where in ``folder`` if it came through there."""
    text = one_line(f"{type(error).__name__}: {error}").removesuffix(":")
    inside = [f for f in traceback.extract_tb(error.__traceback__) if folder is not None and _below(f.filename, folder)]
    if not inside or isinstance(error, SyntaxError):
        return text
    return f"{text} ({Path(inside[-1].filename).name}, line {inside[-1].lineno})"


def _below(filename: str, folder: Path) -> bool:
    return Path(filename).resolve().is_relative_to(folder.resolve())
