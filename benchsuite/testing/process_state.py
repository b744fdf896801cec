"""The state that all code of a process shares: read it, compare it, put it back."""

from __future__ import annotations

import contextlib
import os
import random
import sys
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Shared(NamedTuple):
    """One piece of shared state."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]


def _write_environment(value: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(value)


def _write_filters(value: list[Any]) -> None:
    warnings.resetwarnings()  # also tells the warnings module that its filters changed
    warnings.filters[:] = value  # type: ignore[index]


def _write_path(value: list[str]) -> None:
    sys.path[:] = value


SHARED = (
    Shared("torch's random state", torch.random.get_rng_state, torch.random.set_rng_state),
    Shared("numpy's random state", np.random.get_state, np.random.set_state),
    Shared("random's state", random.getstate, random.setstate),
    Shared("torch's default dtype", torch.get_default_dtype, torch.set_default_dtype),
    Shared("torch's default device", torch.get_default_device, torch.set_default_device),
    Shared("torch's number of threads", torch.get_num_threads, torch.set_num_threads),
    Shared("torch's grad mode", torch.is_grad_enabled, torch.set_grad_enabled),
    Shared(
        "torch's deterministic flag", torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms
    ),
    Shared("the working directory", os.getcwd, os.chdir),
    Shared("os.environ", lambda: dict(os.environ), _write_environment),
    Shared("warnings.filters", lambda: list(warnings.filters), _write_filters),
    Shared("sys.path", lambda: list(sys.path), _write_path),
)


def snapshot() -> dict[str, Any]:
    """Return the value of every piece of shared state by name."""
    return {shared.name: shared.read() for shared in SHARED}


def restore(before: dict[str, Any]) -> list[str]:
    """Put back what differs from ``before`` and return the names of what differed."""
    changed = [shared for shared in SHARED if not _same(shared.read(), before[shared.name])]
    for shared in changed:
        shared.write(before[shared.name])
    return [shared.name for shared in changed]


@contextlib.contextmanager
def preserved() -> Iterator[list[str]]:
    """Put all shared state back when the block ends; the list then holds the names of what the block changed."""
    before = snapshot()
    changed: list[str] = []
    try:
        yield changed
    finally:
        changed += restore(before)


def stir(seed: int) -> None:
    """Seed every shared random stream, so that code which draws from one shows it."""
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, tuple) and len(one) == len(other):
        return all(_same(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)
