"""Teachers that the suite trains: once for each corpus, tokenizer, recipe, seed and version of torch."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import safetensors
import safetensors.torch
import torch

from benchsuite.caching import read_or_make
from benchsuite.errors import UsageError, near
from benchsuite.models.teacher.recipes import PRESETS
from benchsuite.models.teacher.teacher import Teacher
from benchsuite.models.teacher.training import Llama, train

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from benchsuite.models.teacher.recipes import TeacherRecipe
    from benchsuite.models.teacher.teacher import TeacherText

#: Raise it when training may lead to other weights.
TRAINING_VERSION = 1


def trained(name: str, preset: str, cache: Path, text: TeacherText, seed: int) -> Teacher:
    """Return the teacher of a preset, training it where the cache does not hold it whole.

    Raises:
        ProtocolError: training diverged.
        StoreError: the cache cannot be written.
        UsageError: there is no such preset.
    """
    if preset not in PRESETS:
        raise UsageError(f"there is no recipe {preset!r} for a teacher", near(preset, PRESETS))
    recipe = PRESETS[preset]
    key = _key(recipe, text, seed)
    digest = hashlib.sha256(key.encode()).hexdigest()
    path = cache / "teachers" / f"{digest[:32]}.safetensors"
    state = read_or_make(path, lambda file: _read(file, key), lambda: _bytes(train(recipe, text, seed), key))
    model = Llama(recipe.shape(text.vocab))
    model.load_state_dict(state)
    return Teacher(
        name=name,
        vocab=text.vocab,
        pad=text.pad,
        context=recipe.context,
        digest=digest,
        embedding=state["embedding.weight"],
        head=state["head.weight"],
        norm=state["trunk.final.weight"],
        eps=recipe.shape(text.vocab).eps,
        rope_theta=recipe.shape(text.vocab).rope_theta,
        module=model.eval().requires_grad_(False),
    )


def _key(recipe: TeacherRecipe, text: TeacherText, seed: int) -> str:
    parts = {
        "recipe": asdict(recipe),
        "text": text.digest,
        "seed": seed,
        "version": TRAINING_VERSION,
        "torch": torch.__version__,
    }
    return json.dumps(parts, sort_keys=True)


def _bytes(model: Llama, key: str) -> bytes:
    state = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    header = json.dumps({"key": key, "sha256": _digest(state)}, sort_keys=True)
    return safetensors.torch.save(state, metadata={"benchsuite": header})


def _read(path: Path, key: str) -> dict[str, Tensor] | None:
    """Return what ``path`` holds; None unless it is there, whole, and the teacher that ``key`` names."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            header = json.loads(file.metadata()["benchsuite"])
            # Clones: the tensors of an open file are the file, and would change and crash with it.
            state: dict[str, Tensor] = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
        whole = header["key"] == key and header["sha256"] == _digest(state)
    except (OSError, safetensors.SafetensorError, KeyError, TypeError, ValueError):
        return None
    return state if whole else None


def _digest(state: dict[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(state.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()
