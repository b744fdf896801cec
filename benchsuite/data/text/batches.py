"""Documents to batches: each document a row of its own, truncated, padded on the right, not packed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch

from benchsuite.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor


def batches(
    documents: Sequence[Sequence[int]], context: int, batch: int, pad: int, generator: torch.Generator | None
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield every document once.

    Args:
        documents: ids of each; longer ones lose what is behind ``context``.
        context: most tokens of a row.
        batch: rows; the last batch may have fewer.
        pad: id that fills rows up to the longest of their batch.
        generator: shuffles the documents; None keeps their order.

    Yields:
        ``tokens`` ``[batch, time]`` int64 and ``mask`` ``[batch, time]`` bool, True at tokens.

    Raises:
        UsageError: there are no documents, or a batch would be empty.
    """
    if not documents:
        raise UsageError("there are no documents to make batches of")
    if context < 1 or batch < 1:
        raise UsageError(f"a batch of {batch} rows of {context} tokens holds nothing")
    order: Sequence[int] = range(len(documents))
    if generator is not None:
        order = torch.randperm(len(documents), generator=generator, device=generator.device).tolist()
    for start in range(0, len(order), batch):
        yield pad_rows([documents[place][:context] for place in order[start : start + batch]], pad)


def stream(
    documents: Sequence[Sequence[int]], context: int, batch: int, pad: int, generator: torch.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches without end: pass after pass, each in an order of its own. Otherwise as :func:`batches`."""
    while True:
        yield from batches(documents, context, batch, pad, generator)


def pad_rows(rows: Sequence[Sequence[int]], pad: int) -> tuple[Tensor, Tensor]:
    """Return ``rows`` as ``(tokens, mask)``, both ``[rows, longest row]``."""
    lengths = torch.tensor([len(row) for row in rows])
    tokens = torch.full((len(rows), int(lengths.max())), pad, dtype=torch.int64)
    for place, row in enumerate(rows):
        tokens[place, : len(row)] = torch.as_tensor(row, dtype=torch.int64)
    return tokens, torch.arange(tokens.shape[1]) < lengths[:, None]


@dataclass(frozen=True)
class TokenisedText:
    """Training documents as ids, with what is needed to make batches of them: what a teacher is trained on."""

    documents: Sequence[Sequence[int]]
    vocab: int
    pad: int

    @cached_property
    def digest(self) -> str:
        """sha256 (hex) of all ids, document by document, of the vocabulary's size and of the padding."""
        digest = hashlib.sha256(f"{self.vocab} {self.pad} {len(self.documents)}\n".encode())
        for document in self.documents:
            digest.update(torch.as_tensor(document, dtype=torch.int64).numpy().astype("<i8").tobytes())
            digest.update(b"\xff" * 8)  # no id is -1
        return digest.hexdigest()

    def stream(self, context: int, batch: int, generator: torch.Generator) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield shuffled batches without end, see :func:`stream`."""
        return stream(self.documents, context, batch, self.pad, generator)
