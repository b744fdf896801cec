"""What the host is told: where plugins may come from and which of them to leave out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

#: Where a plugin was found: in the suite itself, bundled beside it, as an installed distribution, or below a path
#: that the user named.
Origin = Literal["builtin", "bundled", "installed", "path"]
ORIGINS: tuple[Origin, ...] = get_args(Origin)


@dataclass(frozen=True)
class HostOptions:
    """How :func:`benchsuite.host.load_catalogue` finds plugins."""

    builtins: tuple[str, ...] = ()
    """Modules of the suite itself that are plugins, in the order in which they load."""
    plugin_paths: tuple[Path, ...] = ()
    """Each a plugin folder, or a folder of plugin folders."""
    disabled: tuple[str, ...] = ()
    """Names of plugins to leave out."""
    no_plugins: bool = False
    """Load the builtins alone."""
    prefer: Mapping[str, str] = field(default_factory=dict)
    """For a plugin name that is found in several places, the origin to take it from."""
    strict: bool = False
    """A broken plugin is an error, not an entry."""
