"""What differs between quantizing a model of nodes and one of whole graphs: everything else is the bench."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch

from benchsuite.models.backbones import build_backbone
from benchsuite.tasks.checks import check_logits
from benchsuite.tasks.metrics import agreement, answers
from benchsuite.tasks.training import train
from benchsuite.tasks.view import own_copy

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from benchsuite.contracts.graph import Graph
    from benchsuite.models.backbone import Backbone
    from benchsuite.tasks.recipes import BaseRecipe, Recipe
    from benchsuite.tasks.training import Selection
    from benchsuite.tasks.view import View


class Scene(Protocol):
    """The data of one cell as its worker sees it, and what is done with a model on it."""

    @property
    def recipe(self) -> BaseRecipe:
        """How the FP32 model is trained."""

    @property
    def digest(self) -> str:
        """Names everything of the data that training can depend on."""

    def initial_model(self, seed: int) -> Backbone:
        """Return an untrained model."""

    def calibration(self) -> Graph:
        """Return a copy of what a method may see, the method's own."""

    def train(self, model: Backbone, graph: Graph, seed: int, epochs: int | None = None) -> Selection:
        """Train ``model`` in place by the recipe, or for another number of epochs.

        Args:
            model: starts from what it has.
            graph: what :meth:`calibration` returned, with whatever was derived from it.
            seed: of everything random.
            epochs: in place of the recipe's.
        """

    def forward(self, model: Backbone) -> Tensor:
        """Run the forward that is the unit of cost."""

    def predict(self, predict: Callable[[Graph], Tensor]) -> Tensor:
        """Return the outputs for the test items, ``[items, outputs]`` float32, checked.

        Raises:
            ProtocolError: they have another shape or dtype, or are not finite.
        """

    def answer(self, outputs: Tensor) -> Tensor:
        """Return what is sent to the host for scoring: of classes the largest, otherwise the outputs themselves."""

    def agreement(self, outputs: Tensor, wanted: Tensor) -> float | None:
        """Return how many of the test items' answers are those of the FP32 model, per cent; None of real numbers."""


class NodeScene:
    """One graph, whose test nodes are predicted.

    Args:
        view: what the worker knows of the data.
        recipe: of the FP32 model; its setting says whether training and calibration see the test nodes.
        device: where everything runs.
    """

    def __init__(self, view: View, recipe: Recipe, device: torch.device) -> None:
        self.view, self.recipe, self.device = view, recipe, device
        self.digest = view.digest

    @property
    def seen(self) -> View:
        """What training and calibration may see."""
        return self.view.without_test if self.recipe.setting == "inductive" else self.view

    def initial_model(self, seed: int) -> Backbone:
        """Return an untrained model of the recipe."""
        options: dict[str, Any] = dict(self.recipe.options)
        features, classes = self.view.graph.num_features, self.view.classes
        return build_backbone(self.recipe.backbone, features, classes, seed, **options).to(self.device)

    def calibration(self) -> Graph:
        """Return the whole graph, or in the inductive setting the one without test nodes."""
        return own_copy(self.seen.graph)

    def train(self, model: Backbone, graph: Graph, seed: int, epochs: int | None = None) -> Selection:
        """Train on ``graph`` by the recipe."""
        recipe = self.recipe if epochs is None else self.recipe.model_copy(update={"epochs": epochs})
        return train(model, graph, self.seen.labels, recipe, seed, self.view.target_type)

    def forward(self, model: Backbone) -> Tensor:
        """Run one forward over the whole graph."""
        with torch.no_grad():
            logits: Tensor = model(self.view.graph)
        return logits

    def predict(self, predict: Callable[[Graph], Tensor]) -> Tensor:
        """Return the test nodes' logits, of a prediction for a copy of the whole graph."""
        graph = own_copy(self.view.graph)
        return check_logits(predict(graph), graph.num_nodes, self.view.classes)[self.view.test]

    def answer(self, outputs: Tensor) -> Tensor:
        """Return the class of each test node, or the outputs where targets are no classes."""
        return answers(outputs, self.view.target_type)

    def agreement(self, outputs: Tensor, wanted: Tensor) -> float | None:
        """Return the share of equal answers, per cent."""
        return agreement(outputs, wanted, self.view.target_type)
