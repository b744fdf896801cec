"""The worker side of node quantization: one cell from the view to what the host scores."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from benchsuite.contracts.quantizer import QuantizationJob
from benchsuite.contracts.task import CellOutput
from benchsuite.models.backbones import build_backbone
from benchsuite.tasks.checks import check_diagnostics, check_execution, check_logits, check_model, stored_bytes
from benchsuite.tasks.containment import contained
from benchsuite.tasks.determinism import class_of, determinism
from benchsuite.tasks.reference import Reference, load_or_train
from benchsuite.tasks.seeds import derive
from benchsuite.tasks.timing import TIMING, Clock, Timing, interleave
from benchsuite.tasks.training import TRAINING_VERSION, train
from benchsuite.tasks.view import View, own_copy

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue
    from torch import Tensor

    from benchsuite.contracts.graph import Graph
    from benchsuite.contracts.task import CellInput
    from benchsuite.models.backbone import Backbone
    from benchsuite.tasks.recipes import Recipe


#: Epochs of a method's own training that are repeated where the whole is too long to repeat.
SHORT = 3


@dataclass(frozen=True)
class Outcome:
    """What one quantization led to."""

    logits: Tensor
    """Of the test nodes."""
    stored: int
    execution: dict[str, JsonValue]
    diagnostics: dict[str, JsonValue]

    @property
    def classes(self) -> Tensor:
        """The predicted class of each test node."""
        return self.logits.argmax(1)


@dataclass(frozen=True)
class Bench:
    """One cell on its way through the worker.

    Args:
        protocol: name and version of the task's protocol.
        recipe: of the FP32 model.
        cell: seed and method.
        view: what the worker knows of the data.
        device: where everything runs.
        epochs: see below.
    """

    protocol: str
    recipe: Recipe
    cell: CellInput
    view: View
    device: torch.device
    epochs: int | None = None
    """Of what a method trains itself, in place of the recipe's."""

    @property
    def seen(self) -> View:
        """What training and calibration may see."""
        return self.view.without_test if self.recipe.setting == "inductive" else self.view

    def initial_model(self) -> Backbone:
        """Return the untrained model of this seed."""
        seed = derive(self.cell.seed, "initial")
        options: dict[str, Any] = dict(self.recipe.options)
        features, classes = self.view.graph.num_features, self.view.classes
        return build_backbone(self.recipe.backbone, features, classes, seed, **options).to(self.device)

    def train_reference(self) -> Reference:
        """Train the FP32 model from scratch."""
        model = self.initial_model()
        seed = derive(self.cell.seed, "training")
        selection = train(model, self.seen.graph.fresh(), self.seen.labels, self.recipe, seed)
        return Reference(model.state_dict(), selection)

    @cached_property
    def reference(self) -> Reference:
        """The trained FP32 state, from the cache where it is there."""
        shapes: dict[str, JsonValue] = {n: list(t.shape) for n, t in self.initial_model().state_dict().items()}
        key: dict[str, JsonValue] = {
            "protocol": self.protocol,
            "training": TRAINING_VERSION,
            "recipe": self.recipe.model_dump(mode="json"),
            "view": self.view.digest,
            "seed": self.cell.seed,
            "torch": torch.__version__,
            "device": self.device.type,
            "shapes": shapes,
        }
        return load_or_train(self.cell.cache, key, self.train_reference)

    @cached_property
    def fp32(self) -> Backbone:
        """The trained FP32 model; only this class touches it."""
        model = self.initial_model()
        model.load_state_dict(self.reference.state)
        return model.eval()

    def forward(self) -> Tensor:
        """Return the FP32 model's logits for all nodes: the unit in which costs are counted."""
        with torch.no_grad():
            logits: Tensor = self.fp32(self.view.graph)
        return logits

    def job(self) -> QuantizationJob:
        """Return a job whose every part is the method's own; the adjacency of the FP32 model is built already."""
        graph = own_copy(self.seen.graph)
        model = copy.deepcopy(self.fp32)
        with torch.no_grad():
            model(graph)
        generator = torch.Generator(self.device).manual_seed(derive(self.cell.seed, "method"))
        return QuantizationJob(model, graph, self.initial_model, self._trainer(graph), generator)

    def _trainer(self, graph: Graph) -> Callable[[Backbone], Backbone]:
        labels, seed = self.seen.labels, derive(self.cell.seed, "training")
        recipe = self.recipe if self.epochs is None else self.recipe.model_copy(update={"epochs": self.epochs})

        def train_in_place(model: Backbone) -> Backbone:
            train(model, graph, labels, recipe, seed)
            return model

        return train_in_place

    def quantize(self, clock: Clock) -> Outcome:
        """Quantize under ``clock`` and use the result once."""
        with contained(derive(self.cell.seed, "global"), self.device):
            method = self.cell.methods["quantizer"].make()
            job = self.job()
            with clock:
                returned = method.quantize(job)
            model = check_model(returned)
            graph = own_copy(self.view.graph)
            logits = check_logits(model.predict(graph), graph.num_nodes, self.view.classes)
            return Outcome(
                logits[self.view.test],
                stored_bytes(model.state()),
                check_execution(model.execution()),
                check_diagnostics(model.diagnostics()),
            )

    def output(self) -> CellOutput:
        """Return everything that the cell leaves behind."""
        timing = interleave(self.forward, self.quantize, self.device)
        outcome = timing.results[0]
        return CellOutput(
            predictions={"test": outcome.classes.cpu().numpy()},
            measurements={**_costs(timing), **self._fidelity(outcome)},
            samples={
                "quantization_seconds": list(timing.call),
                "reference_forward_seconds": list(timing.forward),
                "cost_ratio": list(timing.ratios),
            },
            notes={**self._notes(outcome), "determinism": self._determinism(timing)},
        )

    def _determinism(self, timing: Timing[Outcome]) -> dict[str, JsonValue]:
        """Compare the logits of all repetitions; where there was one, of two with a shortened training."""
        if len(timing.results) > 1:
            found = class_of([outcome.logits] for outcome in timing.results)
            return {"class": found, "segment": f"{len(timing.results)} repetitions"}
        short = replace(self, epochs=SHORT)
        return determinism(lambda: [short.quantize(Clock(self.device)).logits], f"{SHORT} epochs of training")

    def _fidelity(self, outcome: Outcome) -> dict[str, float | None]:
        wanted = self.forward()[self.view.test]
        same = outcome.classes == wanted.argmax(1)
        return {
            "stored_bytes": float(outcome.stored),
            "reference_bytes": float(stored_bytes(self.fp32.state_dict())),
            "agreement": 100.0 * float(same.double().mean()),
            "logit_mse": float((outcome.logits.double() - wanted.double()).square().mean()),
        }

    def _notes(self, outcome: Outcome) -> dict[str, JsonValue]:
        selection = self.reference.selection
        return {
            "diagnostics": outcome.diagnostics,
            "execution": outcome.execution,
            "validation_accuracy": selection.accuracy,
            "best_epoch": selection.epoch,
            "timing": TIMING,
        }


def _costs(timing: Timing[Outcome]) -> dict[str, float | None]:
    return {
        "quantization_seconds": timing.seconds,
        "reference_forward_seconds": timing.forward_seconds,
        "cost_ratio": timing.cost_ratio,
        "drift": timing.drift,
    }
