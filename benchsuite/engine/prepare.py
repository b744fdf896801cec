"""Host side of a task before its cells: data read, view written, held-out labels kept here."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchsuite.errors import BenchsuiteError, MissingDataError, PluginError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchsuite.contracts.cards import TaskCard
    from benchsuite.contracts.task import Places, Prepared, Task
    from benchsuite.engine.cells import Cell
    from benchsuite.engine.reporter import Reporter
    from benchsuite.engine.selection import Selected


@dataclass(frozen=True)
class Ready:
    """A selected task whose data is there."""

    selected: Selected
    task: Task
    prepared: Prepared

    @property
    def cells(self) -> list[Cell]:
        """The wanted cells."""
        return self.selected.cells(self.prepared.data_hash)


def prepare(selected: Iterable[Selected], places: Places, reporter: Reporter) -> tuple[list[Ready], dict[str, str]]:
    """Prepare each task once.

    A task whose data is missing is left out where a suite or a glob brought it in, and is an error where the user
    wrote its name; if nothing is left, the first of them is the error.

    Returns:
        The tasks that are ready, and for each that was left out the reason.

    Raises:
        MissingDataError: see above.
        PluginError: a task's own code cannot be imported or fails.
    """
    ready: list[Ready] = []
    missing: dict[str, MissingDataError] = {}
    for each in selected:
        reporter.preparing(each.card.name)
        try:
            ready.append(_prepare(each, places))
        except MissingDataError as error:
            if each.explicit:
                raise
            missing[each.card.name] = error
            reporter.skipped(each.card.name, str(error))
    if missing and not ready:
        raise next(iter(missing.values()))
    return ready, {name: str(error) for name, error in missing.items()}


def _prepare(selected: Selected, places: Places) -> Ready:
    card = selected.card
    try:
        task = load_task(card)
        return Ready(selected, task, task.prepare(places))
    except (BenchsuiteError, OSError):
        raise
    except Exception as error:
        cause = f"{type(error).__name__}: {error}"
        raise PluginError(f"task {card.name!r} cannot be prepared: {cause}", "Tell its author") from error


def load_task(card: TaskCard) -> Task:
    """Import a card's target and make the task; its plugin must have been loaded.

    Raises:
        PluginError: the task's own code cannot be imported or fails.
    """
    module, _, name = card.target.partition(":")
    try:
        task: Task = getattr(importlib.import_module(module), name)(card)
    except (BenchsuiteError, OSError):
        raise
    except Exception as error:
        cause = f"{type(error).__name__}: {error}"
        raise PluginError(f"task {card.name!r} cannot be made: {cause}", "Tell its author") from error
    return task
