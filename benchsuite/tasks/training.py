"""Full-batch training with a validation-selected epoch: the one way any model of a node task is trained."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.nn import functional

from benchsuite.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from benchsuite.contracts.graph import Graph
    from benchsuite.models.backbone import Backbone
    from benchsuite.tasks.recipes import Recipe

#: Raise it when :func:`train` computes something else: cached reference models of the old version are trained anew.
TRAINING_VERSION = 1


@dataclass(frozen=True, eq=False)
class Labels:
    """What training may know of the classes."""

    y: Tensor
    """``[nodes]`` int64; -1 where the class is hidden."""
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


def train(model: Backbone, graph: Graph, labels: Labels, recipe: Recipe, seed: int) -> Selection:
    """Train ``model`` in place and leave it in eval mode with the weights of its best validation epoch.

    The best epoch is the first that has the highest validation accuracy, as in PyG's examples. The result depends on
    the arguments alone; the caller's random state and grad mode are put back.

    Args:
        model: starts from the weights (and fillers) it has.
        graph: what training may see.
        labels: classes of its nodes.
        recipe: optimiser and epochs.
        seed: of the dropout masks, and of whatever else draws from torch's global generator.

    Raises:
        ProtocolError: the loss is not finite in some epoch.
    """
    best, kept = Selection(0, -1.0), {}
    with seeded(seed, graph.x.device), torch.enable_grad():
        optimizer = torch.optim.Adam(parameter_groups(model, recipe.weight_decay), lr=recipe.lr)
        for epoch in range(1, recipe.epochs + 1):
            _step(model, graph, labels, optimizer, epoch)
            accuracy = _validate(model, graph, labels)
            if accuracy > best.score:
                best, kept = Selection(epoch, accuracy), snapshot(model)
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


def _step(model: Backbone, graph: Graph, labels: Labels, optimizer: torch.optim.Optimizer, epoch: int) -> None:
    model.train()
    optimizer.zero_grad()
    loss = functional.cross_entropy(model(graph)[labels.train], labels.y[labels.train])
    if not torch.isfinite(loss):
        raise ProtocolError(f"training diverged: the loss is {loss.item()} in epoch {epoch}")
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def _validate(model: Backbone, graph: Graph, labels: Labels) -> float:
    model.eval()
    with torch.no_grad():
        hits = model(graph)[labels.val].argmax(1) == labels.y[labels.val]
    return 100.0 * float(hits.double().mean())


def snapshot(model: Backbone) -> dict[str, Tensor]:
    """Return a copy of the state of ``model``."""
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's global generator, which dropout draws from, and put its state back afterwards."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
