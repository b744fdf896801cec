"""All that the plugins offer, in one object."""

from __future__ import annotations

import copy
import importlib
import logging
from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypeVar

from benchsuite.errors import BenchsuiteError, PluginError, UsageError, near
from benchsuite.host.conflicts import names_once, places_once
from benchsuite.host.discovery import Candidate, discover
from benchsuite.host.info import BrokenPlugin, PhaseError, PluginInfo
from benchsuite.host.loading import SPECS, LoadedPlugin, contained, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from benchsuite.contracts.cards import DatasetCard, MethodCard, TaskCard
    from benchsuite.host.discovery import Found
    from benchsuite.host.options import HostOptions

__all__ = ["Catalogue", "load_catalogue"]

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Catalogue:
    """The plugins and their cards.

    Attributes:
        plugins: the loaded ones: builtins first, then by name.
        broken: the others, and names that two plugins claim; by name.
        methods: by name, sorted.
        tasks: by name, sorted.
        datasets: by name, sorted.
    """

    def __init__(self, loaded: Iterable[LoadedPlugin] = (), broken: Iterable[BrokenPlugin] = ()) -> None:
        kept, conflicts = names_once(loaded)
        self._loaded = kept
        self.plugins: tuple[PluginInfo, ...] = tuple(plugin.info for plugin in kept)
        self.broken: tuple[BrokenPlugin, ...] = tuple(sorted((*broken, *conflicts), key=lambda b: (b.name, b.cause)))
        self.methods: Mapping[str, MethodCard] = _by_name(card for plugin in kept for card in plugin.methods)
        self.tasks: Mapping[str, TaskCard] = _by_name(card for plugin in kept for card in plugin.tasks)
        self.datasets: Mapping[str, DatasetCard] = _by_name(card for plugin in kept for card in plugin.datasets)

    def method(self, name: str) -> MethodCard:
        """Return the card of a method.

        Raises:
            UsageError: there is none of that name.
            PluginError: the name is a broken plugin's.
        """
        return self._find("method", name, self.methods)

    def task(self, name: str) -> TaskCard:
        """Return the card of a task; raises as :meth:`method` does."""
        return self._find("task", name, self.tasks)

    def dataset(self, name: str) -> DatasetCard:
        """Return the card of a data set; raises as :meth:`method` does."""
        return self._find("data set", name, self.datasets)

    def plugin(self, name: str) -> PluginInfo:
        """Return a loaded plugin; raises as :meth:`method` does."""
        return self._plugin(name).info

    def plugin_of(self, name: str) -> PluginInfo:
        """Return the plugin that offers a method or, where no method has that name, a task or a data set.

        Raises:
            UsageError: nobody offers it.
            PluginError: the name is a broken plugin's.
        """
        for cards in ("methods", "tasks", "datasets"):
            for plugin in self._loaded:
                if any(card.name == name for card in getattr(plugin, cards)):
                    return plugin.info
        raise self._missing("method or task", name, {*self.methods, *self.tasks})

    def methods_of(self, plugin_name: str) -> tuple[MethodCard, ...]:
        """Return the methods of a plugin, by name; raises as :meth:`plugin` does."""
        return self._plugin(plugin_name).methods

    def offers_of(self, plugin_name: str) -> dict[str, tuple[MethodCard | TaskCard | DatasetCard, ...]]:
        """Return a plugin's cards under "methods", "tasks" and "datasets"; raises as :meth:`plugin` does."""
        plugin = self._plugin(plugin_name)
        return {"methods": plugin.methods, "tasks": plugin.tasks, "datasets": plugin.datasets}

    def suites(self) -> Mapping[str, tuple[TaskCard, ...]]:
        """Return the tasks of each suite; suites and tasks by name."""
        suites: dict[str, list[TaskCard]] = defaultdict(list)
        for task in self.tasks.values():
            for suite in task.suites:
                suites[suite].append(task)
        return {name: tuple(suites[name]) for name in sorted(suites)}

    def suite(self, name: str) -> tuple[TaskCard, ...]:
        """Return the tasks of a suite.

        Raises:
            UsageError: there is none of that name.
        """
        return self._find("suite", name, self.suites())

    def call(self, hook: str, **kwargs: Any) -> list[tuple[str, Any]]:
        """Call a hook in every plugin that has it, one by one.

        What one raises is logged as a warning and costs its result alone. Each gets its own copy of dictionaries, so
        that no observer changes what the others and the caller see.

        Args:
            hook: name of the hook.
            kwargs: exactly the arguments that the hook has.

        Returns:
            For each plugin that returned something other than None its name and the result.

        Raises:
            TypeError: the hook or its arguments do not exist.
        """
        if hook not in SPECS or set(kwargs) != set(SPECS[hook]):
            raise TypeError(f"there is no hook {hook}({', '.join(sorted(kwargs))})")
        results = []
        for plugin in self._loaded:
            if not plugin.implements(hook):
                continue
            try:
                with contained("collect", plugin.info.location):
                    result = plugin.call(hook, {k: _own(v) for k, v in kwargs.items()})
            except PhaseError as error:
                _log.warning("plugin %r failed in %s: %s", plugin.info.name, hook, error.cause)
                continue
            if result is not None:
                results.append((plugin.info.name, result))
        return results

    def _plugin(self, name: str) -> LoadedPlugin:
        return self._find("plugin", name, {plugin.info.name: plugin for plugin in self._loaded})

    def _find(self, kind: str, name: str, known: Mapping[str, T]) -> T:
        if name in known:
            return known[name]
        raise self._missing(kind, name, known)

    def _missing(self, kind: str, name: str, known: Iterable[str]) -> BenchsuiteError:
        for broken in self.broken:
            if broken.name == name:
                mend = f"Mend it, or leave it out with -p no:{name}; benchsuite list plugins shows all of them"
                return PluginError(str(broken), "" if broken.phase == "conflict" else mend)
        mend = near(name, known)
        if self.broken:
            mend += f" (not loaded, see benchsuite list plugins: {', '.join(b.name for b in self.broken)})"
        return UsageError(f"there is no {kind} {name!r}", mend)


def load_catalogue(options: HostOptions) -> Catalogue:
    """Find and load the plugins.

    Raises:
        UsageError: an option names a plugin or a folder that does not exist.
        PluginError: ``options.strict``, and a plugin is broken.
    """
    importlib.invalidate_caches()
    wanted = _wanted(discover(options), options)
    loaded: list[LoadedPlugin] = []
    broken: list[BrokenPlugin] = []
    for found in places_once(wanted, options.prefer):
        if isinstance(found, BrokenPlugin):
            broken.append(found)
            continue
        try:
            loaded.append(load(found))
        except PhaseError as error:
            info = found.info
            broken.append(BrokenPlugin(info.name, info.origin, info.location, error.phase, error.cause))
    catalogue = Catalogue(loaded, broken)
    if options.strict and catalogue.broken:
        _refuse(catalogue.broken)
    return catalogue


def _wanted(found: list[Found], options: HostOptions) -> list[Found]:
    names = {_name(each) for each in found}
    for name in options.disabled:
        if name not in names:
            raise UsageError(f"there is no plugin {name!r} to leave out", near(name, names))
    kept = [each for each in found if _name(each) not in options.disabled]
    if options.no_plugins:
        kept = [each for each in kept if isinstance(each, Candidate) and each.info.origin == "builtin"]
    return kept


def _name(found: Found) -> str:
    return found.info.name if isinstance(found, Candidate) else found.name


def _refuse(broken: tuple[BrokenPlugin, ...]) -> None:
    more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
    raise PluginError(f"{broken[0]}{more}", "Mend it, or unset BENCHSUITE_STRICT")


def _by_name(cards: Iterable[Any]) -> dict[str, Any]:
    return {card.name: card for card in sorted(cards, key=lambda card: str(card.name))}


def _own(value: Any) -> Any:
    return copy.deepcopy(value) if isinstance(value, dict) else value
