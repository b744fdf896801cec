"""Lets the tests import the plugin from this folder, installed or not."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    torch.set_num_threads(1)


@pytest.fixture
def data_root() -> Path:
    """Return the folder with real data; skip where there is none."""
    root = os.environ.get("BENCHSUITE_DATA")
    if not root or not Path(root).is_dir():
        pytest.skip("BENCHSUITE_DATA names no folder: the real data is not here")
    return Path(root)
