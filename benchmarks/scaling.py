"""What a second worker brings: the same accuracy cells on one worker and on two, in turns.

Each round runs the same cells (quantization-aware training on the bundled digits, one thread per cell, the FP32 models
in the cache already) with ``--jobs 1`` and with ``--jobs 2``, workers warm, and prints the ratio of the times::

    python benchmarks/scaling.py [--rounds 3] [--cells 8]
    python benchmarks/scaling.py --check     # exit code 1 where the median ratio is below 1.8

A machine with fewer than two free cores cannot show it: beside the ratio stands how busy others kept the machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import psutil

from benchsuite.contracts.task import Places
from benchsuite.engine.local import LocalExecutor
from benchsuite.engine.plan import make_plan
from benchsuite.engine.prepare import prepare
from benchsuite.engine.reporter import Silent
from benchsuite.engine.run import Job, run
from benchsuite.engine.selection import Request, select
from benchsuite.host import Catalogue, HostOptions, load_catalogue

GOAL = 1.8
"""Two workers should be at least that many times as fast as one."""


class Timed(Silent):
    """Takes the time from the first result to the last: workers start and import before it."""

    def __init__(self) -> None:
        self.at: list[float] = []

    def finished(self, cell: object, record: object) -> None:
        """Keep the moment."""
        self.at.append(time.perf_counter())


def seconds_per_cell(catalogue: Catalogue, folder: Path, jobs: int, cells: int) -> float:
    """Run the cells with ``jobs`` workers and return the time between results, the workers' first ones left out."""
    request = Request(("qat/qat-minmax[bits=8]",), ("digits-knn-gcn",), seeds=cells + jobs)
    ready, skipped = prepare(select(catalogue, request), Places(None, folder / "cache"), Silent())
    wanted = [cell for each in ready for cell in each.cells if "qat" in cell.label]
    reporter = Timed()
    out = folder / f"out-{time.monotonic_ns()}"
    plan = make_plan(wanted, {})
    summary = run(Job(ready, plan, LocalExecutor(jobs), catalogue, out, folder / "cache", skipped), reporter)
    if not summary.complete:
        raise SystemExit(f"the cells did not run: {dict(summary.counts)}")
    # Each worker's first cell imports torch.
    return (reporter.at[-1] - reporter.at[jobs - 1]) / (len(reporter.at) - jobs)


def main() -> int:
    """Print the ratios and compare their median with the goal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cells", type=int, default=8, help="of each measurement")
    parser.add_argument("--check", action="store_true", help="exit with 1 where the goal is missed")
    options = parser.parse_args()
    catalogue = load_catalogue(HostOptions(builtins=("benchsuite.tasks.builtin",)))
    ratios = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds_per_cell(catalogue, folder, 2, options.cells)  # fills the cache of FP32 models
        for number in range(1, options.rounds + 1):
            psutil.cpu_percent()
            one = seconds_per_cell(catalogue, folder, 1, options.cells)
            busy = max(0.0, psutil.cpu_percent() * psutil.cpu_count() / 100 - 1)
            two = seconds_per_cell(catalogue, folder, 2, options.cells)
            ratios.append(one / two)
            print(f"round {number}: {one:.2f} s a cell on one worker, {two:.2f} s on two: {one / two:.2f}", end="")
            print(f"  ({busy:.1f} cores were busy with other work)")
    median = statistics.median(ratios)
    print(f"two workers are {median:.2f} times as fast as one; goal {GOAL:g}, {psutil.cpu_count()} cores")
    return int(options.check and median < GOAL)


if __name__ == "__main__":
    sys.exit(main())
