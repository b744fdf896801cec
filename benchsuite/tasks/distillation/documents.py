"""Tokenised documents in one file, and batches of them: padded on the right, never packed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError

from benchsuite.caching import read_hashed, write_hashed
from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from torch import Tensor


class Batch(NamedTuple):
    """Some documents side by side."""

    tokens: Tensor
    """``[batch, time]`` int64."""
    mask: Tensor
    """``[batch, time]`` bool, False on padding."""


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents end to end."""

    ids: Tensor
    """``[all tokens]`` int32."""
    offsets: Tensor
    """``[documents + 1]`` int64: where each begins, and where the last one ends."""
    pad: int
    """What stands in the padding; any token, since the mask says what counts."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> np.ndarray:
        """Tokens of each document, ``[documents]`` int64."""
        lengths: np.ndarray = self.offsets.diff().numpy()
        return lengths

    def batch(self, documents: Sequence[int] | np.ndarray, device: torch.device) -> Batch:
        """Return ``documents`` (their indices) padded to the longest of them."""
        rows = [self.ids[self.offsets[i] : self.offsets[i + 1]].long() for i in documents]
        tokens = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=self.pad)
        lengths = torch.tensor([len(row) for row in rows])
        mask = torch.arange(tokens.shape[1]) < lengths[:, None]
        return Batch(tokens.to(device), mask.to(device))

    def batches(self, size: int, device: torch.device) -> Iterator[Batch]:
        """Yield all documents in order, ``size`` at a time."""
        for start in range(0, len(self), size):
            yield self.batch(range(start, min(start + size, len(self))), device)


def pack(texts: Iterable[Sequence[int]], context: int, pad: int) -> Documents:
    """Cut each document to ``context`` tokens; leave out those of fewer than two, which predict nothing."""
    rows = [np.asarray(ids[:context], dtype=np.int32) for ids in texts if len(ids) >= 2]
    ids = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)]).astype(np.int64)
    return Documents(torch.from_numpy(ids), torch.from_numpy(offsets), pad)


def write_documents(documents: Documents, folder: Path) -> Path:
    """Write ``documents`` into ``folder`` under a name made of their hash.

    Raises:
        StoreError: the folder cannot be written.
    """
    tensors = {"ids": documents.ids, "offsets": documents.offsets, "pad": torch.tensor(documents.pad)}
    return write_hashed(folder, safetensors.torch.save(tensors), ".safetensors")


def read_documents(path: Path) -> Documents:
    """Return what :func:`write_documents` wrote.

    Raises:
        MissingDataError: the file is absent or damaged.
    """
    try:
        tensors = safetensors.torch.load(read_hashed(path))
        return Documents(tensors["ids"], tensors["offsets"], int(tensors["pad"]))
    except (SafetensorError, KeyError) as error:
        raise MissingDataError(f"{path} holds no documents", "Start the run again: it is written anew") from error
