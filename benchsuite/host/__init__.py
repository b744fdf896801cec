"""The plugin host: finds plugins, loads them one by one, and hands out their cards.

pluggy isolates nothing: one plugin that raises takes the others with it. So each plugin has a manager of its own here,
and whatever goes wrong costs that plugin alone, one line with the phase and the cause.
"""

from __future__ import annotations

from benchsuite.host.catalogue import Catalogue, load_catalogue
from benchsuite.host.info import BrokenPlugin, Phase, PluginInfo
from benchsuite.host.loading import LoadedPlugin
from benchsuite.host.options import ORIGINS, HostOptions, Origin

__all__ = [
    "ORIGINS",
    "BrokenPlugin",
    "Catalogue",
    "HostOptions",
    "LoadedPlugin",
    "Origin",
    "Phase",
    "PluginInfo",
    "load_catalogue",
]
