"""SIGKILL at random moments, of the host or of a worker: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from benchsuite.store import read_store

TOY = Path(__file__).parents[1] / "engine" / "plugins" / "toy"
KILLS, HOSTS = 200, 40
"""How many kills there are, and how many of them hit the host and all that is below it."""
SEEDS = 60


class Hunt:
    """Starts one command again and again, and kills it or its workers."""

    def __init__(self, folder):
        self.folder = folder
        words = ["run", "--plugin", "toy-slow[seconds=0.02]", "--task", "toy-one", "--seeds", str(SEEDS), "--force"]
        self.command = [sys.executable, "-m", "benchsuite.cli.main", *words, "--jobs", "2", "--plugin-path", str(TOY)]
        self.environment = {**os.environ, "BENCHSUITE_CACHE": str(folder / "cache"), "TMPDIR": str(folder)}
        self.host = None

    def start(self, *, force):
        command = [word for word in self.command if force or word != "--force"]
        with (self.folder / "log").open("ab") as log:
            self.host = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )

    def running(self):
        return self.host is not None and self.host.poll() is None

    def kill_host(self):
        # Workers have sessions of their own, and are to end with their host by themselves.
        self.host.kill()
        self.host.wait()

    def kill_worker(self, draw):
        with contextlib.suppress(psutil.Error):
            below = psutil.Process(self.host.pid).children()
            workers = [each for each in below if "spawn_main" in " ".join(each.cmdline())]
            if workers:
                os.kill(draw.choice(workers).pid, signal.SIGKILL)
                return True
        return False


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_two_hundred_kills_lose_and_duplicate_nothing(tmp_path):
    draw, hunt = random.Random(0), Hunt(tmp_path)
    moments = [True] * HOSTS + [False] * (KILLS - HOSTS)
    draw.shuffle(moments)
    for host in moments:
        while True:
            if not hunt.running():
                hunt.start(force=True)  # what is done is done again: each attempt leaves its record
                time.sleep(draw.uniform(0.5, 1.5))
            time.sleep(draw.uniform(0.0, 0.15))
            if host and hunt.running():
                hunt.kill_host()
                break
            if not host and hunt.kill_worker(draw):
                break
    if hunt.running():
        hunt.host.wait(timeout=300)
    for _ in range(5):  # whatever is not ok yet
        hunt.start(force=False)
        if hunt.host.wait(timeout=300) == 0:
            break
    store = read_store(tmp_path / "leaderboards")
    latest = store.latest().values()
    assert Counter(record.status for record in latest) == {"ok": 2 * SEEDS}
    # A run that was killed in the middle of a line loses that line, and says so.
    assert all("it is no record" in problem for problem in store.problems)
    once = Counter((record.run, record.cell) for record in store.cells)
    assert set(once.values()) == {1}
    assert {record.status for record in store.cells} <= {"ok", "crashed"}
    hunt.start(force=False)
    assert hunt.host.wait(timeout=300) == 0
    assert len(read_store(tmp_path / "leaderboards").cells) == len(store.cells)
    time.sleep(1)
    assert [each for each in psutil.process_iter(["environ"]) if _ours(each, tmp_path)] == []


def _ours(process, folder):
    return (process.info["environ"] or {}).get("TMPDIR") == str(folder)
