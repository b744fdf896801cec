"""Training on batches of graphs with a validation-selected epoch: the one way any model of whole graphs is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from benchsuite.errors import ProtocolError
from benchsuite.tasks.losses import loss_of
from benchsuite.tasks.metrics import answers, better, measure, worst
from benchsuite.tasks.training import Selection, parameter_groups, seeded, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from benchsuite.contracts.dataset import TargetType
    from benchsuite.contracts.graph import Graph
    from benchsuite.models.backbone import Backbone
    from benchsuite.models.batches import GraphPool
    from benchsuite.tasks.graphs.view import Targets
    from benchsuite.tasks.recipes import GraphRecipe

#: Nodes of a batch in which nothing is trained.
CHUNK = 50_000


def train_graphs(
    model: Backbone, pool: GraphPool, targets: Targets, target_type: TargetType, recipe: GraphRecipe, seed: int
) -> Selection:
    """Train ``model`` in place and leave it in eval mode with the weights of its best validation epoch.

    The best epoch is the first that has the best validation value of what the recipe selects by. The result depends on
    the arguments alone; the caller's random state and grad mode are put back.

    Args:
        model: starts from the weights (and fillers) it has.
        pool: the graphs.
        targets: which of them train and validate, and what is known of them.
        target_type: decides the loss, see :func:`~benchsuite.tasks.losses.loss_of`.
        recipe: optimiser, batches, epochs, selection.
        seed: of the order of graphs, the dropout masks, and whatever else draws from torch's global generator.

    Raises:
        ProtocolError: the loss is not finite in some epoch.
    """
    watch = _Watch(pool, targets, target_type, recipe)
    with seeded(seed, targets.y.device), torch.enable_grad():
        optimizer = torch.optim.Adam(parameter_groups(model, recipe.weight_decay), lr=recipe.lr, fused=True)
        for epoch in range(1, recipe.epochs + 1):
            model.train()
            for which in _batches(targets.train, recipe.batch_size):
                optimizer.zero_grad()
                loss = loss_of(model(pool.take(which)), targets.y[which], target_type, recipe.metric)
                if not torch.isfinite(loss):
                    raise ProtocolError(f"training diverged: the loss is {loss.item()} in epoch {epoch}")
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
            watch.look(model, epoch)
            if recipe.halve_every and epoch % recipe.halve_every == 0:
                for group in optimizer.param_groups:
                    group["lr"] /= 2
        optimizer.zero_grad()
    model.load_state_dict(watch.kept)
    return Selection(watch.epoch, watch.score)


def outputs_for(predict: Callable[[Graph], Tensor], graphs: Sequence[Graph]) -> Tensor:
    """Return what ``predict`` says of all ``graphs`` (unions of some), ``[graphs, outputs]``."""
    return torch.cat([predict(graph) for graph in graphs])


def _batches(which: Tensor, size: int) -> Sequence[Tensor]:
    return torch.split(which[torch.randperm(len(which), device=which.device)], size)


class _Watch:
    """Validates after each epoch and keeps the best state."""

    def __init__(self, pool: GraphPool, targets: Targets, target_type: TargetType, recipe: GraphRecipe) -> None:
        self.y, self.target_type, self.recipe = targets.y[targets.val], target_type, recipe
        self.graphs = [pool.take(which) for which in pool.chunks(targets.val, CHUNK)]
        self.epoch, self.score = 0, worst(recipe.metric)
        self.kept: dict[str, Tensor] = {}
        self._lowest = float("inf")

    def look(self, model: Backbone, epoch: int) -> None:
        """Take the state of ``model`` where it is the best so far."""
        model.eval()
        with torch.no_grad():
            outputs = outputs_for(model, self.graphs)
            loss = float(loss_of(outputs, self.y, self.target_type, self.recipe.metric))
        score = measure(self.recipe.metric, self.y.cpu().numpy(), answers(outputs, self.target_type).cpu().numpy())
        by_loss = self.recipe.select == "loss"
        if loss < self._lowest if by_loss else better(self.recipe.metric, score, self.score):
            self.epoch, self.score, self.kept = epoch, score, snapshot(model)
        self._lowest = min(self._lowest, loss)
