"""The same run, wherever its cells run: what a method predicts does not depend on the executor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.util import find_spec

import pytest

from benchsuite.store import read_store

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (find_spec("ray") and find_spec("submitit")), reason="the extras 'ray' and 'slurm' are not installed"
    ),
]


def command(out, executor, *words):
    words = ("--seeds", "1", "--executor", executor, "--out", str(out), *words)
    return [sys.executable, "-m", "benchsuite.cli.main", "run", *words]


def surroundings(tmp_path):
    keep = {name: value for name, value in os.environ.items() if not name.startswith(("BENCHSUITE_", "RAY_"))}
    return {**keep, "BENCHSUITE_CACHE": str(tmp_path / "cache")}


def test_the_same_run_gives_the_same_predictions_under_every_executor(tmp_path):
    """Each in a process of its own, as users start it; Ray and submitit start what they need by themselves."""
    found = {}
    for executor in ("local", "inline", "ray", "slurm[cluster=local]"):
        out = tmp_path / executor
        words = ("--plugin", "topgq", "--task", "digits-knn-gcn", "--jobs", "2")
        done = subprocess.run(
            command(out, executor, *words), capture_output=True, text=True, env=surroundings(tmp_path), timeout=200
        )
        assert done.returncode == 0, done.stderr
        records = read_store(out).cells
        found[executor] = {record.cell: (record.status, record.metrics, record.outputs) for record in records}
    assert len(found["local"]) >= 2
    assert all(outputs for _, _, outputs in found["local"].values())
    for executor, records in found.items():
        assert records == found["local"], executor


@pytest.mark.parametrize("executor", ["ray", "slurm[cluster=local]"])
def test_a_run_that_is_told_to_stop_leaves_no_process_behind(executor, toy_folder, tmp_path):
    import psutil

    words = ("--plugin", "toy-slow[seconds=90]", "--task", "toy-one", "--plugin-path", str(toy_folder))
    host = subprocess.Popen(
        command(tmp_path / "out", executor, *words), env=surroundings(tmp_path), stderr=subprocess.PIPE, text=True
    )
    for line in host.stderr:
        if "[1/2]" in line:
            break
    below = psutil.Process(host.pid).children(recursive=True)
    assert below
    host.send_signal(signal.SIGTERM)
    _, told = host.communicate(timeout=60)
    assert host.returncode == 130
    assert "interrupted after 1 of 2 cells" in told
    _, left = psutil.wait_procs(below, timeout=10)
    assert left == []
