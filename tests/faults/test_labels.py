"""A method that looks for the held-out labels in everything a worker was handed does not find them."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from benchsuite.data.digits import digits_knn

SPY = '''
import gc, os
from pathlib import Path

import numpy as np
import safetensors.numpy
import torch


def whole(value):
    """Anything that could hold labels: one-dimensional, of whole numbers."""
    if isinstance(value, torch.Tensor) and not value.is_floating_point() and value.dim() == 1:
        return value.detach().cpu().numpy()
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.ndim == 1:
        return value
    if isinstance(value, (list, tuple)) and len(value) > 100 and all(type(e) is int and abs(e) < 2**60 for e in value):
        return np.array(value)
    return None


class Method:
    def quantize(self, job):
        found = []
        for holder in gc.get_objects():
            for value in (holder, *gc.get_referents(holder)):
                array = whole(value)
                if array is not None and len(array) > 100:
                    found.append(array.astype(np.int64))
        for path in Path(os.environ["BENCHSUITE_CACHE"]).rglob("*"):
            if path.is_file():
                data = path.read_bytes()
                try:
                    arrays = safetensors.numpy.load(data).values()
                    found += [array.astype(np.int64).ravel() for array in arrays if array.dtype.kind in "iu"]
                except Exception:
                    found.append(np.frombuffer(data, np.uint8).astype(np.int64))
        # The mapped memory of the process, for files that are open but not in the cache.
        for line in Path("/proc/self/maps").read_text().splitlines():
            path = line.split(maxsplit=5)[5:] or [""]
            if path[0].endswith((".safetensors", ".npy", ".npz")):
                found.append(np.frombuffer(Path(path[0]).read_bytes(), np.uint8).astype(np.int64))
        np.savez(os.environ["SPY_OUT"], *found)
        raise RuntimeError("that is all there is")
'''

CARDS = """
from benchsuite.plugin import MethodCard, hookimpl

@hookimpl
def benchsuite_methods():
    return [MethodCard(name="spy", kind="quantizer", target="benchsuite_spy.method:Method", summary="Looks around.")]
"""


def holds(array, labels, mask):
    """Whether the labels of the masked nodes stand in ``array``: at the nodes' places, or one behind the other."""
    wanted = labels[mask]
    if len(array) == len(labels) and (array[mask] == wanted).all():
        return True
    if len(array) < len(wanted):
        return False
    starts = np.flatnonzero(array[: len(array) - len(wanted) + 1] == wanted[0])
    return any((array[start : start + len(wanted)] == wanted).all() for start in starts)


@pytest.mark.slow
def test_a_spy_finds_the_training_labels_and_no_test_labels(workshop, tmp_path):
    workshop.plugin("spy", cards=CARDS, method=SPY)
    environment = {**os.environ, "BENCHSUITE_CACHE": str(tmp_path / "cache"), "SPY_OUT": str(tmp_path / "spied.npz")}
    words = ["--plugin", "spy/spy", "--task", "digits-knn-gcn", "--seeds", "1", "--plugin-path", str(workshop.plugins)]
    command = [sys.executable, "-m", "benchsuite.cli.main", "run", *words]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "RuntimeError: that is all there is" in done.stderr
    with np.load(tmp_path / "spied.npz") as spied:
        found = [spied[name] for name in spied.files]
    truth = digits_knn()
    labels = truth.y.numpy()
    assert any(holds(array, labels, truth.train.numpy()) for array in found)  # so the hunt can find what is there
    assert not any(holds(array, labels, truth.test.numpy()) for array in found)
