"""The teacher of a task: its tokenizer in the host, its weights in the worker."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from benchsuite.data.text import TokenisedText, load_tokenizer, train_tokenizer
from benchsuite.errors import ProtocolError
from benchsuite.models.teacher import PRESETS, load_teacher, tokenizer_file
from benchsuite.models.zoo.checkpoints import files_of
from benchsuite.tasks.probing_view import sha256

if TYPE_CHECKING:
    from benchsuite.contracts.task import Places
    from benchsuite.data.text import Corpus, Tokenizer
    from benchsuite.models.teacher import Teacher
    from benchsuite.tasks.distillation.config import DistillationConfig
    from benchsuite.tasks.distillation.view import Opened


def tokenizer_of(config: DistillationConfig, corpus: Corpus, places: Places) -> Tokenizer:
    """Return the teacher's own tokenizer; for a teacher that is trained here one that is trained on the same corpus.

    Raises:
        MissingDataError: the teacher's tokenizer is absent or damaged.
        StoreError: the cache cannot be written.
        UsageError: no teacher has this name.
    """
    path = tokenizer_file(config.teacher, places.data)
    return train_tokenizer(corpus, config.vocab, places.cache) if path is None else load_tokenizer(path)


def identity_of(config: DistillationConfig, places: Places) -> str:
    """Return a hash (hex) of what the teacher is: of its recipe where it is trained here, of its files otherwise.

    Raises:
        MissingDataError: its files are absent.
        UsageError: no teacher has this name.
    """
    path = tokenizer_file(config.teacher, places.data)
    if path is None:
        recipe = PRESETS.get(config.teacher.partition(":")[2])
        what: object = None if recipe is None else asdict(recipe)
    else:
        what = {file.name: sha256(file) for file in files_of(path.parent)}
    return hashlib.sha256(json.dumps([config.teacher, what], sort_keys=True).encode()).hexdigest()


def teacher_of(config: DistillationConfig, opened: Opened, cache: Path, device: torch.device) -> Teacher:
    """Return the teacher; one that is trained here is trained on the task's training documents, once.

    Raises:
        MissingDataError: its weights are absent or damaged.
        ProtocolError: its context is shorter than the task's.
        StoreError: the cache cannot be written.
    """
    view, documents = opened.view, opened.training
    # Lists: a teacher that is trained here is named after all ids, and is looked for in the cache by every cell.
    ids = documents.ids.tolist()
    text = TokenisedText([ids[start:end] for start, end in pairwise(documents.offsets.tolist())], view.vocab, view.pad)
    data = None if view.data is None else Path(view.data)
    dtype = torch.bfloat16 if config.precision == "bfloat16" else torch.float32
    teacher = load_teacher(config.teacher, data, cache, text, device=device, dtype=dtype)
    if teacher.context < config.context:
        raise ProtocolError(
            f"the teacher {config.teacher!r} takes {teacher.context} tokens, the task's context is {config.context}",
            "Shorten the task's context",
        )
    return teacher
