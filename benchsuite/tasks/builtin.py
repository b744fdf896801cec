"""The plugin that the suite itself is: its own tasks and data sets, offered through the hooks of any other plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchsuite.data.cards import DATASETS
from benchsuite.plugin import hookimpl
from benchsuite.tasks import distillation_cards, probe_cards, selection_cards
from benchsuite.tasks.cards import TASKS
from benchsuite.tasks.graphs.cards import TASKS as GRAPH_TASKS

if TYPE_CHECKING:
    from benchsuite.contracts.cards import DatasetCard, TaskCard


@hookimpl
def benchsuite_tasks() -> list[TaskCard]:
    """Return the suite's tasks: quantization for nodes and whole graphs, probing, node selection, distillation."""
    return [*TASKS, *GRAPH_TASKS, *probe_cards.tasks(), *selection_cards.TASKS, *distillation_cards.TASKS]


@hookimpl
def benchsuite_datasets() -> list[DatasetCard]:
    """Return the data sets that those tasks read."""
    return list(DATASETS)
