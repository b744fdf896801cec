"""The one training loop of all curricula: it does what the phases say, and nothing that depends on whose they are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from benchsuite.errors import ProtocolError
from benchsuite.tasks.distillation.loss import Loss, Objective
from benchsuite.tasks.distillation.phases import source_of
from benchsuite.tasks.seeds import derive

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor, nn

    from benchsuite.contracts.curriculum import Phase
    from benchsuite.models.student import Student
    from benchsuite.tasks.distillation.config import DistillationConfig
    from benchsuite.tasks.distillation.documents import Batch, Documents
    from benchsuite.tasks.distillation.phases import Leg

#: Raise it when training may lead to other weights.
TRAINING_VERSION = 1


@dataclass(frozen=True)
class Trace:
    """What one leg left behind."""

    losses: tuple[float, ...]
    """Of each step, before its update."""
    jump: float | None
    """What appending changed on the first batch; None where nothing was appended."""


class Trainer:
    """Trains one student.

    Args:
        student: its weights are changed in place.
        teach: the teacher's logits of a batch, ``[batch, time, vocab]``.
        documents: the training documents.
        config: the recipe.
        seed: the cell's.
        device: where everything is.
    """

    def __init__(
        self,
        student: Student,
        teach: Callable[[Batch], Tensor],
        documents: Documents,
        config: DistillationConfig,
        seed: int,
        device: torch.device,
    ) -> None:
        self.student, self.teach, self.documents = student, teach, documents
        self.config, self.seed, self.device = config, seed, device
        self.objective = Objective(config.alpha, config.gamma, config.temperature)
        self._seen: set[int] = set()
        self._active: tuple[int, ...] = ()
        self._optimizer: torch.optim.AdamW | None = None
        self._steps = 0

    def run(self, leg: Leg, number: int) -> Trace:
        """Train one leg, the ``number``-th.

        Raises:
            ProtocolError: the loss or the gradient is not finite.
        """
        phase = leg.phase
        self._insert(phase)
        first = self.documents.batch(leg.batches[0], self.device)
        jump = self._jump(first, phase.active)
        parameters = self._select(phase)
        optimizer = self._prepare(parameters, phase.reset_optimizer)
        losses = []
        for step, documents in enumerate(leg.batches):
            rate = leg.rate(step, self.config.warmup, self.config.final_rate)
            for group in optimizer.param_groups:
                group["lr"] = self.config.learning_rate * rate
            batch = self.documents.batch(documents, self.device)
            losses.append(self._step(batch, phase.active, parameters, optimizer, number))
        self._active = phase.active
        return Trace(tuple(losses), jump)

    def loss(self, batch: Batch, active: tuple[int, ...]) -> Loss:
        """Return the objective on one batch."""
        enabled = self.config.precision == "bfloat16"
        with torch.autocast(self.device.type, torch.bfloat16, enabled=enabled):
            logits = self.student(batch.tokens, batch.mask, active)
        return self.objective(logits, self.teach(batch), batch.tokens, batch.mask)

    def _step(
        self,
        batch: Batch,
        active: tuple[int, ...],
        parameters: list[nn.Parameter],
        optimizer: torch.optim.Optimizer,
        number: int,
    ) -> float:
        optimizer.zero_grad(set_to_none=True)
        loss = self.loss(batch, active).total
        value = float(loss.detach())
        if not math.isfinite(value):
            raise ProtocolError(f"the loss is {value} at step {self._steps} (phase {number})", _MEND)
        loss.backward()  # type: ignore[no-untyped-call]
        norm = float(torch.nn.utils.clip_grad_norm_(parameters, self.config.clip))
        if not math.isfinite(norm):
            raise ProtocolError(f"the gradient's norm is {norm} at step {self._steps} (phase {number})", _MEND)
        optimizer.step()
        self._steps += 1
        return value

    def _insert(self, phase: Phase) -> None:
        """Start the blocks that were never active; a block's own numbers are the same in every arm of a seed."""
        for block in phase.active:
            if block in self._seen:
                continue
            generator = torch.Generator().manual_seed(derive(self.seed, "block", str(block)))
            source = source_of(block, self._seen) if phase.insertion == "copy" else None
            self.student.reset_block(block, phase.insertion, generator, source)
        self._seen |= set(phase.active)

    @torch.no_grad()
    def _jump(self, batch: Batch, active: tuple[int, ...]) -> float | None:
        if not self._active or active == self._active:
            return None
        return float(self.loss(batch, active).total - self.loss(batch, self._active).total)

    def _select(self, phase: Phase) -> list[nn.Parameter]:
        """Let what the phase trains have gradients, and nothing else; return it."""
        chosen = [parameter for block in phase.trainable for parameter in self.student.block_parameters(block)]
        chosen += self.student.boundary_parameters() if phase.train_boundary_norm else []
        chosen += self.student.head_parameters() if phase.train_head else []
        self.student.requires_grad_(False)
        for parameter in chosen:
            parameter.requires_grad_(True)
        return chosen

    def _prepare(self, parameters: Sequence[nn.Parameter], reset: bool) -> torch.optim.AdamW:
        """Return an optimiser over ``parameters``; without a reset, those that it had before keep their moments."""
        config = self.config
        made = torch.optim.AdamW(
            parameters,
            lr=config.learning_rate,
            betas=config.betas,
            eps=config.adam_epsilon,
            weight_decay=config.weight_decay,
        )
        if self._optimizer is not None and not reset:
            kept = self._optimizer.state
            made.state.update({parameter: kept[parameter] for parameter in parameters if parameter in kept})
        self._optimizer = made
        return made


_MEND = "Lower learning_rate in the task's config, or see what the placement does to the scale of the activations"
