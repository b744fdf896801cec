"""What a distillation task's card says of teacher, student, data and training. Imports no torch."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from benchsuite.contracts.cards import Frozen
from benchsuite.contracts.curriculum import Budget

Positive = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]


class DistillationConfig(Frozen):
    """The config of a task of protocol ``distillation/1``; its defaults are those of arXiv 2608.13156."""

    teacher: str
    """As :func:`benchsuite.models.teacher.load_teacher` reads it: ``train:<preset>``, ``local:<folder>``, ..."""
    corpus: str
    """As :func:`benchsuite.data.text.read_corpus` reads it."""
    passage: Positive = 400
    """Characters of a document, at least, where its source goes on; beyond all, each file is one document."""
    vocab: Positive
    """Of teacher and student."""
    width: Positive
    """Of teacher and student: the student's embedding and head begin as the teacher's."""
    heads: Positive
    kv_heads: Positive
    mlp: Positive
    blocks: Positive
    """What a curriculum counts as depth."""
    layers_per_block: Positive
    context: Annotated[int, Field(ge=2)]
    """Documents are cut to so many tokens."""
    batch: Positive
    """Documents in a step."""
    phase: Positive
    """Length of a phase, in ``unit``."""
    unit: Literal["steps", "total_tokens"] = "steps"
    held_out: Positive
    """Documents of the held-out set that count, the first ones."""
    learning_rate: Annotated[float, Field(gt=0)]
    """At the peak."""
    final_rate: Share = 0.01
    """Where the cosine ends, as a share of the peak."""
    warmup: Share = 0.015
    """Share of a schedule's steps."""
    betas: tuple[float, float] = (0.9, 0.95)
    adam_epsilon: float = 1e-8
    weight_decay: float = 0.0
    clip: Annotated[float, Field(gt=0)] = 0.5
    """Largest norm of the gradient."""
    alpha: Annotated[float, Field(ge=0)] = 0.7
    gamma: Annotated[float, Field(ge=0)] = 0.3
    temperature: Annotated[float, Field(gt=0)] = 1.0
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of the matrix products; weights and moments are float32 in any case."""
    curve_points: Positive = 40
    """Points of a phase's loss curve in a record."""
    tokens_per_document: float | None = None
    """For estimates alone: mean length after cutting, where it is known; otherwise the context stands for it."""
    teacher_parameters: int | None = None
    """For estimates alone."""

    @model_validator(mode="after")
    def _fits_together(self) -> DistillationConfig:
        if self.width % self.heads or self.heads % self.kv_heads:
            raise ValueError("width must be a multiple of heads, and heads of kv_heads")
        if self.alpha + self.gamma == 0:
            raise ValueError("alpha and gamma are both zero: there is no loss")
        return self

    @property
    def budget(self) -> Budget:
        """What one phase of the joint arm is given."""
        return Budget(self.phase, self.unit)

    @property
    def layers(self) -> int:
        """Layers of the whole student."""
        return self.blocks * self.layers_per_block
