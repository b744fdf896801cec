"""Fixtures that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Cells run on one thread; so do tests, or float sums would differ between machines."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture
def data_root() -> Path:
    """Return the folder with real data; skip where there is none."""
    root = os.environ.get("BENCHSUITE_DATA")
    if not root or not Path(root).is_dir():
        pytest.skip("BENCHSUITE_DATA names no folder: the real data is not here")
    return Path(root)
