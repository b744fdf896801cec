"""Contract of the kind ``curriculum``, version 1.

A curriculum is a class whose constructor takes the card's parameters as keyword arguments and which has one method,
:meth:`Curriculum.phases`. It says which blocks are active and which learn, and for how long; it trains nothing itself.
The host runs every curriculum's phases in one training loop and accounts for all of them in the same units, so that two
curricula differ in their phases and in nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Units of a budget. Tokens are non-pad tokens. Active-layer tokens: the sum over steps of the step's tokens times the
#: layers of the blocks in the forward pass. Embedding, head and teacher are outside all of them.
Unit = Literal["steps", "total_tokens", "active_layer_tokens"]

#: How the weights of a block begin: as drawn for it (the same in every arm of a seed); as a copy of the nearest block
#: below; or as drawn, with the last projection of each branch at zero, so that the branches add nothing.
Insertion = Literal["random", "copy", "zero_output"]

#: Where the data stream stands when a phase begins: where the phase before left it; at the beginning of the shard; or
#: at the beginning of a shard that this run has not seen.
Data = Literal["continue", "rewind", "fresh"]


@dataclass(frozen=True)
class Budget:
    """An amount of training in one unit."""

    amount: int
    """At least 1."""
    unit: Unit

    def times(self, factor: float) -> Budget:
        """Return ``factor`` times as much, rounded to whole units, and never nothing."""
        return Budget(max(1, round(self.amount * factor)), self.unit)


@dataclass(frozen=True)
class Phase:
    """One stretch of training with a fixed set of active blocks.

    The host refuses a phase whose blocks are out of range, repeated or not in order, one in which nothing learns, and a
    last phase that leaves out a block: the model that is evaluated is the whole one.
    """

    active: tuple[int, ...]
    """Indices of the blocks in the forward pass, bottom first."""
    trainable: tuple[int, ...]
    """Indices of the active blocks whose weights are updated."""
    budget: Budget
    """The phase ends with the first step that uses it up."""
    train_boundary_norm: bool = True
    """Whether the norms around the stack (entry or final norm, whichever the placement has) are updated."""
    train_head: bool = True
    insertion: Insertion = "random"
    """How blocks start that become active for the first time. ``copy`` needs a block below that was active before."""
    reset_optimizer: bool = True
    """Whether moments and step counts start from zero; otherwise those of parameters that go on learning are kept."""
    restart_schedule: bool = True
    """Whether warm-up and decay begin again; otherwise they run on over both phases as over one."""
    data: Data = "continue"


@runtime_checkable
class Curriculum(Protocol):
    """A method of the kind ``curriculum``."""

    def phases(self, depth: int, budget: Budget) -> Sequence[Phase]:
        """Return the phases, first to last.

        Args:
            depth: number of blocks of the student, at least 1.
            budget: what the task gives one phase, in steps or in total tokens. The arm that trains all blocks at once
                (``joint``) spends it once; the task's data shard is as long as it.
        """
        ...
