"""The training objective: ``alpha tau^2 KL(teacher || student at tau) + gamma CE`` (arXiv 2608.13156)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor


class Loss(NamedTuple):
    """Means over the predicted tokens, in nats."""

    total: Tensor
    divergence: Tensor
    """KL of the student from the teacher at the temperature, not yet times ``tau^2``."""
    cross_entropy: Tensor
    """Of the student at temperature 1 with the next token."""


class Objective(NamedTuple):
    """The weights of the two terms."""

    alpha: float
    gamma: float
    temperature: float = 1.0

    def __call__(self, student: Tensor, teacher: Tensor, tokens: Tensor, mask: Tensor) -> Loss:
        """Return the loss of one batch.

        Both terms are shifted and masked before anything is computed from them: a position counts if it and the next
        one hold a token. Logits at other positions may be anything, NaN too, and get no gradient.

        Args:
            student: logits ``[batch, time, vocab]``.
            teacher: logits of the same shape.
            tokens: ``[batch, time]`` int64.
            mask: ``[batch, time]`` bool, False on padding.
        """
        counted = predicted(mask)
        ours, theirs = student[:, :-1][counted].float(), teacher[:, :-1][counted].float()
        cross_entropy = functional.cross_entropy(ours, tokens[:, 1:][counted])
        kl = divergence(ours, theirs, self.temperature)
        total = self.alpha * self.temperature**2 * kl + self.gamma * cross_entropy
        return Loss(total, kl, cross_entropy)


def divergence(student: Tensor, teacher: Tensor, temperature: float) -> Tensor:
    """Return the mean over rows of KL(teacher || student), both softened by ``temperature``.

    Args:
        student: logits ``[tokens, vocab]``. Rows are tokens, so that ``batchmean`` divides by their number: on a
            tensor of three axes it would divide by the first one alone.
        teacher: logits of the same shape.
        temperature: positive.
    """
    ours = torch.log_softmax(student / temperature, dim=-1)
    theirs = torch.log_softmax(teacher / temperature, dim=-1)
    return functional.kl_div(ours, theirs, reduction="batchmean", log_target=True)


def predicted(mask: Tensor) -> Tensor:
    """Return ``[batch, time - 1]`` bool: where a token predicts another one."""
    return mask[:, :-1] & mask[:, 1:]
