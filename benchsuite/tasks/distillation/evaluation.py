"""Held-out cross-entropy of each document."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.nn import functional

from benchsuite.tasks.distillation.loss import predicted

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from torch import Tensor

    from benchsuite.tasks.distillation.documents import Batch, Documents

#: Documents at a time. Sums of floats depend on it.
BATCH = 32


class HeldOut(NamedTuple):
    """What a model makes of each held-out document."""

    sums: np.ndarray
    """``[documents]`` float64: cross-entropies of the document's predicted tokens, added up, in nats."""
    counts: np.ndarray
    """``[documents]`` int64: how many there are."""

    @property
    def mean(self) -> float:
        """Cross-entropy per token, each token weighing the same."""
        return float(self.sums.sum() / self.counts.sum())


@torch.no_grad()
def evaluate(logits: Callable[[Batch], Tensor], documents: Documents, device: torch.device) -> HeldOut:
    """Return the cross-entropy of each document under a model.

    Args:
        logits: ``[batch, time, vocab]`` of a batch.
        documents: the held-out ones.
        device: where the model is.
    """
    sums, counts = [], []
    for batch in documents.batches(BATCH, device):
        counted = predicted(batch.mask)
        rows = logits(batch)[:, :-1].float().transpose(1, 2)
        each = functional.cross_entropy(rows, batch.tokens[:, 1:], reduction="none")
        sums.append(each.where(counted, 0.0).double().sum(1).cpu())
        counts.append(counted.sum(1).cpu())
    return HeldOut(torch.cat(sums).numpy(), torch.cat(counts).numpy())
