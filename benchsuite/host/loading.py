"""Loads one plugin: imports its module, checks its hooks, calls those that return cards.

Each function here ends in a result or in a :class:`~benchsuite.host.info.PhaseError`. What a plugin raises is
contained, ``SystemExit`` included; ``KeyboardInterrupt`` is the user's and passes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import importlib.machinery
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy
from pydantic import ValidationError

from benchsuite.contracts.cards import DatasetCard, Frozen, MethodCard, TaskCard
from benchsuite.errors import UsageError, near
from benchsuite.host import hookspecs
from benchsuite.host.info import PhaseError, PluginInfo, describe
from benchsuite.host.validation import explain, validated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

    from benchsuite.host.discovery import Candidate
    from benchsuite.host.info import Phase

__all__ = ["SPECS", "LoadedPlugin", "contained", "load"]

#: The hooks that there are, and the arguments that each is called with.
SPECS: Mapping[str, tuple[str, ...]] = {
    name: tuple(inspect.signature(spec).parameters)
    for name, spec in vars(hookspecs).items()
    if name.startswith("benchsuite_")
}

_NO_NAMES = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


def _manager() -> pluggy.PluginManager:
    manager = pluggy.PluginManager("benchsuite")
    manager.add_hookspecs(hookspecs)
    return manager


@dataclasses.dataclass(frozen=True)
class LoadedPlugin:
    """A plugin that works: its cards, sorted by name, and a manager for it alone."""

    info: PluginInfo
    methods: tuple[MethodCard, ...] = ()
    tasks: tuple[TaskCard, ...] = ()
    datasets: tuple[DatasetCard, ...] = ()
    manager: pluggy.PluginManager = dataclasses.field(default_factory=_manager, repr=False, compare=False)

    def implements(self, hook: str) -> bool:
        """Tell whether the plugin has that hook."""
        return bool(getattr(self.manager.hook, hook).get_hookimpls())

    def call(self, hook: str, arguments: Mapping[str, Any]) -> Any:
        """Call the plugin's implementation of ``hook`` and return what it returns."""
        results = getattr(self.manager.hook, hook)(**arguments)
        return results[0] if results else None


def load(candidate: Candidate) -> LoadedPlugin:
    """Import, check and collect one plugin.

    Raises:
        PhaseError: the phase in which it failed, and why.
    """
    # What a plugin prints goes to stderr: a program may be reading our stdout.
    with contextlib.redirect_stdout(sys.stderr):
        bare = _registered(candidate)
        return dataclasses.replace(
            bare,
            methods=_collect(bare, "benchsuite_methods", MethodCard),
            tasks=_collect(bare, "benchsuite_tasks", TaskCard),
            datasets=_collect(bare, "benchsuite_datasets", DatasetCard),
        )


def _registered(candidate: Candidate) -> LoadedPlugin:
    info = candidate.info
    with contained("import", info.location):
        module = _import(candidate)
    with contained("register", info.location):
        _check_hooks(module)
        plugin = LoadedPlugin(info)
        plugin.manager.register(module, info.name)
    return plugin


@contextlib.contextmanager
def contained(phase: Phase, folder: Path | None = None) -> Iterator[None]:
    """Turn whatever the block raises into a PhaseError.

    A card with a wrong field may raise wherever the plugin makes it: that is always the phase "validate".
    """
    try:
        yield
    except (KeyboardInterrupt, PhaseError):
        raise
    except (ValidationError, UsageError) as error:
        raise PhaseError("validate", explain(error)) from error
    except BaseException as error:
        # A plugin may raise anything, SystemExit included.
        raise PhaseError(phase, describe(error, folder)) from error


def _import(candidate: Candidate) -> ModuleType:
    info = candidate.info
    before = set(sys.modules)
    try:
        if info.search_path is not None and info.package not in sys.modules:
            _import_package(info.package, info.search_path)
        module = importlib.import_module(info.module)
        _check_place(sys.modules[info.package], candidate)
    except BaseException:
        # A half-imported package would make the next try fail in another way, or seem to work.
        if info.origin != "builtin":
            for name in [n for n in set(sys.modules) - before if n.partition(".")[0] == info.package]:
                del sys.modules[name]
        raise
    return module


def _import_package(package: str, search_path: Path) -> None:
    """Import ``package`` from that folder, without a change of ``sys.path``: no folder there may shadow a library."""
    spec = importlib.machinery.PathFinder.find_spec(package, [str(search_path)])
    if spec is None or spec.loader is None or not spec.has_location:
        raise ModuleNotFoundError(f"no module {package!r} with an __init__.py in {search_path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[package] = module
    spec.loader.exec_module(module)


def _check_place(package: ModuleType, candidate: Candidate) -> None:
    wanted = candidate.package_path
    if wanted is None or package.__file__ is None:
        return
    file = Path(package.__file__).resolve()
    if file != wanted and file.parent != wanted:
        name = candidate.info.package
        raise ImportError(f"another module {name!r} is already imported, from {file.parent}; the plugin's is {wanted}")


def _check_hooks(module: ModuleType) -> None:
    implementations = dict(_implementations(module))
    if not implementations:
        raise PhaseError("register", f"module {module.__name__!r} has no function with @hookimpl")
    for name, function in implementations.items():
        options = function.benchsuite_impl
        hook = options["specname"] or name
        if hook not in SPECS:
            raise PhaseError("hook", f"there is no hook {hook!r}. {near(hook, SPECS)}")
        if options["wrapper"] or options["hookwrapper"]:
            raise PhaseError("register", f"{name} is a wrapper, and a plugin is called by itself: nothing to wrap")
        _check_signature(name, hook, function)


def _implementations(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name, value in sorted(vars(module).items()):
        if not inspect.isroutine(value):
            continue
        if hasattr(value, "benchsuite_impl"):
            yield name, value
        elif name in SPECS:
            raise PhaseError("hook", f"{name} is not marked: write @hookimpl above it")


def _check_signature(name: str, hook: str, function: Callable[..., Any]) -> None:
    wanted = ", ".join(SPECS[hook]) or "no argument"
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in _NO_NAMES:
            kind = parameter.kind.description
            raise PhaseError("signature", f"{name} has the {kind} argument {parameter.name!r}, which would be left out")
        if parameter.name not in SPECS[hook]:
            raise PhaseError("signature", f"{name} takes {parameter.name!r}, which the hook lacks: it has {wanted}")


def _collect(plugin: LoadedPlugin, hook: str, card_class: type[Frozen]) -> tuple[Any, ...]:
    if not plugin.implements(hook):
        return ()
    with contained("collect", plugin.info.location):
        cards = plugin.call(hook, {})
    if not isinstance(cards, list | tuple):
        raise PhaseError("collect", f"{hook}() returned {type(cards).__name__}, not a list")
    with contained("validate"):
        return validated(cards, hook, card_class, plugin.info.package)
