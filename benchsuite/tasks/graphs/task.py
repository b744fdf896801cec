"""Graph quantization: a trained FP32 model of whole graphs is quantized (protocol ``graph-quantization/1``).

The protocol is in ``docs/protocols/graph-quantization.md``; its worker side is :mod:`benchsuite.tasks.bench` on a
:class:`~benchsuite.tasks.graphs.scene.GraphScene`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from benchsuite.contracts.task import Prepared
from benchsuite.data import read_graphs
from benchsuite.tasks.bench import Bench
from benchsuite.tasks.config import read_config
from benchsuite.tasks.containment import contained
from benchsuite.tasks.datasets import dataset_card
from benchsuite.tasks.graphs.scene import GraphScene
from benchsuite.tasks.graphs.view import read_graphs_view, read_header, shown, write_graphs
from benchsuite.tasks.metrics import checked_answers, measure
from benchsuite.tasks.recipes import GraphRecipe
from benchsuite.tasks.seeds import derive

if TYPE_CHECKING:
    from benchsuite.contracts.cards import TaskCard
    from benchsuite.contracts.task import CellInput, CellOutput, Places


class GraphQuantization:
    """The task of every card whose protocol is ``graph-quantization/1``.

    Args:
        card: its config is a :class:`~benchsuite.tasks.recipes.GraphRecipe`.

    Raises:
        ProtocolError: the config is not.
    """

    def __init__(self, card: TaskCard) -> None:
        self.card = card
        self.recipe = read_config(card.name, card.config, GraphRecipe)

    def prepare(self, places: Places) -> Prepared:
        """Read the data set, write its graphs without targets, and split targets into shown and held out.

        Raises:
            MissingDataError: the data set is absent, truncated or another one.
            StoreError: the cache cannot be written.
            UsageError: there is no data set of that name.
        """
        dataset = read_graphs(dataset_card(self.card, places), places.data)
        whole = Prepared(write_graphs(dataset, places.cache), dataset.content_hash(), {})
        folds = [
            replace(whole, held_out={"test": dataset.y[fold.test].numpy()}, shown=shown(dataset, fold))
            for fold in dataset.folds
        ]
        return replace(whole, folds=tuple(folds))

    def run(self, cell: CellInput) -> CellOutput:
        """Quantize the FP32 model of the cell's seed and fold, and predict.

        Raises:
            MissingDataError: the view is absent or damaged.
            ProtocolError: the method broke its contract, or training diverged.
            StoreError: the cache cannot be written.
        """
        device = torch.device(cell.device)
        with contained(derive(cell.seed, "global"), device):
            scene = GraphScene(read_graphs_view(cell.view, cell.shown, cell.device), self.recipe, device)
            return Bench(self.card.protocol, cell, scene, device).output()

    def score(self, prepared: Prepared, output: CellOutput) -> dict[str, float]:
        """Return the recipe's metric on the fold's test graphs.

        Raises:
            ProtocolError: there is not one answer of the right type for each test graph and target.
        """
        y = prepared.held_out["test"]
        shape, _ = read_header(prepared.view)
        predicted = checked_answers(output.predictions.get("test"), y, shape.outputs, "graph")
        return {self.recipe.metric: measure(self.recipe.metric, y, predicted)}
