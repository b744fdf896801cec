"""Trains a small teacher: a pre-norm Llama, on one corpus."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchsuite.contracts.norm_placement import LayerNorms, StackNorms
from benchsuite.errors import ProtocolError
from benchsuite.models.student.initial import draw, normal
from benchsuite.models.student.stack import Stack

if TYPE_CHECKING:
    from benchsuite.models.student import StudentShape
    from benchsuite.models.teacher.recipes import TeacherRecipe
    from benchsuite.models.teacher.teacher import TeacherText


class Llama(nn.Module):
    """The student's own decoder with pre-norm, an embedding that is trained, and a head of its own."""

    def __init__(self, shape: StudentShape) -> None:
        super().__init__()
        pre = LayerNorms(norm_in=True)
        self.embedding = nn.Embedding(shape.vocab, shape.width)
        self.trunk = Stack(shape, StackNorms(((pre, pre),) * shape.layers, entry=False, final=True))
        self.head = nn.Linear(shape.width, shape.vocab, bias=False)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return logits: ``[batch, time, vocab]``, or ``[tokens, vocab]`` of those that ``mask`` names."""
        h = self.trunk(self.embedding(tokens))
        logits: Tensor = self.head(h if mask is None else h[mask])
        return logits


def train(recipe: TeacherRecipe, text: TeacherText, seed: int) -> Llama:
    """Return a trained model, in eval mode. Weights and the order of documents follow from ``seed``.

    Raises:
        ProtocolError: the loss is not finite.
    """
    generator = torch.Generator().manual_seed(seed)
    model = Llama(recipe.shape(text.vocab))
    _initialise(model, generator)
    optimizer = _optimizer(model, recipe)
    stream = text.stream(recipe.context, recipe.batch, generator)
    for step, (tokens, mask) in zip(range(recipe.steps), stream, strict=False):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(recipe, step)
        loss = _loss(model, tokens, mask)
        if not torch.isfinite(loss):
            raise ProtocolError(f"the teacher's loss is {loss.item()} at step {step}", "Lower its learning rate")
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        optimizer.step()
    return model.eval()


def _initialise(model: Llama, generator: torch.Generator) -> None:
    with torch.no_grad():
        for weight in (model.embedding.weight, model.head.weight):
            weight.copy_(normal(weight.shape, generator))
    draw(model.trunk, generator)


def _optimizer(model: Llama, recipe: TeacherRecipe) -> torch.optim.Optimizer:
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim == 1]
    groups = [
        {"params": matrices, "weight_decay": recipe.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=recipe.betas)


def learning_rate(recipe: TeacherRecipe, step: int) -> float:
    """Return the rate of a step, counted from 0."""
    rising = max(round(recipe.warmup * recipe.steps), 1)
    if step < rising:
        return recipe.learning_rate * (step + 1) / rising
    done = (step - rising) / max(recipe.steps - rising, 1)
    return recipe.learning_rate * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * done)))


def _loss(model: Llama, tokens: Tensor, mask: Tensor) -> Tensor:
    """Return the mean cross entropy of each token given those before it; logits are made where there is a target."""
    targets = mask[:, 1:]
    return F.cross_entropy(model(tokens[:, :-1], targets), tokens[:, 1:][targets])
