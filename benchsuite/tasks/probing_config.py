"""What a probe task's card says about the model under the probe. Imports no torch."""

from __future__ import annotations

from pydantic import Field, model_validator

from benchsuite.contracts.cards import Frozen

LEAST = 4
"""Least number of tokens per unit of width: below it the smallest singular values say more of the sample than of the
model (hard edge of the Marchenko-Pastur law), and below 1 there is a kernel whatever the model is."""

TEXT = "text/gutenberg/sherlock_holmes.txt.gz"
"""Where a checkpoint's tokens come from, below ``BENCHSUITE_DATA``."""


class SubjectConfig(Frozen):
    """The config of a task of protocol ``dead-direction/1``."""

    family: str | None = None
    """A key of :data:`benchsuite.models.zoo.families.FAMILIES`: built small, with random weights, a perturbed scale of
    the final norm, and random tokens. Either this or ``checkpoint``."""
    width: int = Field(default=96, ge=8)
    layers: int = Field(default=4, ge=1)
    heads: int = Field(default=4, ge=1)
    vocabulary: int = Field(default=1024, ge=16)
    checkpoint: str | None = None
    """A folder below ``BENCHSUITE_DATA``, see :mod:`benchsuite.models.zoo.checkpoints`: with its weights as they are,
    and text as far as there is any."""
    text: str = TEXT
    norm: str | None = None
    """Module path of the final norm. None: a family's is known; a checkpoint's is found by behaviour."""
    tokens_per_width: int = Field(default=8, ge=LEAST)

    @model_validator(mode="after")
    def _one_subject(self) -> SubjectConfig:
        if (self.family is None) == (self.checkpoint is None):
            raise ValueError("name either a family or a checkpoint")
        return self
