"""What a teacher is to a student: logits, and the three tensors that the student starts from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import torch

from benchsuite.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor, nn


class TeacherText(Protocol):
    """Training documents as ids; :class:`benchsuite.data.text.TokenisedText` is such."""

    @property
    def vocab(self) -> int:
        """Number of tokens of the tokenizer."""
        ...

    @property
    def pad(self) -> int:
        """Id of the padding."""
        ...

    @property
    def digest(self) -> str:
        """Names the ids, and so the corpus and the tokenizer."""
        ...

    def stream(self, context: int, batch: int, generator: torch.Generator) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield shuffled ``(tokens, mask)`` without end."""
        ...


@dataclass(frozen=True, eq=False)
class Teacher:
    """A trained causal language model that is not trained any more."""

    name: str
    """The spec that it was loaded by."""
    vocab: int
    """Of the tokenizer. Logits and tensors are cut to it where the model has more rows (Qwen3 pads its own)."""
    pad: int
    context: int
    """Most tokens that it takes."""
    digest: str
    """Of its weights, or of everything they follow from."""
    embedding: Tensor = field(repr=False)
    """``[vocab, width]``."""
    head: Tensor = field(repr=False)
    """``[vocab, width]``; equal to the embedding where the model ties them."""
    norm: Tensor = field(repr=False)
    """``[width]``, the scale of the final RMSNorm."""
    eps: float
    """Of the final RMSNorm."""
    rope_theta: float
    module: nn.Module = field(repr=False)
    """Maps ids ``[batch, time]`` to logits ``[batch, time, vocab or more]``; in eval mode, without gradients."""

    @property
    def width(self) -> int:
        """Size of the hidden states."""
        return int(self.embedding.shape[1])

    @torch.no_grad()
    def logits(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return ``[batch, time, vocab]`` float32, without a gradient.

        Args:
            tokens: ``[batch, time]`` int64.
            mask: ``[batch, time]`` bool. It has no effect, since padding is on the right of all that a causal model
                sees; logits at padding mean nothing.

        Raises:
            ProtocolError: more tokens than the context.
        """
        if tokens.shape[-1] > self.context:
            raise ProtocolError(f"{tokens.shape[-1]} tokens do not fit into the teacher's context of {self.context}")
        logits: Tensor = self.module(tokens)
        return logits[..., : self.vocab].float()

    def to(self, device: str | torch.device) -> Teacher:
        """Return the teacher with its module on ``device``, which is moved; the tensors for the student stay."""
        return replace(self, module=self.module.to(device))
