"""The trained FP32 model of (task, seed): trained once, then read from the cache by every method and every process."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, NamedTuple

import safetensors
import safetensors.torch

from benchsuite.caching import read_or_make
from benchsuite.tasks.training import Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pydantic import JsonValue
    from torch import Tensor


class Reference(NamedTuple):
    """A trained model."""

    state: dict[str, Tensor]
    """Its ``state_dict``, on the CPU."""
    selection: Selection
    """The epoch that was kept and its validation score."""


def load_or_train(cache: Path, key: Mapping[str, JsonValue], train: Callable[[], Reference]) -> Reference:
    """Return the reference model that ``key`` names, training it where the cache does not hold it whole.

    Processes that ask at the same time wait for one of them to train. A file that is truncated, damaged or of another
    key is written anew.

    Args:
        cache: the cache folder; the model goes to ``models/`` in it.
        key: everything that the trained weights depend on, as JSON.
        train: trains it.

    Raises:
        StoreError: the cache cannot be written.
    """
    canonical = json.dumps(key, sort_keys=True, separators=(",", ":"))
    path = cache / "models" / f"{hashlib.sha256(canonical.encode()).hexdigest()[:32]}.safetensors"
    return read_or_make(path, lambda path: _read(path, canonical), lambda: _payload(canonical, train()))


def _payload(key: str, trained: Reference) -> bytes:
    state = {name: tensor.detach().cpu().contiguous() for name, tensor in trained.state.items()}
    reference = Reference(state, trained.selection)
    header = {"key": key, "sha256": _digest(reference), **reference.selection._asdict()}
    # One metadata entry: safetensors writes several in an order of its own, and equal models should be equal files.
    return safetensors.torch.save(state, metadata={"benchsuite": json.dumps(header, sort_keys=True)})


def _read(path: Path, key: str) -> Reference | None:
    """Return what ``path`` holds; None unless it is there, whole, and the model that ``key`` names."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            header = json.loads(file.metadata()["benchsuite"])
            state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (it has no iterator)
        reference = Reference(state, Selection(header["epoch"], header["score"]))
        whole = header["key"] == key and header["sha256"] == _digest(reference)
    except (OSError, safetensors.SafetensorError, KeyError, TypeError, ValueError):
        return None
    return reference if whole else None


def _digest(reference: Reference) -> str:
    digest = hashlib.sha256(repr(tuple(reference.selection)).encode())
    for name, tensor in sorted(reference.state.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()
