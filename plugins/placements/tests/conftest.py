"""Lets the tests import the plugin from this folder, installed or not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    torch.set_num_threads(1)
