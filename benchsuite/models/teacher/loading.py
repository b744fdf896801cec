"""Teachers by spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from benchsuite.errors import UsageError
from benchsuite.models.teacher.cached import trained
from benchsuite.models.teacher.recipes import PRESETS

if TYPE_CHECKING:
    from pathlib import Path

    from benchsuite.models.teacher.teacher import Teacher, TeacherText

TRAIN = "train:"
_FORMS = f"It is {TRAIN}PRESET ({', '.join(PRESETS)}), stories260k, local:FOLDER or hub:OWNER/NAME"


def load_teacher(
    spec: str,
    data: Path | None,
    cache: Path,
    text: TeacherText,
    seed: int = 0,
    device: str | torch.device = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Teacher:
    """Return a teacher.

    Args:
        spec: ``train:PRESET`` trains a small Llama on ``text``, once, and keeps it in the cache; ``stories260k`` is
            the checkpoint of that name below the data folder; ``local:FOLDER`` is a causal language model of
            transformers, or of llama2.c; ``hub:OWNER/NAME`` is one below ``models/`` of the data folder, or in the
            Hugging Face cache.
        data: the data folder (``BENCHSUITE_DATA``), or None.
        cache: the cache folder.
        text: the training documents as ids, made with the teacher's own tokenizer where it has one.
        seed: of a teacher that is trained.
        device: where it will run; training is on the CPU.
        dtype: of a pretrained teacher's weights.

    Raises:
        MissingDataError: its files are absent or damaged. A run downloads nothing.
        ProtocolError: its vocabulary is smaller than the tokenizer's, its final norm is no RMSNorm, or its training
            diverged.
        StoreError: the cache cannot be written.
        UsageError: no teacher is called so.
    """
    if spec.startswith(TRAIN):
        return trained(spec, spec.removeprefix(TRAIN), cache, text, seed).to(device)
    from benchsuite.models.teacher.pretrained import folder_of, pretrained

    _check(spec)
    return pretrained(spec, folder_of(spec, data), text.vocab, text.pad, device, dtype)


def tokenizer_file(spec: str, data: Path | None) -> Path | None:
    """Return the file of a teacher's own tokenizer; None where the teacher is trained here and has none.

    Raises:
        MissingDataError: the teacher's files are absent.
        UsageError: no teacher is called so.
    """
    if spec.startswith(TRAIN):
        return None
    from benchsuite.models.teacher.pretrained import folder_of, tokenizer_path

    _check(spec)
    return tokenizer_path(folder_of(spec, data))


def _check(spec: str) -> None:
    from benchsuite.models.teacher.pretrained import HUB, LOCAL, STORIES

    if spec != STORIES and not any(spec.startswith(start) and spec != start for start in (LOCAL, HUB)):
        raise UsageError(f"no teacher is called {spec!r}", _FORMS)
