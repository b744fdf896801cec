"""The file through which a worker sees the graphs: all of them, with targets for those to learn from.

Test graphs are inputs and no secret. What stays in the host is what scores are valued by: the drawn cascades, and what
the greedy degree rule achieves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import safetensors.torch
import torch

from benchsuite.caching import read_hashed, write_hashed
from benchsuite.contracts.graph import Graph
from benchsuite.models.selection.degree import graph_of
from benchsuite.tasks.selection.graphs import union
from benchsuite.tasks.selection.training import Lesson, standardised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from torch import Tensor

    from benchsuite.tasks.selection.graphs import Plain
    from benchsuite.tasks.selection.objectives import Objective
    from benchsuite.tasks.selection.recipe import Split


@dataclass(frozen=True, eq=False)
class View:
    """What a worker knows."""

    train: Lesson
    """All training graphs; families take turns, so that any run of consecutive graphs has them in like parts."""
    val: Lesson
    test: Graph

    def lessons(self, group: int) -> list[Lesson]:
        """Return the training graphs in lessons of ``group`` graphs each, the last one perhaps of fewer."""
        count = self.train.graph.num_graphs
        return [_part(self.train, first, min(first + group, count)) for first in range(0, count, group)]


def _part(lesson: Lesson, first: int, end: int) -> Lesson:
    """Return the graphs ``first`` to ``end - 1`` of a union; their nodes lie side by side."""
    batch = graph_of(lesson.graph)
    start, stop = torch.searchsorted(batch, torch.tensor([first, end], device=batch.device)).tolist()
    edges = lesson.graph.edge_index
    inside = (edges[1] >= start) & (edges[1] < stop)
    graph = Graph(lesson.graph.x[start:stop], edges[:, inside] - start, batch[start:stop] - first)
    return Lesson(graph, lesson.target[start:stop])


def in_turns(objectives: Sequence[Objective], families: int) -> list[Objective]:
    """Return ``objectives``, which stand family by family, with the families taking turns."""
    each = len(objectives) // families
    return [objectives[family * each + place] for place in range(each) for family in range(families)]


def write_view(learn: Mapping[Split, Sequence[Objective]], test: Sequence[Plain], cache: Path) -> Path:
    """Write the view below ``cache`` and return its file, named after the hash of its content.

    Args:
        learn: for ``train`` and ``val`` the graphs with their targets.
        test: the test graphs.
        cache: the cache folder.

    Raises:
        StoreError: the cache cannot be written.
    """
    tensors = _tensors("test", union(test))
    for split, objectives in learn.items():
        graph = union([objective.graph for objective in objectives])
        target = torch.from_numpy(np.concatenate([objective.target() for objective in objectives]))
        tensors |= _tensors(split, graph) | {f"{split}.target": standardised(target, graph)}
    return write_hashed(cache / "views", safetensors.torch.save(tensors), ".safetensors")


def _tensors(split: str, graph: Graph) -> dict[str, Tensor]:
    parts = {"x": graph.x, "edge_index": graph.edge_index, "batch": graph_of(graph)}
    return {f"{split}.{name}": tensor.contiguous() for name, tensor in parts.items()}


@lru_cache(maxsize=2)
def read_view(path: Path, device: str = "cpu") -> View:
    """Return the view in ``path``; a warm worker reads it once.

    Raises:
        MissingDataError: the file is absent or damaged.
    """
    tensors = {name: tensor.to(device) for name, tensor in safetensors.torch.load(read_hashed(path)).items()}

    def graph(split: str) -> Graph:
        return Graph(tensors[f"{split}.x"], tensors[f"{split}.edge_index"], tensors[f"{split}.batch"])

    def lesson(split: str) -> Lesson:
        return Lesson(graph(split), tensors[f"{split}.target"])

    return View(lesson("train"), lesson("val"), graph("test"))
