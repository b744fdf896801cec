"""The curricula as lists of phases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from benchsuite.plugin import Phase

if TYPE_CHECKING:
    from benchsuite.plugin import Budget

Insertion = Literal["random", "copy", "zero_output"]
Data = Literal["continue", "rewind", "fresh"]
Match = Literal["active_layer_tokens", "total_tokens", "steps", "unique_tokens"]


class Joint:
    """All blocks, one phase."""

    def phases(self, depth: int, budget: Budget) -> list[Phase]:
        """Return the one phase."""
        blocks = tuple(range(depth))
        return [Phase(blocks, blocks, budget)]


@dataclass(frozen=True)
class Grow:
    """Phase p has blocks 0 to p, and all of them learn."""

    insertion: Insertion = "random"
    reset_optimizer: bool = True
    restart_schedule: bool = True
    data: Data = "continue"

    def phases(self, depth: int, budget: Budget) -> list[Phase]:
        """Return one phase per block, of equal length."""
        return [self._phase(tuple(range(top + 1)), budget) for top in range(depth)]

    def _phase(self, active: tuple[int, ...], budget: Budget) -> Phase:
        return Phase(
            active,
            active,
            budget,
            # There is nothing to copy, or to leave unchanged, below the first block.
            insertion=self.insertion if len(active) > 1 else "random",
            reset_optimizer=self.reset_optimizer,
            restart_schedule=self.restart_schedule,
            data=self.data,
        )


@dataclass(frozen=True)
class Freeze:
    """Phase p has blocks 0 to p, and block p alone learns."""

    insertion: Insertion = "random"
    train_head: bool = True
    train_boundary_norm: bool = True

    def phases(self, depth: int, budget: Budget) -> list[Phase]:
        """Return one phase per block, of equal length; in the first one everything that is there learns."""
        return [
            Phase(
                tuple(range(top + 1)),
                (top,),
                budget,
                train_boundary_norm=self.train_boundary_norm or top == 0,
                train_head=self.train_head or top == 0,
                insertion=self.insertion if top else "random",
            )
            for top in range(depth)
        ]


@dataclass(frozen=True)
class JointMatched:
    """All blocks, for as many phases as grow costs in one unit."""

    match: Match = "active_layer_tokens"
    restart_schedule: bool = True
    data: Data = "fresh"

    def phases(self, depth: int, budget: Budget) -> list[Phase]:
        """Return whole phases, and a part of one where their number is not whole.

        Grow runs ``depth`` phases, over 1, 2, ... ``depth`` blocks: in active-layer tokens ``(depth + 1) / 2`` phases
        of all blocks. Its unique tokens are those of one phase.
        """
        wanted = {"active_layer_tokens": (depth + 1) / 2, "unique_tokens": 1.0}.get(self.match, float(depth))
        blocks = tuple(range(depth))
        lengths = [min(1.0, wanted - number) for number in range(math.ceil(wanted))]
        return [
            Phase(
                blocks,
                blocks,
                budget.times(length),
                reset_optimizer=self.restart_schedule,
                restart_schedule=self.restart_schedule,
                data=self.data,
            )
            for length in lengths
        ]
