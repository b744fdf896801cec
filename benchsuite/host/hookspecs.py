"""The hooks that a plugin module may implement, with :data:`benchsuite.plugin.hookimpl`.

Hooks register and observe; the typed protocols of :mod:`benchsuite.contracts` do the work. Nothing that is timed goes
through a hook. An implementation may leave out arguments that it does not need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchsuite.contracts.cards import DatasetCard, MethodCard, TaskCard

hookspec = pluggy.HookspecMarker("benchsuite")


@hookspec
def benchsuite_methods() -> Sequence[MethodCard]:  # type: ignore[empty-body]
    """Return the cards of the plugin's methods, of all kinds."""


@hookspec
def benchsuite_tasks() -> Sequence[TaskCard]:  # type: ignore[empty-body]
    """Return the cards of the plugin's tasks."""


@hookspec
def benchsuite_datasets() -> Sequence[DatasetCard]:  # type: ignore[empty-body]
    """Return the cards of the plugin's data sets."""


@hookspec
def benchsuite_executor(name: str, options: Mapping[str, Any]) -> Any:
    """Return an executor of that name, or None where the name is not this plugin's."""


@hookspec
def benchsuite_environment() -> Sequence[str]:  # type: ignore[empty-body]
    """Return lines that belong into the provenance of every record (a driver's version, say)."""


@hookspec
def benchsuite_cell_started(cell: dict[str, Any]) -> None:
    """Hear that a cell starts; ``cell`` is its canonical key."""


@hookspec
def benchsuite_cell_finished(record: dict[str, Any]) -> None:
    """Hear how a cell ended; ``record`` is the line that the store keeps."""


@hookspec
def benchsuite_run_finished(summary: dict[str, Any]) -> None:
    """Hear that the run is over."""


@hookspec
def benchsuite_columns(board: str) -> Mapping[str, Callable[..., str]]:  # type: ignore[empty-body]
    """Return extra columns of a board: for each heading a pure function of a row's records."""
