"""How a node scorer is trained: a fixed number of Adam steps on groups of graphs, the last weights are kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from benchsuite.errors import ProtocolError
from benchsuite.models.selection.degree import graph_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchsuite.contracts.graph import Graph
    from benchsuite.contracts.norm_placement import Goal
    from benchsuite.models.selection.model import SelectionModel
    from benchsuite.tasks.selection.recipe import SelectionRecipe


@dataclass(frozen=True, eq=False)
class Lesson:
    """Graphs to learn from in one step."""

    graph: Graph
    """Their union."""
    target: Tensor
    """``[nodes]`` float32, of mean 0 and deviation 1 over the nodes of each graph."""


@dataclass(frozen=True)
class Course:
    """How a training went."""

    steps: int
    first_loss: float
    """Mean over the groups in the first epoch."""
    last_loss: float
    """Mean over the groups in the last epoch."""


def loss_of(goal: Goal, scores: Tensor, lesson: Lesson) -> Tensor:
    """Return the loss of ``scores`` (``[nodes]``), a mean over nodes.

    For ``influence`` and ``dismantling`` the squared error to the target; for ``independence`` :func:`relaxed`.
    """
    if goal == "independence":
        return relaxed(torch.sigmoid(scores), lesson.graph)
    return (scores - lesson.target).square().mean()


def relaxed(p: Tensor, graph: Graph) -> Tensor:
    """Return ``(p^T A p - sum p) / n``: the negated size of an independent set, edges inside it penalised.

    Taking each node with probability ``p_i`` keeps ``sum p`` nodes and ``p^T A p / 2`` edges in expectation; a node is
    dropped for each of those edges twice over, so the loss is the negative of a bound on the set's size (Karalias and
    Loukas, NeurIPS 2020, arXiv 2006.10643; Schuetz, Brubaker and Katzgraber, Nature Machine Intelligence 4, 2022).

    Args:
        p: ``[nodes]`` in 0..1.
        graph: undirected.
    """
    source, target = graph.edge_index
    return ((p[source] * p[target]).sum() - p.sum()) / max(1, len(p))


def train(model: SelectionModel, lessons: Sequence[Lesson], recipe: SelectionRecipe, seed: int) -> Course:
    """Train ``model`` in place and leave it in eval mode with its last weights.

    Args:
        model: starts from the weights it has.
        lessons: one for each step of an epoch; their order is drawn anew in each.
        recipe: epochs and learning rate.
        seed: of the order.

    Raises:
        ProtocolError: the loss of some step is not finite.
    """
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.lr)
    steps = recipe.epochs * len(lessons)
    losses: list[float] = []
    model.train()
    for _ in range(recipe.epochs):
        for place in torch.randperm(len(lessons), generator=generator).tolist():
            for group in optimizer.param_groups:
                group["lr"] = recipe.lr * (1 + math.cos(math.pi * len(losses) / steps)) / 2
            losses.append(_step(model, lessons[place], recipe.goal, optimizer, len(losses) + 1))
    optimizer.zero_grad()
    model.eval()
    first, last = losses[: len(lessons)], losses[-len(lessons) :]
    return Course(steps, sum(first) / len(lessons), sum(last) / len(lessons))


def _step(model: SelectionModel, lesson: Lesson, goal: Goal, optimizer: torch.optim.Optimizer, number: int) -> float:
    optimizer.zero_grad()
    loss = loss_of(goal, model(lesson.graph), lesson)
    value = loss.item()
    if not math.isfinite(value):
        raise ProtocolError(f"training diverged: the loss is {value} in step {number}")
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return value


def standardised(target: Tensor, graph: Graph) -> Tensor:
    """Return ``target`` (``[nodes]``) with mean 0 and deviation 1 over each graph; zero where it is constant there."""
    batch, count = graph_of(graph), max(1, graph.num_graphs)
    sizes = torch.bincount(batch, minlength=count).clamp(min=1)
    wide = target.double()
    centred = wide - (wide.new_zeros(count).index_add(0, batch, wide) / sizes)[batch]
    deviation = (centred.new_zeros(count).index_add(0, batch, centred.square()) / sizes).sqrt()[batch]
    constant = deviation < 1e-9
    return torch.where(constant, 0.0, centred / deviation.clamp(min=1e-9)).float()
