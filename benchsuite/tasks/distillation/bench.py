"""The worker side of distillation: one cell from the view to what the host scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from benchsuite.contracts.norm_placement import StackNorms
from benchsuite.contracts.task import CellOutput
from benchsuite.errors import ProtocolError
from benchsuite.models.student import StudentShape, build_student
from benchsuite.tasks.containment import contained
from benchsuite.tasks.determinism import determinism
from benchsuite.tasks.distillation.accounting import account
from benchsuite.tasks.distillation.diagnostics import examine
from benchsuite.tasks.distillation.evaluation import HeldOut, evaluate
from benchsuite.tasks.distillation.phases import Stream, check_phases, make_legs
from benchsuite.tasks.distillation.teachers import teacher_of
from benchsuite.tasks.distillation.training import TRAINING_VERSION, Trainer
from benchsuite.tasks.distillation.transitions import Transition, curve, transition
from benchsuite.tasks.seeds import derive

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch
    from pydantic import JsonValue
    from torch import Tensor

    from benchsuite.contracts.task import CellInput
    from benchsuite.models.student import Student
    from benchsuite.models.teacher import Teacher
    from benchsuite.tasks.distillation.config import DistillationConfig
    from benchsuite.tasks.distillation.documents import Batch
    from benchsuite.tasks.distillation.phases import Leg
    from benchsuite.tasks.distillation.training import Trace
    from benchsuite.tasks.distillation.view import Opened

#: Digits behind the point of a loss in a curve: finer ones are noise, and a record is for git.
DIGITS = 4
#: Steps that are repeated to see whether they give the same bits.
SHORT = 2


@dataclass(frozen=True, eq=False)
class Bench:
    """One cell on its way through the worker.

    Args:
        protocol: name and version of the task's protocol.
        config: the recipe.
        cell: seed and methods.
        opened: the documents.
        device: where everything runs.
    """

    protocol: str
    config: DistillationConfig
    cell: CellInput
    opened: Opened
    device: torch.device

    @cached_property
    def teacher(self) -> Teacher:
        """The teacher, from the cache where it is there."""
        return teacher_of(self.config, self.opened, self.cell.cache, self.device)

    @cached_property
    def legs(self) -> list[Leg]:
        """The curriculum's phases, with every step's documents."""
        config = self.config
        with contained(derive(self.cell.seed, "global"), self.device):
            method = self.cell.methods["curriculum"].make()
            phases = check_phases(_call(method, "phases", config.blocks, config.budget), config.blocks)
        stream = Stream(self.opened.training.lengths, config.batch, config.budget, self.cell.seed)
        return make_legs(phases, stream, config.layers_per_block)

    @cached_property
    def student(self) -> Student:
        """The student that is trained."""
        return self.untrained()

    def untrained(self) -> Student:
        """Return the student of the cell's placement, untrained."""
        config, teacher = self.config, self.teacher
        with contained(derive(self.cell.seed, "global"), self.device):
            stack = _call(self.cell.methods["norm_placement"].make(), "stack", config.layers)
        if not isinstance(stack, StackNorms):
            raise ProtocolError(f"stack() returned {type(stack).__name__}, not StackNorms", _MEND)
        shape = StudentShape(
            vocab=config.vocab,
            width=config.width,
            heads=config.heads,
            kv_heads=config.kv_heads,
            mlp=config.mlp,
            blocks=config.blocks,
            layers_per_block=config.layers_per_block,
            context=config.context,
            rope_theta=teacher.rope_theta,
            eps=teacher.eps,
        )
        seed = derive(self.cell.seed, "initial")
        return build_student(shape, stack, teacher.embedding, teacher.head, teacher.norm, seed).to(self.device)

    def evaluate(self, active: tuple[int, ...] | None = None) -> HeldOut:
        """Return the student's held-out cross-entropies, with the active blocks alone where they are named."""
        return evaluate(lambda batch: self.student(batch.tokens, batch.mask, active), self.opened.held_out, self.device)

    def train(self) -> tuple[list[Trace], list[float]]:
        """Train all legs; return their traces, and the held-out cross-entropy after each but the last."""
        trainer = Trainer(self.student, self._teach, self.opened.training, self.config, self.cell.seed, self.device)
        traces: list[Trace] = []
        between: list[float] = []
        for number, leg in enumerate(self.legs):
            traces.append(trainer.run(leg, number))
            if number < len(self.legs) - 1:
                between.append(self.evaluate(leg.phase.active).mean)
        return traces, between

    def _determinism(self) -> dict[str, JsonValue]:
        first = self.legs[0]
        leg = replace(first, batches=first.batches[:SHORT], tokens=first.tokens[:SHORT])

        def segment() -> list[Tensor]:
            student = self.untrained()
            Trainer(student, self._teach, self.opened.training, self.config, self.cell.seed, self.device).run(leg, 0)
            return list(student.state_dict().values())

        return determinism(segment, f"{leg.steps} steps of training")

    def _teach(self, batch: Batch) -> Tensor:
        return self.teacher.logits(batch.tokens, batch.mask)

    def output(self) -> CellOutput:
        """Return everything that the cell leaves behind."""
        costs = account(self.legs, self.opened.training.lengths, self.config.layers_per_block)
        traces, between = self.train()
        held_out = self.evaluate()
        reports = examine(self.student, self.opened.held_out, self.device)
        measurements = costs.measurements()
        for number, found in enumerate(_transitions(traces), start=1):
            measurements |= found.measurements(number)
        for block, report in enumerate(reports):
            measurements |= report.measurements(block)
        teacher = evaluate(self._teach, self.opened.held_out, self.device)
        return CellOutput(
            predictions={"sums": held_out.sums, "counts": held_out.counts},
            measurements={**measurements, "teacher_cross_entropy": teacher.mean},
            samples={**self._curves(traces), "phase_cross_entropy": [*between, held_out.mean]},
            notes=self._notes(),
        )

    def _curves(self, traces: Sequence[Trace]) -> dict[str, list[float]]:
        """Return training loss against steps and against active-layer tokens, over all phases."""
        steps, spent, losses = [], [], []
        done = cost = 0
        for leg, trace in zip(self.legs, traces, strict=True):
            layers = self.config.layers_per_block * len(leg.phase.active)
            for step, loss in curve(trace.losses, self.config.curve_points):
                steps.append(float(done + step))
                spent.append(float(cost + layers * sum(leg.tokens[:step])))
                losses.append(round(loss, DIGITS))
            done, cost = done + leg.steps, cost + layers * sum(leg.tokens)
        return {"curve_step": steps, "curve_layer_tokens": spent, "curve_loss": losses}

    def _notes(self) -> dict[str, JsonValue]:
        phases: list[JsonValue] = [
            {
                "active": list(leg.phase.active),
                "trainable": list(leg.phase.trainable),
                "steps": leg.steps,
                "tokens": sum(leg.tokens),
                "data": leg.phase.data,
            }
            for leg in self.legs
        ]
        return {
            "phases": phases,
            "teacher": {"name": self.teacher.name, "digest": self.teacher.digest},
            "held_out_documents": len(self.opened.held_out),
            "training": TRAINING_VERSION,
            "determinism": self._determinism(),
        }


def _transitions(traces: Sequence[Trace]) -> list[Transition]:
    return [transition(one.losses, two.losses, two.jump) for one, two in pairwise(traces) if two.jump is not None]


def _call(method: object, name: str, *arguments: object) -> object:
    """Call a method of the contract.

    Raises:
        ProtocolError: there is none.
    """
    function = getattr(method, name, None)
    if not callable(function):
        raise ProtocolError(f"{type(method).__name__} has no {name}()", _MEND)
    returned: object = function(*arguments)
    return returned


_MEND = "The contracts are in benchsuite/contracts/norm_placement.py and curriculum.py"
