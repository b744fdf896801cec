"""Training with a validation-selected epoch: the one way any model of a node task is trained."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch

from benchsuite.errors import ProtocolError
from benchsuite.tasks.losses import loss_of
from benchsuite.tasks.metrics import measure
from benchsuite.tasks.sampling import NeighbourSampler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from benchsuite.contracts.dataset import TargetType
    from benchsuite.contracts.graph import Graph
    from benchsuite.models.backbone import Backbone
    from benchsuite.tasks.recipes import Recipe

#: Raise it when :func:`train` computes something else: cached reference models of the old version are trained anew.
TRAINING_VERSION = 1


@dataclass(frozen=True, eq=False)
class Labels:
    """What training may know of the classes."""

    y: Tensor
    """``[nodes]`` int64, -1 where the class is hidden; or ``[nodes, targets]`` float32, NaN where one is."""
    train: Tensor
    """``[nodes]`` bool."""
    val: Tensor
    """``[nodes]`` bool."""


class Selection(NamedTuple):
    """The epoch that was kept."""

    epoch: int
    """From 1."""
    score: float
    """On the validation items; of classes the accuracy in per cent."""


def train(
    model: Backbone, graph: Graph, labels: Labels, recipe: Recipe, seed: int, target_type: TargetType = "classes"
) -> Selection:
    """Train ``model`` in place and leave it in eval mode with the weights of its best validation epoch.

    The best epoch is the first that has the highest validation accuracy (or metric), as in PyG's examples. The result
    depends on the arguments alone; the caller's random state and grad mode are put back.

    Args:
        model: starts from the weights (and fillers) it has.
        graph: what training may see.
        labels: targets of its nodes.
        recipe: optimiser, epochs, and whether to sample.
        seed: of the dropout masks, the samples, and of whatever else draws from torch's global generator.
        target_type: of the labels.

    Raises:
        ProtocolError: the loss is not finite in some epoch.
    """
    best, kept = Selection(0, -1.0), {}
    with seeded(seed, graph.x.device), torch.enable_grad():
        optimizer = torch.optim.Adam(parameter_groups(model, recipe.weight_decay), lr=recipe.lr)
        for epoch in range(1, recipe.epochs + 1):
            for lesson in _lessons(graph, labels, recipe):
                _step(model, lesson, target_type, optimizer, epoch)
            score = _validate(model, graph, labels, recipe)
            if score > best.score:
                best, kept = Selection(epoch, score), snapshot(model)
        optimizer.zero_grad()
    model.load_state_dict(kept)
    return best


def parameter_groups(model: Backbone, weight_decay: tuple[float, ...]) -> list[dict[str, object]]:
    """Return Adam's parameter groups: one decay for each layer of the backbone.

    Parameters that a quantizer put into the model (ranges, steps) are learned without decay: the recipe knows only
    the backbone.

    Args:
        model: parameters belong to the layer whose index is the first number in their name.
        weight_decay: layer by layer; the last value holds for all further layers.
    """
    groups: dict[float, list[Tensor]] = {}
    for name, parameter in model.named_parameters():
        groups.setdefault(_decay(name, weight_decay), []).append(parameter)
    return [{"params": parameters, "weight_decay": decay} for decay, parameters in groups.items()]


def _decay(name: str, weight_decay: tuple[float, ...]) -> float:
    if ".filler." in name or ".operator." in name:
        return 0.0
    number = re.search(r"\.(\d+)(\.|$)", name)
    layer = int(number[1]) if number else 0
    return weight_decay[min(layer, len(weight_decay) - 1)]


class _Lesson(NamedTuple):
    """What one step learns from."""

    graph: Graph
    rows: Tensor
    """Which nodes of it are learned: a mask, or places."""
    y: Tensor
    """Their targets."""


def _lessons(graph: Graph, labels: Labels, recipe: Recipe) -> Iterator[_Lesson]:
    """Yield the steps of one epoch: one on the whole graph, or one for each batch of training nodes."""
    if recipe.sampling is None:
        yield _Lesson(graph, labels.train, labels.y[labels.train])
        return
    if "sampler" not in graph.cache:
        graph.cache["sampler"] = NeighbourSampler(graph)
    sampler: NeighbourSampler = graph.cache["sampler"]
    seeds = labels.train.nonzero().flatten()
    order = seeds[torch.randperm(len(seeds), device=seeds.device)]
    for batch in torch.split(order, recipe.sampling.batch_size):
        sample = sampler.around(batch, recipe.sampling.fan_out)
        yield _Lesson(sample, torch.arange(len(batch), device=batch.device), labels.y[batch])


def _step(
    model: Backbone, lesson: _Lesson, target_type: TargetType, optimizer: torch.optim.Optimizer, epoch: int
) -> None:
    model.train()
    optimizer.zero_grad()
    loss = loss_of(model(lesson.graph)[lesson.rows], lesson.y, target_type)
    if not torch.isfinite(loss):
        raise ProtocolError(f"training diverged: the loss is {loss.item()} in epoch {epoch}")
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def _validate(model: Backbone, graph: Graph, labels: Labels, recipe: Recipe) -> float:
    model.eval()
    with torch.no_grad():
        outputs = model(graph)[labels.val]
    if recipe.metric is not None:
        return measure(recipe.metric, labels.y[labels.val].cpu().numpy(), outputs.cpu().numpy())
    return 100.0 * float((outputs.argmax(1) == labels.y[labels.val]).double().mean())


def snapshot(model: Backbone) -> dict[str, Tensor]:
    """Return a copy of the state of ``model``."""
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's global generator, which dropout draws from, and put its state back afterwards."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
