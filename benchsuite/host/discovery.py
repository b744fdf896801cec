"""Finds plugins without importing any: folders by their ``pyproject.toml``, distributions by their entry points."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import benchsuite
from benchsuite.errors import UsageError
from benchsuite.host.info import BrokenPlugin, PhaseError, PluginInfo, describe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from importlib.metadata import EntryPoint

    from benchsuite.host.options import HostOptions, Origin

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

__all__ = ["GROUP", "Candidate", "Found", "bundled_folder", "discover", "locate"]

#: The entry point group of plugins.
GROUP = "benchsuite"

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True)
class Candidate:
    """A plugin that was found and not imported."""

    info: PluginInfo
    package_path: Path | None
    """The real path of its top-level package: the same path twice is the same plugin. None where there is no file."""

    @property
    def where(self) -> str:
        """Origin and place, for messages."""
        return f"{self.info.origin} ({self.info.location or 'no files'})"


Found = Candidate | BrokenPlugin


def discover(options: HostOptions) -> list[Found]:
    """Return every plugin that there is, sorted by name, the builtins first; duplicates included.

    Raises:
        UsageError: a plugin path is no folder, or holds no plugin.
    """
    folders: list[tuple[Path, Origin]] = [(folder, "bundled") for folder in _plugin_folders(bundled_folder())]
    for path in options.plugin_paths:
        folders += [(folder, "path") for folder in _named_folders(path)]
    found = [each for folder, origin in folders for each in _from_folder(folder, origin)]
    found += _installed()
    found.sort(key=_order)
    return [*map(_builtin, options.builtins), *found]


def bundled_folder() -> Path | None:
    """Return the folder of the suite's own plugins: inside an installed package, or beside it in a checkout."""
    package = Path(benchsuite.__file__).parent
    bundled = package / "_plugins"
    if bundled.is_dir():
        return bundled
    # Beside an installed package a folder called "plugins" may be anybody's; a checkout has its pyproject.toml there.
    checkout = package.parent
    return checkout / "plugins" if (checkout / "pyproject.toml").is_file() else None


def locate(package: str) -> Path | None:
    """Return the real path of an importable top-level package (its folder) or module (its file), importing nothing."""
    for finder in sys.meta_path:
        spec = finder.find_spec(package, None) if hasattr(finder, "find_spec") else None
        if spec is None:
            continue
        if spec.submodule_search_locations:
            return Path(next(iter(spec.submodule_search_locations))).resolve()
        return Path(spec.origin).resolve() if spec.has_location and spec.origin else None
    return None


def _order(found: Found) -> tuple[str, str, str]:
    info = found.info if isinstance(found, Candidate) else found
    return info.name, info.origin, str(info.location)


def _named_folders(path: Path) -> list[Path]:
    if not path.is_dir():
        raise UsageError(f"plugin path {str(path)!r} is not a folder", "Name a plugin's folder, or a folder of them")
    path = path.resolve()
    folders = [path] if _is_plugin_folder(path) else _plugin_folders(path)
    if not folders:
        mend = "A plugin's folder has a pyproject.toml; benchsuite new quantizer NAME makes one"
        raise UsageError(f"plugin path {str(path)!r} holds no plugin", mend)
    return folders


def _plugin_folders(parent: Path | None) -> list[Path]:
    if parent is None or not parent.is_dir():
        return []
    return sorted(child for child in parent.iterdir() if _is_plugin_folder(child))


def _is_plugin_folder(folder: Path) -> bool:
    return not folder.name.startswith(".") and (folder / "pyproject.toml").is_file()


def _from_folder(folder: Path, origin: Origin) -> Iterator[Found]:
    try:
        project = _project(folder / "pyproject.toml")
        entries = _entries(project)
    except PhaseError as error:
        yield BrokenPlugin(folder.name, origin, folder, error.phase, error.cause)
        return
    for name in sorted(entries):
        try:
            yield _folder_candidate(folder, origin, project, name, entries[name])
        except PhaseError as error:
            yield BrokenPlugin(name, origin, folder, error.phase, error.cause)


def _project(path: Path) -> dict[str, Any]:
    try:
        project = tomllib.loads(path.read_text(encoding="utf-8")).get("project")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PhaseError("discover", f"pyproject.toml cannot be read: {error}") from None
    if not isinstance(project, dict):
        raise PhaseError("discover", "pyproject.toml has no table [project]")
    return project


def _entries(project: dict[str, Any]) -> dict[str, Any]:
    groups = project.get("entry-points")
    entries = groups.get(GROUP) if isinstance(groups, dict) else None
    if not isinstance(entries, dict) or not entries:
        wanted = f'[project.entry-points.{GROUP}] with a line NAME = "MODULE"'
        raise PhaseError("discover", f"pyproject.toml names no plugin: it needs {wanted}")
    return entries


def _folder_candidate(folder: Path, origin: Origin, project: dict[str, Any], name: str, module: Any) -> Candidate:
    _check(name, module)
    package = module.partition(".")[0]
    search_path = next((p for p in (folder, folder / "src") if _has_package(p, package)), folder)
    info = PluginInfo(
        name=name,
        version=_text(project, "version") or "unknown",
        origin=origin,
        module=module,
        location=folder,
        search_path=search_path,
        summary=_text(project, "description"),
    )
    directory = search_path / package
    return Candidate(info, (directory if directory.is_dir() else directory.with_suffix(".py")).resolve())


def _has_package(folder: Path, package: str) -> bool:
    return (folder / package).is_dir() or (folder / f"{package}.py").is_file()


def _text(project: dict[str, Any], key: str) -> str:
    value = project.get(key, "")
    return value if isinstance(value, str) else ""


def _check(name: str, module: Any) -> None:
    if not _NAME.fullmatch(name):
        raise PhaseError("discover", f"plugin name {name!r} is not lower-case words joined by hyphens")
    if not isinstance(module, str) or not _MODULE.fullmatch(module):
        raise PhaseError("discover", f"entry point {name!r} must name a module, not {module!r}")


def _installed() -> Iterable[Found]:
    try:
        entries = list(importlib.metadata.entry_points(group=GROUP))
    except Exception as error:  # noqa: BLE001 - metadata of any installed distribution may be damaged in any way
        cause = f"the metadata of installed distributions cannot be read: {describe(error)}"
        return [BrokenPlugin("installed-distributions", "installed", None, "discover", cause)]
    return map(_from_entry, entries)


def _from_entry(entry: EntryPoint) -> Found:
    try:
        _check(entry.name, entry.value)
        path = locate(entry.value.partition(".")[0])
        version, summary = ("unknown", "") if entry.dist is None else (entry.dist.version, _summary(entry))
        info = PluginInfo(entry.name, version, "installed", entry.value, path, None, summary)
        return Candidate(info, path)
    except PhaseError as error:
        return BrokenPlugin(entry.name, "installed", None, error.phase, error.cause)
    except Exception as error:  # noqa: BLE001 - as above, and finders on sys.meta_path are other people's code
        return BrokenPlugin(entry.name, "installed", None, "discover", describe(error))


def _summary(entry: EntryPoint) -> str:
    metadata = None if entry.dist is None else entry.dist.metadata
    return (metadata["Summary"] if metadata is not None and "Summary" in metadata else None) or ""


def _builtin(module: str) -> Candidate:
    path = locate(module.partition(".")[0])
    name = module.rpartition(".")[2].replace("_", "-")
    summary = "The suite's own tasks and data sets."
    info = PluginInfo(name, benchsuite.__version__, "builtin", module, path, None, summary)
    return Candidate(info, path)
