"""Everything that decides a node-selection task, but for the seed of a cell. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from benchsuite.contracts.cards import Frozen
from benchsuite.contracts.norm_placement import Goal

Family = Literal["ba", "er", "ws"]
Split = Literal["train", "val", "test"]
#: What a model is told of each node: its degree, or nothing (random numbers that tell nodes apart).
Inputs = Literal["degree", "random"]


class GraphRecipe(Frozen):
    """Which graphs there are."""

    families: tuple[Family, ...] = ("ba", "er", "ws")
    counts: Mapping[Split, int] = {"train": 16, "val": 4, "test": 10}
    """Graphs of each family."""
    nodes: tuple[int, int] = (60, 120)
    """Fewest and most nodes of a training or validation graph."""
    test_nodes: tuple[int, int] = (150, 250)
    """Fewest and most nodes of a test graph: larger than those in training."""
    inputs: Inputs = "degree"
    seed: int = 0

    @model_validator(mode="after")
    def _there_is_something_of_everything(self) -> GraphRecipe:
        if not self.families or set(self.counts) != {"train", "val", "test"}:
            raise ValueError("families and the counts of train, val and test must all be given")
        if min(self.counts.values()) < 1 or min(*self.nodes, *self.test_nodes) < 8:
            raise ValueError("every split needs a graph of each family, and every graph at least 8 nodes")
        if self.nodes[0] > self.nodes[1] or self.test_nodes[0] > self.test_nodes[1]:
            raise ValueError("the fewest nodes come before the most")
        return self


class Cascade(Frozen):
    """The independent cascade of the goal ``influence`` (Kempe, Kleinberg and Tardos, KDD 2003)."""

    probability: float = Field(default=0.2, gt=0, lt=1)
    """Of each edge. At 0.1 the greedy degree rule leaves nothing to gain on graphs of a few hundred nodes."""
    budget: float = Field(default=0.05, gt=0, lt=1)
    """Seeds, as a share of the nodes; at least one."""
    target_worlds: int = Field(default=1000, ge=1)
    """Drawn cascades behind a training target."""
    test_worlds: int = Field(default=1000, ge=1)
    """Drawn cascades behind a test value, the same for every method and every seed."""


class SelectionRecipe(Frozen):
    """The config of a node-selection task."""

    goal: Goal
    graphs: GraphRecipe = GraphRecipe()
    cascade: Cascade = Cascade()
    model: Mapping[str, int | str] = {"width": 32, "heads": 4, "blocks": 3, "convolution": "gat"}
    """Passed to :class:`benchsuite.models.selection.SelectionModel`."""
    lr: float = Field(default=3e-3, gt=0)
    """Of Adam at the start; it falls to zero along half a cosine."""
    epochs: int = Field(default=40, ge=1)
    group: int = Field(default=6, ge=1)
    """Graphs per step."""
