"""One name, one owner: finds plugins that are there twice, and names that two plugins offer."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from benchsuite.errors import UsageError, near
from benchsuite.host.discovery import Candidate
from benchsuite.host.info import BrokenPlugin
from benchsuite.host.options import ORIGINS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from benchsuite.host.discovery import Found
    from benchsuite.host.loading import LoadedPlugin

__all__ = ["names_once", "places_once"]

#: Card lists of a plugin, and what one entry is called.
_OFFERS = {"methods": "method", "tasks": "task", "datasets": "data set"}


def places_once(found: Iterable[Found], prefer: Mapping[str, str]) -> list[Found]:
    """Return each plugin once; a conflict in place of one that lies in two places.

    The same real location found twice (a bundled folder that is also installed, in editable mode) is one plugin.

    Args:
        found: what discovery found, in order.
        prefer: for a plugin's name the origin to take it from.

    Raises:
        UsageError: ``prefer`` names a plugin, or an origin of it, that does not exist.
    """
    groups: dict[str, list[Found]] = defaultdict(list)
    for each in found:
        groups[each.info.name if isinstance(each, Candidate) else each.name].append(each)
    for name, origin in prefer.items():
        if name not in groups:
            raise UsageError(f"there is no plugin {name!r} to prefer", near(name, groups))
        groups[name] = _preferred(name, origin, groups[name])
    return [each for group in groups.values() for each in _one(_distinct(group))]


def names_once(loaded: Iterable[LoadedPlugin]) -> tuple[tuple[LoadedPlugin, ...], list[BrokenPlugin]]:
    """Return the plugins without the cards whose name another plugin offers too, and an entry for each such name."""
    plugins = tuple(loaded)
    conflicts: list[BrokenPlugin] = []
    for field, kind in _OFFERS.items():
        owners: dict[str, list[LoadedPlugin]] = defaultdict(list)
        for plugin in plugins:
            for card in getattr(plugin, field):
                owners[card.name].append(plugin)
        claimed = {name: claimants for name, claimants in owners.items() if len(claimants) > 1}
        conflicts += [_claim(kind, name, claimants) for name, claimants in sorted(claimed.items())]
        plugins = tuple(_without(plugin, field, claimed) for plugin in plugins)
    return plugins, conflicts


def _preferred(name: str, origin: str, group: list[Found]) -> list[Found]:
    origins = [each.info.origin if isinstance(each, Candidate) else each.origin for each in group]
    if origin not in ORIGINS:
        raise UsageError(f"there is no origin {origin!r}", near(origin, ORIGINS))
    if origin not in origins:
        raise UsageError(f"plugin {name!r} has no origin {origin!r}", f"It is here as: {', '.join(sorted(origins))}")
    return [each for each, its in zip(group, origins, strict=True) if its == origin]


def _distinct(group: list[Found]) -> list[Found]:
    kept: list[Found] = []
    seen: set[Any] = set()
    # Folders come before distributions: they alone know what a worker needs on its path.
    for each in sorted(group, key=lambda each: isinstance(each, Candidate) and each.info.search_path is None):
        place = each.package_path if isinstance(each, Candidate) else each.location
        if place is None or place not in seen:
            kept.append(each)
        seen.add(place)
    return kept


def _one(group: list[Found]) -> list[Found]:
    candidates = [each for each in group if isinstance(each, Candidate)]
    if len(candidates) < 2:
        return group
    first = candidates[0].info
    places = " and ".join(candidate.where for candidate in candidates)
    origins = sorted({candidate.info.origin for candidate in candidates})
    mend = f"--prefer {first.name}={'|'.join(origins)}" if len(origins) > 1 else "remove one of them"
    cause = f"plugin {first.name!r} is there more than once: {places}; mend: {mend}"
    broken = [each for each in group if isinstance(each, BrokenPlugin)]
    return [*broken, BrokenPlugin(first.name, first.origin, first.location, "conflict", cause)]


def _claim(kind: str, name: str, claimants: list[LoadedPlugin]) -> BrokenPlugin:
    infos = [plugin.info for plugin in claimants]
    both = " and ".join(f"{info.name!r} ({info.origin})" for info in infos)
    mend = " or ".join(f"-p no:{info.name}" for info in infos)
    cause = f"{kind} {name!r} is offered by the plugins {both}, so nobody gets the name; mend: {mend}"
    return BrokenPlugin(name, infos[-1].origin, infos[-1].location, "conflict", cause)


def _without(plugin: LoadedPlugin, field: str, names: Mapping[str, Any]) -> LoadedPlugin:
    cards = tuple(card for card in getattr(plugin, field) if card.name not in names)
    return dataclasses.replace(plugin, **{field: cards})  # type: ignore[arg-type]
