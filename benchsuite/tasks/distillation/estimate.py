"""What a distillation task takes, from its card alone: for a dry run, before any data or weights are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchsuite.tasks.distillation.config import DistillationConfig

#: Bytes of a float32 weight, its gradient and its two moments.
TRAINED, FROZEN = 16, 4


def block_parameters(config: DistillationConfig) -> int:
    """Return the parameters of all decoder layers, their two norms each included."""
    head = config.width // config.heads
    attention = 2 * config.width**2 + 2 * config.width * config.kv_heads * head
    return config.layers * (attention + 3 * config.width * config.mlp + 2 * config.width)


def trained_parameters(config: DistillationConfig) -> int:
    """Return the student's parameters that learn: layers, one norm at the boundary, head."""
    return block_parameters(config) + config.width + config.vocab * config.width


def phase_tokens(config: DistillationConfig) -> int:
    """Return the non-pad tokens of a phase; an upper bound where the mean length of a document is not known."""
    if config.unit == "total_tokens":
        return config.phase
    return round(config.phase * config.batch * (config.tokens_per_document or config.context))


def weight_bytes(config: DistillationConfig) -> int:
    """Return the bytes of the student with its optimiser, the embedding, and the teacher's weights where known."""
    teacher_width = 2 if config.precision == "bfloat16" else 4
    student = TRAINED * trained_parameters(config) + FROZEN * config.vocab * config.width
    return student + teacher_width * (config.teacher_parameters or 0)


def logit_bytes(config: DistillationConfig) -> int:
    """Return the bytes of a batch's logits, student's and teacher's, each also as log-probabilities, in float32."""
    return 4 * 4 * config.batch * config.context * config.vocab


def estimate(config: DistillationConfig) -> Mapping[str, str]:
    """Return lines for people: quantity and value."""
    tokens = phase_tokens(config)
    bound = "" if config.tokens_per_document or config.unit == "total_tokens" else "at most "
    known = "" if config.teacher_parameters else ", without the teacher's weights"
    grown = tokens * config.layers * (config.blocks + 1) // 2
    return {
        "tokens of a phase": f"{bound}{_short(tokens)} ({config.phase:,} {config.unit.replace('_', ' ')})",
        "active-layer tokens": f"{bound}{_short(tokens * config.layers)} with all {config.layers} layers for one "
        f"phase, {_short(grown)} when grown block by block over {config.blocks}",
        "trained parameters": _short(trained_parameters(config)),
        "memory of weights": f"{weight_bytes(config) / 2**30:.2f} GiB with gradients and moments{known}",
        "memory of logits": f"at most {logit_bytes(config) / 2**30:.2f} GiB, for a batch of documents at full length",
    }


def _short(number: float) -> str:
    for size, letter in ((1e12, " T"), (1e9, " B"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"
