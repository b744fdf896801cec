"""What an arm costs, in every unit (those of arXiv 2608.13156, and one more for what is frozen).

Outside all units: the embedding, the head, the teacher's forward, evaluation and diagnostics.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchsuite.tasks.distillation.phases import Leg


@dataclass(frozen=True)
class Account:
    """One arm's costs. Tokens are non-pad tokens."""

    steps: int
    """Optimiser steps."""
    unique_tokens: int
    """Of the documents that were seen at least once."""
    total_tokens: int
    active_layer_tokens: int
    """Sum over steps of tokens times layers in the forward pass."""
    trained_layer_tokens: int
    """Sum over steps of tokens times layers whose weights are updated: what the backward pass costs where only the top
    blocks learn."""

    def measurements(self) -> dict[str, float | None]:
        """Return the numbers as a record holds them."""
        return {name: float(value) for name, value in asdict(self).items()}


def account(legs: Sequence[Leg], lengths: np.ndarray, layers_per_block: int) -> Account:
    """Add up ``legs``.

    Args:
        legs: the arm.
        lengths: tokens of each training document, cut to the context.
        layers_per_block: layers of a block.
    """
    per_leg = [sum(leg.tokens) for leg in legs]
    active = [layers_per_block * len(leg.phase.active) for leg in legs]
    trained = [layers_per_block * len(leg.phase.trainable) for leg in legs]
    seen = np.unique(np.concatenate([batch for leg in legs for batch in leg.batches]))
    return Account(
        steps=sum(leg.steps for leg in legs),
        unique_tokens=int(np.asarray(lengths)[seen].sum()),
        total_tokens=sum(per_leg),
        active_layer_tokens=sum(tokens * layers for tokens, layers in zip(per_leg, active, strict=True)),
        trained_layer_tokens=sum(tokens * layers for tokens, layers in zip(per_leg, trained, strict=True)),
    )
