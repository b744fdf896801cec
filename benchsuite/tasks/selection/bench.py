"""The worker side of node selection: place, train, score the test graphs, measure."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from benchsuite.contracts.norm_placement import NodeRanking
from benchsuite.contracts.task import CellOutput
from benchsuite.models.selection import build_model, degrees, place
from benchsuite.tasks.determinism import determinism
from benchsuite.tasks.seeds import derive
from benchsuite.tasks.selection.checks import check_method, check_scales, check_scores
from benchsuite.tasks.selection.training import loss_of, train
from benchsuite.tasks.timing import TIMING, interleave
from benchsuite.tasks.view import own_copy

#: Steps of training that are repeated to see whether they give the same bits.
SHORT = 2

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from benchsuite.contracts.graph import Graph
    from benchsuite.contracts.norm_placement import NodeScale
    from benchsuite.contracts.task import CellInput
    from benchsuite.models.selection import SelectionModel
    from benchsuite.tasks.selection.recipe import SelectionRecipe
    from benchsuite.tasks.selection.training import Course
    from benchsuite.tasks.selection.view import View
    from benchsuite.tasks.timing import Clock, Timing


@dataclass(frozen=True)
class Bench:
    """One cell on its way through the worker.

    Args:
        recipe: of the task.
        cell: seed and method.
        view: the graphs.
        device: where everything runs.
    """

    recipe: SelectionRecipe
    cell: CellInput
    view: View
    device: torch.device

    def initial_model(self) -> SelectionModel:
        """Return the untrained model of this seed, without any placement."""
        options: dict[str, Any] = dict(self.recipe.model)
        seed = derive(self.cell.seed, "initial")
        return build_model(self.view.test.num_features, seed, **options).to(self.device)

    @cached_property
    def reference(self) -> SelectionModel:
        """A model without any placement; its forward is the unit of cost, for which its weights do not matter."""
        return self.initial_model().eval()

    def output(self) -> CellOutput:
        """Return everything that the cell leaves behind."""
        method = check_method(self.cell.methods["norm_placement"].make())
        if isinstance(method, NodeRanking):
            return self._ranked(method)
        return self._placed(method)

    def _ranked(self, method: NodeRanking) -> CellOutput:
        test = own_copy(self.view.test)
        scores = check_scores(method.rank(test, self.recipe.goal), test.num_nodes, "rank()")
        timing = self._time(lambda graph: method.rank(graph, self.recipe.goal))
        return CellOutput(
            predictions={"scores": scores.cpu().numpy()},
            measurements=_costs(timing),
            samples={"cost_ratio": list(timing.ratios)},
            notes={
                "determinism": determinism(lambda: [method.rank(test, self.recipe.goal)], "the whole ranking"),
                "timing": TIMING,
            },
        )

    def _placed(self, method: NodeScale) -> CellOutput:
        model = self._model(method)
        val = self.view.val.graph.fresh()
        check_scales(model, val)
        started = time.perf_counter()
        course = train(model, self.view.lessons(self.recipe.group), self.recipe, derive(self.cell.seed, "order"))
        seconds = time.perf_counter() - started
        check_scales(model, val)  # one that learns may have left the positive numbers
        with torch.no_grad():
            test = self.view.test.fresh()
            scores = check_scores(model(test), test.num_nodes, "the trained model")
            timing = self._time(model)
            return CellOutput(
                predictions={"scores": scores.cpu().numpy()},
                measurements={**_costs(timing), **self._about(model, val), "training_seconds": seconds},
                samples={"cost_ratio": list(timing.ratios)},
                notes={
                    **_told(course),
                    "slot": method.slot,
                    "determinism": self._determinism(method),
                    "timing": TIMING,
                },
            )

    def _model(self, method: NodeScale) -> SelectionModel:
        generator = torch.Generator().manual_seed(derive(self.cell.seed, "method"))
        return place(self.initial_model(), method, generator).to(self.device)

    @torch.enable_grad()
    def _determinism(self, method: NodeScale) -> dict[str, Any]:
        lessons = self.view.lessons(self.recipe.group)[:SHORT]
        recipe = self.recipe.model_copy(update={"epochs": 1})

        def segment() -> list[Tensor]:
            model = self._model(method)
            train(model, lessons, recipe, derive(self.cell.seed, "order"))
            return list(model.state_dict().values())

        return determinism(segment, f"{len(lessons)} steps of training")

    def _time(self, forward: Callable[[Graph], Tensor]) -> Timing[None]:
        """Time one pass over the validation graphs; what a model keeps of a graph is there from the first pass on."""
        ours, theirs = own_copy(self.view.val.graph), own_copy(self.view.val.graph)

        def call(clock: Clock) -> None:
            with torch.no_grad(), clock:
                forward(ours)

        def reference() -> None:
            with torch.no_grad():
                self.reference(theirs)

        forward(ours)
        return interleave(reference, call, self.device)

    def _about(self, model: SelectionModel, graph: Graph) -> dict[str, float | None]:
        count = sum(parameter.numel() for parameter in model.parameters())
        return {
            "validation_loss": loss_of(self.recipe.goal, model(graph), self.view.val).item(),
            "degree_exponent": degree_exponent(model.representation(graph), graph),
            "parameters": float(count),
            "reference_parameters": float(sum(parameter.numel() for parameter in self.reference.parameters())),
        }


def degree_exponent(rows: Tensor, graph: Graph) -> float | None:
    """Return q of the fit ``norm of row i ~ (1 + degree_i)^q``, by least squares on the logarithms.

    A correlation would not do: what a LayerNorm's epsilon lets through orders the norms by degree too, though they
    differ in the sixth digit. There q is near zero; where a scale (1 + degree)^-p is kept whole it is -p.

    Args:
        rows: ``[nodes, width]``; rows of zeros are left out.
        graph: for the degrees.

    Returns:
        None where fewer than two degrees are left.
    """
    norms = rows.detach().double().norm(dim=1)
    there = norms > 0
    x, y = degrees(graph).double()[there].log1p(), norms[there].log()
    if len(x) == 0 or bool(x.min() == x.max()):
        return None
    centred = x - x.mean()
    return float((centred * y).sum() / centred.square().sum())


def _costs(timing: Timing[None]) -> dict[str, float | None]:
    return {
        "cost_ratio": timing.cost_ratio,
        "forward_seconds": timing.seconds,
        "reference_forward_seconds": timing.forward_seconds,
        "drift": timing.drift,
    }


def _told(course: Course) -> dict[str, Any]:
    return {"steps": course.steps, "first_loss": course.first_loss, "last_loss": course.last_loss}
