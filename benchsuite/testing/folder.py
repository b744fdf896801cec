"""A plugin's folder, and the checks of it. Imports no torch."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import benchsuite
from benchsuite.errors import UsageError
from benchsuite.host import HostOptions, load_catalogue
from benchsuite.host.loading import SPECS
from benchsuite.testing.findings import finding

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from benchsuite.contracts.cards import MethodCard
    from benchsuite.host import BrokenPlugin, PluginInfo

#: What a card module must not import: each costs tenths of a second or more at every ``benchsuite list``.
HEAVY = ("matplotlib", "numpy", "ogb", "pandas", "scipy", "sklearn", "torch", "torch_geometric", "transformers")

GROUP = "benchsuite"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_IMPORT_SECONDS = 60

# The module is imported as a worker would import it, and what came along is told on the last line.
_IMPORT = """
import importlib, json, sys
sys.path[:0] = json.loads(sys.argv[2])
importlib.import_module(sys.argv[1])
print()
print(json.dumps(sorted(name for name in sys.modules if "." not in name)))
"""


@dataclass(frozen=True)
class PluginFolder:
    """A folder with a ``pyproject.toml`` that names a plugin."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def pyproject(self) -> dict[str, Any]:
        """Return the parsed ``pyproject.toml``.

        Raises:
            ProtocolError: it is missing, or no TOML.
        """
        file = self.path / "pyproject.toml"
        try:
            parsed: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            mend = "Begin with benchsuite new quantizer NAME"
            raise finding(f"no pyproject.toml in {self.path}", "a plugin folder", mend) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise finding(f"{file} cannot be read ({error})", "valid TOML", "Mend that line") from error
        return parsed

    def entry_points(self) -> dict[str, str]:
        """Return the entry points of the group ``benchsuite``: module by plugin name.

        Raises:
            ProtocolError: ``pyproject.toml`` is missing or no TOML.
        """
        project = self.pyproject().get("project", {})
        groups = project.get("entry-points", {}) if isinstance(project, dict) else {}
        points = groups.get(GROUP, {}) if isinstance(groups, dict) else {}
        return {str(k): str(v) for k, v in points.items()} if isinstance(points, dict) else {}

    def load(self) -> tuple[PluginInfo, tuple[MethodCard, ...]]:
        """Load the plugin through the host, as every command does.

        Returns:
            The plugin and the cards of its methods.

        Raises:
            ProtocolError: the host cannot load it.
        """
        names = list(self.entry_points())
        # The same folder may also be bundled or installed; the one that was asked for is meant.
        options = HostOptions(plugin_paths=(self.path,), prefer=dict.fromkeys(names, "path"))
        try:
            catalogue = load_catalogue(options)
        except UsageError as error:
            raise finding(error.message, "a plugin folder", error.mend) from error
        for broken in catalogue.broken:
            if self._concerns(broken, names):
                found = f"the host refuses it in phase {broken.phase}: {broken.cause}"
                raise finding(found, "a plugin that loads", "Mend that and check again")
        for info in catalogue.plugins:
            if info.origin == "path" and info.name in names:
                return info, catalogue.methods_of(info.name)
        raise finding(f"the host finds no plugin in {self.path}", "one plugin", "Look at [project.entry-points]")

    def _concerns(self, broken: BrokenPlugin, names: list[str]) -> bool:
        if broken.phase == "conflict":  # then the place is only one of the claimants'
            return any(repr(name) in broken.cause for name in names)
        return broken.location is not None and broken.location.resolve() == self.path.resolve()


def folder_names_one_plugin(folder: PluginFolder) -> str:
    """``pyproject.toml`` has one entry point in the group ``benchsuite``, and its module lies in the folder."""
    points = folder.entry_points()
    example = f'[project.entry-points.{GROUP}] my-name = "benchsuite_my_name"'
    if len(points) != 1:
        found = f"{len(points)} entry points in the group {GROUP!r}"
        raise finding(found, "exactly one", f"Write in pyproject.toml: {example}")
    ((name, module),) = points.items()
    if not _NAME.fullmatch(name):
        mend = "Rename the entry point"
        raise finding(f"the entry point is called {name!r}", "lower-case words with hyphens between", mend)
    base = folder.path / module.replace(".", "/")
    if not (base / "__init__.py").is_file() and not base.with_suffix(".py").is_file():
        mend = "Mend the module's name in pyproject.toml, or move the package"
        raise finding(f"the entry point names {module!r}, which is not in the folder", "a module beside it", mend)
    return f"plugin {name}, module {module}"


def readme_is_there(folder: PluginFolder) -> None:
    """README.md says what the plugin is."""
    file = folder.path / "README.md"
    if not file.is_file() or not file.read_text(encoding="utf-8", errors="replace").strip():
        mend = "Say what the method does, where it comes from and what it decides by itself"
        raise finding("README.md is missing or empty", "a page for readers", mend)


def card_module_imports(folder: PluginFolder) -> None:
    """The module with the cards can be imported in a fresh interpreter."""
    for module in folder.entry_points().values():
        _imported_with(module, folder.path)


def card_module_is_light(folder: PluginFolder) -> None:
    """Importing the module with the cards imports nothing heavy: ``benchsuite list`` imports it too."""
    for module in folder.entry_points().values():
        heavy = sorted(_imported_with(module, folder.path).intersection(HEAVY))
        if heavy:
            mend = "Move those imports to the method's file; the card names it by target"
            raise finding(f"importing {module} imports {', '.join(heavy)}", "none of " + ", ".join(HEAVY), mend)


def cards_load(folder: PluginFolder) -> str:
    """The host loads the plugin, and it offers at least one method with a valid card, or has another hook."""
    info, methods = folder.load()
    others = sorted(vars(sys.modules[info.module]).keys() & SPECS.keys() - {"benchsuite_methods"})
    if not methods and others:
        return "hooks: " + ", ".join(others)
    if not methods:
        mend = "Return its MethodCard from the hook benchsuite_methods"
        raise finding(f"plugin {info.name!r} offers no method", "at least one", mend)
    return "methods: " + ", ".join(card.name for card in methods)


def _imported_with(module: str, folder: Path) -> set[str]:
    """Return the top-level modules that a fresh interpreter holds after importing ``module``."""
    search = [str(folder.resolve()), str(Path(benchsuite.__file__).parents[1])]
    command = [sys.executable, "-c", _IMPORT, module, json.dumps(search)]
    mend = "Import it in a fresh Python to see more"
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_IMPORT_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        found = f"importing {module} takes longer than {_IMPORT_SECONDS} s"
        raise finding(found, "an import that ends", mend) from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise finding(f"importing {module} ends with {last}", "an import without error", mend)
    return set(json.loads(done.stdout.splitlines()[-1]))


FOLDER_CHECKS = (readme_is_there, folder_names_one_plugin, card_module_imports, card_module_is_light, cards_load)
#: Where one of these fails, those that come later cannot be done.
GATES = (folder_names_one_plugin, card_module_imports)
