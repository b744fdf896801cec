"""Node quantization: a trained FP32 model is quantized and predicts the test nodes (protocol ``node-quantization/1``).

The protocol is in ``docs/protocols/node-quantization.md``; its worker side is :mod:`benchsuite.tasks.bench`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from benchsuite.contracts.task import Prepared
from benchsuite.data import read
from benchsuite.tasks.bench import Bench
from benchsuite.tasks.config import read_config
from benchsuite.tasks.containment import contained
from benchsuite.tasks.datasets import dataset_card
from benchsuite.tasks.metrics import checked_answers, measure
from benchsuite.tasks.recipes import Recipe
from benchsuite.tasks.scene import NodeScene
from benchsuite.tasks.seeds import derive
from benchsuite.tasks.view import read_outputs, read_view, write_view

if TYPE_CHECKING:
    from benchsuite.contracts.cards import TaskCard
    from benchsuite.contracts.task import CellInput, CellOutput, Places


class NodeQuantization:
    """The task of every card whose protocol is ``node-quantization/1``.

    Args:
        card: its config is a :class:`~benchsuite.tasks.recipes.Recipe`.

    Raises:
        ProtocolError: the config is not.
    """

    def __init__(self, card: TaskCard) -> None:
        self.card = card
        self.recipe = read_config(card.name, card.config, Recipe)

    def prepare(self, places: Places) -> Prepared:
        """Read the data set and write its label-free view.

        Raises:
            MissingDataError: the data set is absent, truncated or another one.
            StoreError: the cache cannot be written.
            UsageError: there is no data set of that name.
        """
        dataset = read(dataset_card(self.card, places), places.data)
        held_out = {"test": dataset.y[dataset.test].numpy()}
        return Prepared(write_view(dataset, places.cache), dataset.content_hash(), held_out)

    def run(self, cell: CellInput) -> CellOutput:
        """Quantize the FP32 model of the cell's seed, and predict.

        Raises:
            MissingDataError: the view is absent or damaged.
            ProtocolError: the method broke its contract, or training diverged.
            StoreError: the cache cannot be written.
        """
        device = torch.device(cell.device)
        with contained(derive(cell.seed, "global"), device):
            scene = NodeScene(read_view(cell.view, cell.device), self.recipe, device)
            return Bench(self.card.protocol, cell, scene, device).output()

    def score(self, prepared: Prepared, output: CellOutput) -> dict[str, float]:
        """Return the card's metric on the test nodes.

        Raises:
            ProtocolError: there is not one answer of the right type for each test node and target.
        """
        metric = self.recipe.metric or "accuracy"
        labels = prepared.held_out["test"]
        _, outputs = read_outputs(prepared.view)
        predicted = checked_answers(output.predictions.get("test"), labels, outputs, "node")
        return {metric: measure(metric, labels, predicted)}
