"""The worker side of quantization: one cell from the view to what the host scores."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import torch

from benchsuite.contracts.quantizer import QuantizationJob
from benchsuite.contracts.task import CellOutput
from benchsuite.tasks.checks import check_diagnostics, check_execution, check_model, stored_bytes
from benchsuite.tasks.containment import contained
from benchsuite.tasks.determinism import class_of, determinism
from benchsuite.tasks.reference import Reference, load_or_train
from benchsuite.tasks.seeds import derive
from benchsuite.tasks.timing import TIMING, Clock, Timing, interleave
from benchsuite.tasks.training import TRAINING_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue
    from torch import Tensor

    from benchsuite.contracts.graph import Graph
    from benchsuite.contracts.task import CellInput
    from benchsuite.models.backbone import Backbone
    from benchsuite.tasks.scene import Scene


#: Epochs of a method's own training that are repeated where the whole is too long to repeat.
SHORT = 3


@dataclass(frozen=True)
class Outcome:
    """What one quantization led to."""

    logits: Tensor
    """Of the test items."""
    stored: int
    execution: dict[str, JsonValue]
    diagnostics: dict[str, JsonValue]


@dataclass(frozen=True)
class Bench:
    """One cell on its way through the worker.

    Args:
        protocol: name and version of the task's protocol.
        cell: seed and method.
        scene: the data, and what is done with a model on it.
        device: where everything runs.
        epochs: see below.
    """

    protocol: str
    cell: CellInput
    scene: Scene
    device: torch.device
    epochs: int | None = None
    """Of what a method trains itself, in place of the recipe's."""

    def initial_model(self) -> Backbone:
        """Return the untrained model of this seed."""
        return self.scene.initial_model(derive(self.cell.seed, "initial"))

    def train_reference(self) -> Reference:
        """Train the FP32 model from scratch."""
        model = self.initial_model()
        selection = self.scene.train(model, self.scene.calibration(), derive(self.cell.seed, "training"))
        return Reference(model.state_dict(), selection)

    @cached_property
    def reference(self) -> Reference:
        """The trained FP32 state, from the cache where it is there."""
        shapes: dict[str, JsonValue] = {n: list(t.shape) for n, t in self.initial_model().state_dict().items()}
        key: dict[str, JsonValue] = {
            "protocol": self.protocol,
            "training": TRAINING_VERSION,
            "recipe": self.scene.recipe.model_dump(mode="json", exclude_none=True),
            "view": self.scene.digest,
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

    def job(self) -> QuantizationJob:
        """Return a job whose every part is the method's own; the adjacency of the FP32 model is built already."""
        graph = self.scene.calibration()
        model = copy.deepcopy(self.fp32)
        with torch.no_grad():
            model(graph)
        generator = torch.Generator(self.device).manual_seed(derive(self.cell.seed, "method"))
        return QuantizationJob(model, graph, self.initial_model, self._trainer(graph), generator)

    def _trainer(self, graph: Graph) -> Callable[[Backbone], Backbone]:
        def train_in_place(model: Backbone) -> Backbone:
            self.scene.train(model, graph, derive(self.cell.seed, "training"), self.epochs)
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
            return Outcome(
                self.scene.predict(model.predict),
                stored_bytes(model.state()),
                check_execution(model.execution()),
                check_diagnostics(model.diagnostics()),
            )

    def output(self) -> CellOutput:
        """Return everything that the cell leaves behind."""
        timing = interleave(lambda: self.scene.forward(self.fp32), self.quantize, self.device)
        outcome = timing.results[0]
        return CellOutput(
            predictions={"test": self.scene.answer(outcome.logits).cpu().numpy()},
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
        with torch.no_grad():
            wanted = self.scene.predict(self.fp32)
        return {
            "stored_bytes": float(outcome.stored),
            "reference_bytes": float(stored_bytes(self.fp32.state_dict())),
            "agreement": self.scene.agreement(outcome.logits, wanted),
            "logit_mse": float((outcome.logits.double() - wanted.double()).square().mean()),
        }

    def _notes(self, outcome: Outcome) -> dict[str, JsonValue]:
        selection = self.reference.selection
        return {
            "diagnostics": outcome.diagnostics,
            "execution": outcome.execution,
            "validation_score": selection.score,
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
