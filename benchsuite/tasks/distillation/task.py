"""Distillation of a block-wise student: norm placement times depth curriculum (protocol ``distillation/1``).

The protocol is in ``docs/protocols/distillation.md``; its worker side is :mod:`benchsuite.tasks.distillation.bench`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchsuite.contracts.task import Prepared
from benchsuite.errors import ProtocolError
from benchsuite.tasks.config import read_config
from benchsuite.tasks.distillation.config import DistillationConfig
from benchsuite.tasks.distillation.estimate import estimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchsuite.contracts.cards import TaskCard
    from benchsuite.contracts.task import CellInput, CellOutput, Places


class Distillation:
    """The task of every card whose protocol is ``distillation/1``.

    Args:
        card: its config is a :class:`~benchsuite.tasks.distillation.config.DistillationConfig`.

    Raises:
        ProtocolError: the config is not.
    """

    def __init__(self, card: TaskCard) -> None:
        self.card = card
        self.config = read_config(card.name, card.config, DistillationConfig)

    def estimate(self) -> Mapping[str, str]:
        """Return what the task will take, from its card alone."""
        return estimate(self.config)

    def prepare(self, places: Places) -> Prepared:
        """Read the corpus, tokenise it with the teacher's tokenizer and write training and held-out documents apart.

        Raises:
            MissingDataError: corpus or tokenizer are absent, damaged or empty.
            ProtocolError: the tokenizer has another vocabulary than the student.
            StoreError: the cache cannot be written.
            UsageError: no corpus or teacher has this name.
        """
        from benchsuite.data.text import read_corpus
        from benchsuite.tasks.distillation.documents import read_documents
        from benchsuite.tasks.distillation.teachers import identity_of, tokenizer_of
        from benchsuite.tasks.distillation.view import make_view

        corpus = read_corpus(self.config.corpus, places.data, self.config.passage)
        tokenizer = tokenizer_of(self.config, corpus, places)
        if tokenizer.vocab != self.config.vocab:
            raise ProtocolError(
                f"teacher and student vocabularies differ: the tokenizer of {self.config.teacher!r} has "
                f"{tokenizer.vocab} tokens, the student {self.config.vocab}",
                f"Give task {self.card.name!r} vocab={tokenizer.vocab}, or a teacher of that vocabulary",
            )
        view, path = make_view(corpus, tokenizer, identity_of(self.config, places), self.config, places)
        lengths = read_documents(path.parent / view.held_out).lengths
        return Prepared(path, view.content_hash(), {"counts": lengths - 1})

    def run(self, cell: CellInput) -> CellOutput:
        """Train the student of one placement under one curriculum, and evaluate it.

        Raises:
            MissingDataError: the view is absent or damaged, or the teacher is.
            ProtocolError: a method broke its contract, training diverged, or teacher and student do not fit.
            StoreError: the cache cannot be written.
        """
        import torch

        from benchsuite.tasks.containment import contained
        from benchsuite.tasks.distillation.bench import Bench
        from benchsuite.tasks.distillation.view import open_view
        from benchsuite.tasks.seeds import derive

        device = torch.device(cell.device)
        with contained(derive(cell.seed, "global"), device):
            return Bench(self.card.protocol, self.config, cell, open_view(cell.view), device).output()

    def score(self, prepared: Prepared, output: CellOutput) -> dict[str, float]:
        """Return the held-out cross-entropy in nats per token, each token weighing the same.

        Raises:
            ProtocolError: there is not one finite sum for each held-out document, or the counts are others.
        """
        counts = prepared.held_out["counts"]
        sums, counted = output.predictions.get("sums"), output.predictions.get("counts")
        if not isinstance(sums, np.ndarray) or sums.dtype != np.float64 or sums.shape != counts.shape:
            raise ProtocolError(f"predictions are not one float64 sum for each of {len(counts)} held-out documents")
        if not np.all(np.isfinite(sums)) or np.any(sums < 0):
            raise ProtocolError("a held-out document's cross-entropy is negative or not finite")
        if counted is None or not np.array_equal(counted, counts):
            raise ProtocolError("the worker counted other held-out tokens than there are")
        return {"cross_entropy": float(sums.sum() / counts.sum())}
