"""What the store costs: appending a record, and reading a hundred thousand of them into a board.

In one run it prints

* the time of an append over that of a bare write and fsync of the same line, interleaved, in one folder;
* the seconds from run files on the disk to a board and its page, from the index and without it.

::

    python benchmarks/store.py [--records 100000] [--folder WHERE]
    python benchmarks/store.py --check     # exit code 1 where a goal is missed

The goals are 1.5 for the ratio, and 2 and 10 seconds for 100,000 records. The records are as large as published ones
(1.7 kB) and lie in 20 runs; their board has 40 tasks with 25 competitors of 100 seeds each. Beside the seconds stands
the processor time: where the two differ much, the machine was busy with other work.
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchsuite.boards.board import make_board
from benchsuite.boards.page import page_text
from benchsuite.contracts.cards import MethodCard, Metric, TaskCard
from benchsuite.host import Catalogue, LoadedPlugin, PluginInfo
from benchsuite.plugin import bits_parameter
from benchsuite.store import CellRecord, RunWriter, read_store
from benchsuite.store.index import build, folder_of
from benchsuite.store.records import EnvLine, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

APPEND, INDEXED, PLAIN = 1.5, 2.0, 10.0
TASKS, METHODS, WIDTHS, RUNS = 40, 6, (8, 6, 4, 2), 20
ENV = EnvLine(env={"cpu": "a CPU", "threads": 1, "packages": {"torch": "2.5"}}).sealed()


def cards() -> tuple[list[TaskCard], list[MethodCard]]:
    """Return the tasks, and the reference and the methods."""
    methods = [MethodCard(name="fp32", kind="quantizer", target="m:C", summary="The reference.")]
    methods += [
        MethodCard(name=f"m{n}", kind="quantizer", target="m:C", summary="One.", parameters=(bits_parameter(),))
        for n in range(METHODS)
    ]
    tasks = [
        TaskCard(
            name=f"task-{n}",
            target="t:T",
            summary="A task",
            factors=("quantizer",),
            dataset="graph",
            protocol="node-quantization/1",
            metrics=(Metric(name="accuracy", unit="%"),),
            config={"number": n},
            reference={"quantizer": "fp32"},
            seeds=20,
        )
        for n in range(TASKS)
    ]
    return tasks, methods


def catalogue() -> Catalogue:
    """Return the cards as if a plugin offered them."""
    tasks, methods = cards()
    info = PluginInfo("bench", "1", "path", "bench", None, None, "")
    return Catalogue([LoadedPlugin(info, methods=tuple(methods), tasks=tuple(tasks))])


def keys(seeds: int) -> Iterator[dict[str, Any]]:
    """Return the keys of all cells."""
    tasks, methods = cards()
    for task in tasks:
        shared = {"task": task.name, "task_version": task.version, "config": digest(dict(task.config))}
        shared |= {"data": "d" * 64, "protocol": task.protocol, "device": "cpu"}
        for method in methods:
            for params in [{"bits": bits} for bits in WIDTHS] if method.parameters else [{}]:
                ref = {"name": method.name, "version": method.version, "params": method.resolve(params)}
                yield from ({**shared, "seed": seed, "methods": {"quantizer": ref}} for seed in range(seeds))


def record(key: dict[str, Any], number: int, draw: random.Random) -> CellRecord:
    """Return a record as large as those of a real run."""
    run = key["seed"] % RUNS
    names = ("agreement", "cost_ratio", "drift", "logit_mse", "quantization_seconds", "reference_forward_seconds")
    sites = [f"layers.{layer}.{site}" for layer in (0, 1) for site in ("aggregation", "combination")]
    return CellRecord(
        run=f"20260102T03{run:02d}00Z-5bce98-{run:06x}",
        cell=digest(key),
        key=key,  # type: ignore[arg-type]
        status="ok",
        metrics={"accuracy": 70 + 10 * draw.random()},
        measurements={**{name: draw.random() for name in names}, "stored_bytes": 6e4, "reference_bytes": 237464.0},
        samples={name: [draw.random() / 100 for _ in range(7)] for name in names[-3:]},
        notes={"best_epoch": 112, "execution": dict.fromkeys(sites, "float"), "timing": "timing/1"},
        plugins={"quantizer": {"plugin": "bench", "source": "c" * 64, "version": "1"}},  # type: ignore[dict-item]
        env=ENV.hash,
        started=f"2026-01-02T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}.000000+00:00",
        seconds=round(20 * draw.random(), 6),
        alone=True,
    )


def write(out: Path, seeds: int) -> int:
    """Write the runs, and return the number of records."""
    (out / "results").mkdir(parents=True)
    draw, files = random.Random(1), {}
    number = 0
    for number, key in enumerate(keys(seeds), start=1):
        made = record(key, number, draw)
        if made.run not in files:
            files[made.run] = (out / "results" / f"{made.run}.jsonl").open("w", encoding="utf-8")
            files[made.run].write(ENV.text())
        files[made.run].write(made.text())
    for file in files.values():
        file.close()
    return number


def append_ratio(folder: Path, lines: int) -> tuple[float, float]:
    """Return the median over pairs of an append's time over a bare write's, and the latter's median in ms."""
    draw, ours, bare = random.Random(2), [], []
    records = [record(key, n, draw) for n, key in zip(range(lines), keys(1), strict=False)]
    descriptor = os.open(folder / "bare", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with RunWriter(folder, "r") as writer:
        for each in records:
            text = each.text().encode()
            bare.append(seconds(lambda text=text: (os.write(descriptor, text), os.fsync(descriptor)))[0])
            ours.append(seconds(lambda each=each: writer.append(each))[0])
    os.close(descriptor)
    return statistics.median(a / b for a, b in zip(ours, bare, strict=True)), 1e3 * statistics.median(bare)


def seconds(work: Callable[[], Any]) -> tuple[float, float]:
    """Return how long ``work`` takes: by the clock, and in processor time."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


def board(out: Path, index: bool) -> tuple[float, float]:
    """Return the seconds, and those of the processor, from run files to the text of a page."""
    known = catalogue()

    def make() -> None:
        store = read_store(out, index=index)
        page_text(make_board(store, known, "quantizer"), store, known)

    return seconds(make)


@click.command()
@click.option("--records", type=click.IntRange(min=1000), default=100_000, show_default=True)
@click.option(
    "--folder", type=click.Path(file_okay=False, path_type=Path), help="Where files are written; else TMPDIR."
)
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True, help="The best of so many counts.")
@click.option("--check", is_flag=True, help="Exit with code 1 where a goal is missed.")
@click.pass_context
def main(ctx: click.Context, records: int, folder: Path | None, repeats: int, check: bool) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        ratio, bare = append_ratio(Path(name), 300)
        print(f"append over write and fsync   {ratio:7.2f}     (write and fsync: {bare:.2f} ms)      goal {APPEND:g}")
        out = Path(name) / "out"
        number = write(out, max(1, records // (TASKS * (1 + METHODS * len(WIDTHS)))))
        board(out, False)  # imports, and files into the cache of the operating system
        plain, index = min(board(out, False) for _ in range(repeats)), seconds(lambda: build(out / "results"))
        indexed = min(board(out, True) for _ in range(repeats))
        size = sum(path.stat().st_size for path in folder_of(out / "results").iterdir()) / 2**20
    print(f"{number} records into a board")
    print(f"  from the index              {indexed[0]:7.2f} s   (processor {indexed[1]:.2f} s)   goal {INDEXED:g}")
    print(f"  without                     {plain[0]:7.2f} s   (processor {plain[1]:.2f} s)   goal {PLAIN:g}")
    print(f"  making the index            {index[0]:7.2f} s   (processor {index[1]:.2f} s, {size:.0f} MiB)")
    missed = ratio > APPEND or indexed[0] > INDEXED or plain[0] > PLAIN
    ctx.exit(1 if check and missed else 0)


if __name__ == "__main__":
    main()
