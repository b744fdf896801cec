"""Node quantization: a trained FP32 model is quantized and predicts the test nodes (protocol ``node-quantization/1``).

The protocol is in ``docs/protocols/node-quantization.md``; its worker side is :mod:`benchsuite.tasks.bench`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from benchsuite.contracts.task import Prepared
from benchsuite.data import read
from benchsuite.errors import ProtocolError
from benchsuite.tasks.bench import Bench
from benchsuite.tasks.config import read_config
from benchsuite.tasks.containment import contained
from benchsuite.tasks.datasets import dataset_card
from benchsuite.tasks.recipes import Recipe
from benchsuite.tasks.scene import NodeScene
from benchsuite.tasks.seeds import derive
from benchsuite.tasks.view import read_classes, read_view, write_view

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
        """Return the test accuracy in per cent.

        Raises:
            ProtocolError: there is not one class for each test node.
        """
        labels = prepared.held_out["test"]
        predicted = output.predictions.get("test")
        if not isinstance(predicted, np.ndarray) or predicted.dtype != np.int64 or predicted.shape != labels.shape:
            raise ProtocolError(f"predictions are not one int64 class for each of the {len(labels)} test nodes")
        classes = read_classes(prepared.view)
        if len(predicted) and not 0 <= predicted.min() <= predicted.max() < classes:
            raise ProtocolError(f"a predicted class is outside 0..{classes - 1}")
        return {"accuracy": 100.0 * float(np.mean(predicted == labels))}
