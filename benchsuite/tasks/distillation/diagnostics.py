"""What each block of a trained student does (after arXiv 2608.13156): observations, not interventions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from benchsuite.tasks.distillation.evaluation import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

    from benchsuite.models.student import Student
    from benchsuite.tasks.distillation.documents import Batch, Documents

#: Documents of the held-out set that are looked at, the first ones.
DOCUMENTS = 32


@dataclass(frozen=True)
class BlockReport:
    """One block."""

    removal: float
    """Held-out cross-entropy without the block minus with it, in nats."""
    angle: float
    """Between the block's input and output, ``arccos(cos) / pi``, mean over tokens: 0 where it turns nothing."""
    rms_mean: float
    """Root mean square of the block's output over its features, mean over tokens."""
    rms_std: float
    """Standard deviation of the same over tokens."""

    def measurements(self, block: int) -> dict[str, float | None]:
        """Return the numbers as a record holds them."""
        return {
            f"block{block}_removal": self.removal,
            f"block{block}_angle": self.angle,
            f"block{block}_rms_mean": self.rms_mean,
            f"block{block}_rms_std": self.rms_std,
        }


@torch.no_grad()
def examine(student: Student, documents: Documents, device: torch.device) -> list[BlockReport]:
    """Return a report of each block, bottom first.

    Args:
        student: all of its blocks are active.
        documents: held-out ones; those that count are the first.
        device: where the student is.
    """
    few = first(documents, DOCUMENTS)
    blocks = tuple(range(student.shape.blocks))
    batch = few.batch(range(len(few)), device)
    states = _boundaries(student, batch)

    def without(block: int | None) -> float:
        active = tuple(other for other in blocks if other != block)
        return evaluate(lambda each: student(each.tokens, each.mask, active), few, device).mean

    whole = without(None)
    return [_report(without(block) - whole, states[block], states[block + 1]) for block in blocks]


def first(documents: Documents, number: int) -> Documents:
    """Return the first ``number`` documents, or all where there are fewer."""
    offsets = documents.offsets[: number + 1]
    return type(documents)(documents.ids[: int(offsets[-1])], offsets, documents.pad)


def _report(removal: float, before: Tensor, after: Tensor) -> BlockReport:
    cosine = torch.nn.functional.cosine_similarity(before, after, dim=-1).clamp(-1, 1)
    rms = after.square().mean(-1).sqrt()
    angle = float(cosine.arccos().mean() / torch.pi)
    return BlockReport(removal, angle, float(rms.mean()), float(rms.std(unbiased=False)))


def _boundaries(student: Student, batch: Batch) -> list[Tensor]:
    """Return the hidden states below the first block, and above each block: ``[tokens, width]`` float64 each."""
    states: list[Tensor] = []

    def keep(hidden: Tensor) -> None:
        states.append(hidden[batch.mask].double())

    def before(_: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        keep(arguments[0])

    def after(_: nn.Module, __: tuple[Tensor, ...], output: Tensor) -> None:
        keep(output)

    blocks = [list(block.children()) for block in student.trunk.blocks]
    handles = [blocks[0][0].register_forward_pre_hook(before)]
    handles += [block[-1].register_forward_hook(after) for block in blocks]
    _run(lambda: student(batch.tokens, batch.mask), handles)
    return states


def _run(forward: Callable[[], Tensor], handles: list[torch.utils.hooks.RemovableHandle]) -> None:
    try:
        forward()
    finally:
        for handle in handles:
            handle.remove()
