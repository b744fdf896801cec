"""Contract of the kind ``curriculum``, version 1 (no task uses it yet: it may change when one does).

A curriculum is a list of phases. The host trains them, and accounts for every arm in every unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Units of a budget. Active-layer tokens: the sum over steps of non-pad tokens times active layers.
Unit = Literal["steps", "unique_tokens", "total_tokens", "active_layer_tokens"]


@dataclass(frozen=True)
class Budget:
    """An amount of training in one unit."""

    amount: int
    unit: Unit


@dataclass(frozen=True)
class Phase:
    """One stretch of training with a fixed set of active blocks."""

    active: tuple[int, ...]
    """Indices of the blocks in the forward pass, bottom first."""
    trainable: tuple[int, ...]
    """Indices of the active blocks whose weights are updated."""
    budget: Budget
    train_boundary_norm: bool = True
    train_head: bool = True
    insertion: Literal["random", "copy", "zero_output"] = "random"
    """How blocks that become active in this phase start."""
    reset_optimizer: bool = True
    restart_schedule: bool = True
    data: Literal["continue", "rewind", "fresh"] = "continue"
    """Where the data stream stands when the phase begins, relative to the phase before."""


@runtime_checkable
class Curriculum(Protocol):
    """A schedule of depth."""

    def phases(self, depth: int, budget: Budget) -> Sequence[Phase]:
        """Return the phases for ``depth`` blocks, where ``budget`` is that of one phase of the joint arm."""
        ...
