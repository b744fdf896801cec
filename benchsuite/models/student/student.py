"""A student: a stack of blocks between the teacher's embedding, frozen, and a trained copy of its head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import torch
from torch import Tensor, nn

from benchsuite.errors import ProtocolError, UsageError
from benchsuite.models.student.initial import draw, silence
from benchsuite.models.student.stack import Stack

if TYPE_CHECKING:
    from benchsuite.contracts.norm_placement import StackNorms
    from benchsuite.models.student.shape import StudentShape

Start = Literal["random", "copy", "zero_output"]


class Student(nn.Module):
    """A decoder transformer with RMSNorm, rotary embedding, SwiGLU and grouped-query attention.

    What is trained is what :meth:`parameters` yields: the blocks, the boundary norms and the head. The embedding is a
    buffer. Made by :func:`build_student`.

    Args:
        shape: sizes.
        stack: the placement's norms.
        embedding: ``[vocab, width]``.
        head: ``[vocab, width]``, copied.
        norm: ``[width]``, copied to the entry norm and the final norm, whichever there are.

    Raises:
        UsageError: the tensors do not fit the shape.
        ProtocolError: the placement describes another number of layers.
    """

    embedding: Tensor

    def __init__(self, shape: StudentShape, stack: StackNorms, embedding: Tensor, head: Tensor, norm: Tensor) -> None:
        super().__init__()
        _check(shape, embedding, head, norm)
        self.shape, self.stack = shape, stack
        self.register_buffer("embedding", embedding.detach().clone())
        self.trunk = Stack(shape, stack)
        self.head = nn.Linear(shape.width, shape.vocab, bias=False)
        with torch.no_grad():
            self.head.weight.copy_(head)
            for weight in self.boundary_parameters():
                weight.copy_(norm)

    def forward(self, tokens: Tensor, mask: Tensor | None = None, active: tuple[int, ...] | None = None) -> Tensor:
        """Return the logits ``[batch, time, vocab]`` of the next token at each position.

        Args:
            tokens: ``[batch, time]`` int64.
            mask: ``[batch, time]`` bool, True for tokens and False for the padding on their right; None for no
                padding. Attention is causal, so no token ever sees what is on its right: the mask is checked and has
                no other effect, and logits at padding mean nothing.
            active: indices of the active blocks, bottom first; None for all.

        Raises:
            ProtocolError: more tokens than the context, padding on the left, or a block that does not exist.
        """
        if tokens.shape[-1] > self.shape.context:
            raise ProtocolError(f"{tokens.shape[-1]} tokens do not fit into a context of {self.shape.context}")
        if mask is not None and bool((mask[:, 1:] & ~mask[:, :-1]).any()):
            raise ProtocolError("a token stands on the right of padding", "Pad on the right")
        for index in active or ():
            self._exists(index)
        logits: Tensor = self.head(self.trunk(self.embedding[tokens], active))
        return logits

    def block_parameters(self, block: int) -> list[nn.Parameter]:
        """Return the parameters of one block, its norms included."""
        return list(self.trunk.blocks[self._exists(block)].parameters())

    def boundary_parameters(self) -> list[nn.Parameter]:
        """Return the weights of the entry norm and the final norm, whichever there are."""
        return [weight for part in (self.trunk.entry, self.trunk.final) for weight in part.parameters()]

    def head_parameters(self) -> list[nn.Parameter]:
        """Return the head's weight."""
        return list(self.head.parameters())

    def reset_block(self, block: int, how: Start, generator: torch.Generator, source: int | None = None) -> None:
        """Start a block anew, in place.

        Args:
            block: its index.
            how: ``"random"`` draws it; ``"copy"`` copies the block ``source``; ``"zero_output"`` does the one or the
                other, by whether there is a source, and then zeroes the last projection of every branch. That makes
                the block the identity under pre-norm and sandwich, and in general not where norms follow the sum.
            generator: of the draws; on the CPU, so that devices agree.
            source: index of the block to copy.

        Raises:
            UsageError: an unknown way, a copy without a source, or a block that does not exist.
        """
        target = self.trunk.blocks[self._exists(block)]
        if how not in get_args(Start):
            raise UsageError(f"no block starts as {how!r}", "It takes one of " + ", ".join(get_args(Start)))
        if how == "copy" and source is None:
            raise UsageError("a block can only start as a copy of another one", "Name its source")
        if how == "random" or source is None:
            draw(target, generator)
        else:
            target.load_state_dict(self.trunk.blocks[self._exists(source)].state_dict())
        if how == "zero_output":
            silence(target)

    def _exists(self, block: int) -> int:
        if not 0 <= block < self.shape.blocks:
            raise ProtocolError(f"there is no block {block}", f"The student has blocks 0 to {self.shape.blocks - 1}")
        return block


def build_student(
    shape: StudentShape, stack: StackNorms, embedding: Tensor, head: Tensor, norm: Tensor, seed: int
) -> Student:
    """Return a student whose blocks are drawn with ``seed``, bottom first; the same numbers for every placement.

    Args:
        shape: sizes.
        stack: what the placement returned for ``shape.layers``.
        embedding: the teacher's, ``[vocab, width]``; frozen.
        head: the teacher's, ``[vocab, width]``; a copy of it is trained.
        norm: the scale of the teacher's final norm, ``[width]``; a copy is trained in each boundary norm.
        seed: of the blocks.

    Raises:
        UsageError: the tensors do not fit the shape: teacher and student must share width and vocabulary.
        ProtocolError: the placement describes another number of layers.
    """
    student = Student(shape, stack, embedding, head, norm)
    draw(student.trunk.blocks, torch.Generator().manual_seed(seed))
    return student


def _check(shape: StudentShape, embedding: Tensor, head: Tensor, norm: Tensor) -> None:
    for name, tensor in (("embedding", embedding), ("head", head)):
        if tensor.shape[0] != shape.vocab:
            raise UsageError(
                f"teacher and student vocabularies differ: the teacher's {name} has {tensor.shape[0]:,} tokens, "
                f"the student {shape.vocab:,}",
                "Both must use one tokenizer",
            )
    for name, tensor in (("embedding", embedding), ("head", head), ("final norm", norm)):
        if tensor.shape[-1] != shape.width:
            raise UsageError(
                f"the teacher's {name} has width {tensor.shape[-1]}, the student {shape.width}",
                "A student takes the teacher's embedding and head, so it has the teacher's width",
            )
