"""Running a method's code without letting it change the process for those who come after it."""

from __future__ import annotations

import random
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def contained(seed: int, device: torch.device, threads: int = 1) -> Iterator[None]:
    """Run the block from a known global state and put the caller's back afterwards, also when it raises.

    The state is what a method can reach by accident: the global random streams of Python, NumPy and torch, torch's
    default dtype, number of threads, and grad mode. A method that draws from a global stream in place of its own
    generator still gives the same result for the same seed.

    Args:
        seed: of the global streams inside.
        device: whose random stream is kept too, where it has one of its own.
        threads: number of torch's threads inside.
    """
    python, numpy = random.getstate(), np.random.get_state()
    dtype, outside, grad = torch.get_default_dtype(), torch.get_num_threads(), torch.is_grad_enabled()
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        try:
            _enter(seed, threads)
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)
            torch.set_default_dtype(dtype)
            torch.set_num_threads(outside)
            torch.set_grad_enabled(grad)


def _enter(seed: int, threads: int) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
    torch.set_default_dtype(torch.float32)
    torch.set_num_threads(threads)
    torch.set_grad_enabled(True)
