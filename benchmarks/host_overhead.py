"""What the suite adds to a cell beyond the method's own time, with a warm worker.

Runs a task that does next to nothing, many times, in a worker process, and prints the median of what a cell costs
apart from ``Task.run``, and where it goes::

    python benchmarks/host_overhead.py [--cells 200] [--limit 20]

Exit code 1 where the median is above the limit (milliseconds).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchsuite.contracts.task import Places
from benchsuite.engine.executors import LocalExecutor
from benchsuite.engine.plan import make_plan
from benchsuite.engine.prepare import prepare
from benchsuite.engine.reporter import Silent
from benchsuite.engine.run import Job, run
from benchsuite.engine.selection import Request, select
from benchsuite.host import HostOptions, load_catalogue
from benchsuite.store import RunWriter, read_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from benchsuite.engine.cells import Cell
    from benchsuite.engine.payload import Outcome, Payload

#: Cells that are left out of the median: the first ones start the worker and import.
WARM_UP = 5

PROJECT = """\
[project]
name = "benchsuite-nothing"
version = "1"
description = "Does nothing, to be timed."
dependencies = ["benchsuite"]

[project.entry-points.benchsuite]
nothing = "benchsuite_nothing"
"""

CARDS = """\
from benchsuite.plugin import MethodCard, Metric, TaskCard, hookimpl


@hookimpl
def benchsuite_methods():
    target = "benchsuite_nothing.code:Nothing"
    return [MethodCard(name="nothing", kind="quantizer", target=target, summary="Does nothing.")]


@hookimpl
def benchsuite_tasks():
    return [
        TaskCard(
            name="nothing-task",
            target="benchsuite_nothing.code:Task",
            summary="A thousand answers.",
            factors=("quantizer",),
            dataset="none",
            protocol="nothing/1",
            metrics=(Metric(name="accuracy", unit="%"),),
            reference={"quantizer": "nothing"},
        )
    ]
"""

CODE = """\
import numpy as np

from benchsuite.plugin import CellOutput, Prepared


class Nothing:
    pass


class Task:
    def __init__(self, card):
        self.card = card

    def prepare(self, places):
        labels = np.arange(1000)
        np.save(places.cache / "view.npy", labels)
        return Prepared(places.cache / "view.npy", "hash", {"test": labels})

    def run(self, cell):
        cell.methods["quantizer"].make()
        return CellOutput({"test": np.arange(1000)}, {"seconds": 1.0}, {"seconds": [1.0] * 20}, {"note": "x" * 200})

    def score(self, prepared, output):
        return {"accuracy": 100.0 * float((output.predictions["test"] == prepared.held_out["test"]).mean())}
"""

Spans = dict[str, list[float]]


class TimedExecutor:
    """The local executor, with the time from asking for a cell's payload to having its outcome."""

    def __init__(self, spans: Spans) -> None:
        self.inner = LocalExecutor(jobs=1, timeout=60)
        self.spans = spans

    def run(self, payloads: Iterable[Payload]) -> Iterator[tuple[Payload, Outcome]]:
        """Yield what the local executor yields."""
        asked: list[float] = []

        def stamped() -> Iterator[Payload]:
            for payload in payloads:
                asked.append(time.perf_counter())
                yield payload

        for payload, outcome in self.inner.run(stamped()):
            self.spans["scheduling"].append(time.perf_counter() - asked[-1] - outcome.seconds)
            yield payload, outcome


class Cycles(Silent):
    """A reporter that takes the time from the start of a cell to the start of the next."""

    def __init__(self, spans: Spans) -> None:
        self.spans = spans
        self.last = time.perf_counter()
        self.inside = 0.0

    def started(self, cell: Cell) -> None:
        """Close the cycle of the cell before."""
        now = time.perf_counter()
        self.spans["total"].append(now - self.last - self.inside)
        self.last = now

    def finished(self, cell: Cell, record: Any) -> None:
        """Keep the time inside the task: it is not the suite's."""
        self.inside = record.seconds


def timed(owner: Any, name: str, log: list[float]) -> None:
    """Let every call of ``owner.name`` leave its duration in ``log``."""
    inner: Callable[..., Any] = getattr(owner, name)

    def outer(*args: Any, **kwargs: Any) -> Any:
        clock = time.perf_counter()
        try:
            return inner(*args, **kwargs)
        finally:
            log.append(time.perf_counter() - clock)

    setattr(owner, name, outer)


def write_plugin(folder: Path) -> None:
    """Write the plugin that does nothing."""
    package = folder / "benchsuite_nothing"
    package.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PROJECT)
    (package / "__init__.py").write_text(CARDS)
    (package / "code.py").write_text(CODE)


def measure(folder: Path, cells: int) -> Spans:
    """Run the cells in ``folder`` and return the seconds of each part, warm ones only."""
    write_plugin(folder / "plugin")
    catalogue = load_catalogue(HostOptions(plugin_paths=(folder / "plugin",)))
    selected = select(catalogue, Request(("nothing",), ("nothing-task",), seeds=cells))
    (folder / "cache").mkdir()
    ready, skipped = prepare(selected, Places(None, folder / "cache"), Silent())
    plan = make_plan([cell for each in ready for cell in each.cells], {})
    spans: Spans = defaultdict(list)
    for each in ready:
        timed(each.task, "score", spans["scoring"])
    timed(RunWriter, "append", spans["record"])
    job = Job(ready, plan, TimedExecutor(spans), catalogue, folder / "out", folder / "cache", skipped)
    summary = run(job, Cycles(spans))
    if not summary.complete or len(read_store(folder / "out").cells) != cells:
        raise SystemExit("the cells did not run")
    return {name: values[WARM_UP:] for name, values in spans.items()}


def main() -> int:
    """Print the medians and compare the total with the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=200)
    parser.add_argument("--limit", type=float, default=20.0, help="milliseconds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spans = measure(Path(folder), options.cells)
    medians = {name: 1000 * statistics.median(values) for name, values in spans.items()}
    parts = ("scheduling", "scoring", "record")
    medians["other"] = medians["total"] - sum(medians[part] for part in parts)
    for name in (*parts, "other", "total"):
        print(f"{name:10s} {medians[name]:7.2f} ms a cell")
    worst = 1000 * statistics.quantiles(spans["total"], n=20)[-1]
    print(f"95th percentile of the total {worst:.2f} ms; limit of the median {options.limit:g} ms")
    return 0 if medians["total"] <= options.limit else 1


if __name__ == "__main__":
    sys.exit(main())
