"""Node selection: a placed model is trained on small graphs and scores larger ones (protocol ``node-selection/1``).

The protocol is in ``docs/protocols/node-selection.md``; its worker side is :mod:`benchsuite.tasks.selection.bench`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from benchsuite.contracts.task import Prepared
from benchsuite.errors import ProtocolError
from benchsuite.tasks.config import read_config
from benchsuite.tasks.containment import contained
from benchsuite.tasks.seeds import derive
from benchsuite.tasks.selection.bench import Bench
from benchsuite.tasks.selection.graphs import Plain, generate
from benchsuite.tasks.selection.objectives import Objective, objectives, order_of
from benchsuite.tasks.selection.recipe import SelectionRecipe
from benchsuite.tasks.selection.view import in_turns, read_view, write_view

if TYPE_CHECKING:
    from benchsuite.contracts.cards import TaskCard
    from benchsuite.contracts.task import CellInput, CellOutput, Places
    from benchsuite.tasks.selection.recipe import Split

#: An order is valued by the edges alone.
NO_FEATURES = np.empty((0, 0), dtype=np.float32)
#: Splits whose targets a worker sees.
LEARNT: tuple[Split, ...] = ("train", "val")


class NodeSelection:
    """The task of every card whose protocol is ``node-selection/1``.

    Args:
        card: its config is a :class:`~benchsuite.tasks.selection.recipe.SelectionRecipe`; of its two metrics the first
            is the mean ratio to the greedy degree rule in per cent, the second the mean value in per cent of the nodes.

    Raises:
        ProtocolError: the config is not, or there are not two metrics.
    """

    def __init__(self, card: TaskCard) -> None:
        self.card = card
        self.recipe = read_config(card.name, card.config, SelectionRecipe)
        if len(card.metrics) != 2:
            raise ProtocolError(f"task {card.name!r} has {len(card.metrics)} metrics; node selection has two")
        self._tests: dict[str, list[Objective]] = {}

    def prepare(self, places: Places) -> Prepared:
        """Generate the graphs, work out the targets and write the view.

        Raises:
            StoreError: the cache cannot be written.
        """
        recipe = self.recipe
        families = len(recipe.graphs.families)
        learn: dict[Split, list[Objective]] = {
            split: in_turns(objectives(generate(recipe.graphs, split), recipe, split), families) for split in LEARNT
        }
        test = generate(recipe.graphs, "test")
        view = write_view(learn, test, places.cache)
        held_out = {
            "edges": np.concatenate([graph.edge_index for graph in test], axis=1),
            "edge_counts": np.array([graph.edge_index.shape[1] for graph in test]),
            "nodes": np.array([graph.nodes for graph in test]),
        }
        return Prepared(view, view.stem, held_out)

    def run(self, cell: CellInput) -> CellOutput:
        """Train the placed model of the cell's seed, and score the test graphs.

        Raises:
            MissingDataError: the view is absent or damaged.
            ProtocolError: the method broke its contract, or training diverged.
        """
        device = torch.device(cell.device)
        with contained(derive(cell.seed, "global"), device):
            return Bench(self.recipe, cell, read_view(cell.view, cell.device), device).output()

    def score(self, prepared: Prepared, output: CellOutput) -> dict[str, float]:
        """Return both metrics, means over the test graphs.

        Raises:
            ProtocolError: there is not one finite score for each test node.
        """
        nodes = prepared.held_out["nodes"]
        scores = output.predictions.get("scores")
        if not isinstance(scores, np.ndarray) or scores.shape != (nodes.sum(),) or scores.dtype != np.float64:
            raise ProtocolError(f"predictions are not one float64 score for each of the {nodes.sum()} test nodes")
        if not np.isfinite(scores).all():
            raise ProtocolError("a predicted score is not finite")
        orders = [order_of(part) for part in np.split(scores, np.cumsum(nodes)[:-1])]
        pairs = list(zip(self._test_objectives(prepared), orders, strict=True))
        ratio, value = (metric.name for metric in self.card.metrics)
        return {
            ratio: float(np.mean([objective.ratio(order) for objective, order in pairs])),
            value: 100.0 * float(np.mean([objective.value(order) for objective, order in pairs])),
        }

    def _test_objectives(self, prepared: Prepared) -> list[Objective]:
        """Return the test graphs' objectives, made once: drawing cascades takes longer than scoring a cell."""
        if prepared.data_hash not in self._tests:
            held = prepared.held_out
            edges = np.split(held["edges"], np.cumsum(held["edge_counts"])[:-1], axis=1)
            graphs = [Plain(part, int(nodes), NO_FEATURES) for part, nodes in zip(edges, held["nodes"], strict=True)]
            self._tests[prepared.data_hash] = objectives(graphs, self.recipe, "test")
        return self._tests[prepared.data_hash]
