"""The worker's side of quantizing a model of whole graphs."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from benchsuite.models.backbones.pooled import build_pooled
from benchsuite.models.batches import GraphPool
from benchsuite.tasks.checks import check_logits
from benchsuite.tasks.graphs.training import CHUNK, outputs_for, train_graphs
from benchsuite.tasks.metrics import agreement, answers

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from benchsuite.contracts.graph import Graph
    from benchsuite.models.backbone import Backbone
    from benchsuite.tasks.graphs.view import GraphsView
    from benchsuite.tasks.recipes import GraphRecipe
    from benchsuite.tasks.training import Selection


class GraphScene:
    """Many graphs, of which the test graphs are predicted.

    Args:
        view: what the worker knows of the data.
        recipe: of the FP32 model.
        device: where everything runs.
    """

    def __init__(self, view: GraphsView, recipe: GraphRecipe, device: torch.device) -> None:
        self.view, self.recipe, self.device = view, recipe, device
        self.digest = view.digest

    @cached_property
    def pool(self) -> GraphPool:
        """All graphs."""
        return GraphPool(self.view.graph)

    @cached_property
    def _calibration(self) -> Graph:
        return self.calibration()

    def initial_model(self, seed: int) -> Backbone:
        """Return an untrained network of the recipe."""
        options: dict[str, Any] = dict(self.recipe.options)
        return build_pooled(self.recipe.backbone, self.view.shape, seed, **options).to(self.device)

    def calibration(self) -> Graph:
        """Return the training graphs as one union, up to the recipe's number of nodes."""
        first = next(self.pool.chunks(self.view.targets.train, self.recipe.calibration_nodes))
        return self.pool.take(first)

    def train(self, model: Backbone, graph: Graph, seed: int, epochs: int | None = None) -> Selection:
        """Train in batches of training graphs; all of them, whatever part of them ``graph`` is."""
        recipe = self.recipe if epochs is None else self.recipe.model_copy(update={"epochs": epochs})
        return train_graphs(model, self.pool, self.view.targets, self.view.target_type, recipe, seed)

    def forward(self, model: Backbone) -> Tensor:
        """Run one forward over the calibration graphs."""
        with torch.no_grad():
            outputs: Tensor = model(self._calibration)
        return outputs

    def predict(self, predict: Callable[[Graph], Tensor]) -> Tensor:
        """Return the outputs for the test graphs, from unions of some of them."""

        def checked(graph: Graph) -> Tensor:
            return check_logits(predict(graph), graph.num_graphs, self.view.shape.outputs)

        pieces = self.pool.chunks(self.view.targets.test, CHUNK)
        return outputs_for(checked, [self.pool.take(which) for which in pieces])

    def answer(self, outputs: Tensor) -> Tensor:
        """Return the class of each test graph, or the outputs where targets are no classes."""
        return answers(outputs, self.view.target_type)

    def agreement(self, outputs: Tensor, wanted: Tensor) -> float | None:
        """Return the share of equal classes, or of equal yes and no; None of real numbers."""
        return agreement(outputs, wanted, self.view.target_type)
