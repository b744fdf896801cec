"""What quantization costs: TopGQ beside Degree-Quant and plain quantization-aware training, in FP32 forwards.

All methods quantize the same FP32 model in one process on one thread; every timed call stands between two
measurements of the FP32 full-graph forward (``benchsuite.tasks.timing``). Seconds differ between machines, so what is
printed first are ratios::

    python benchmarks/quantization_time.py             # cora-gcn where BENCHSUITE_DATA is set, else digits-knn-gcn
    python benchmarks/quantization_time.py --check     # exit code 1 where a goal is missed
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from benchsuite.contracts.cards import MethodCard
    from benchsuite.contracts.task import MethodSpec
    from benchsuite.tasks.bench import Bench, Outcome
    from benchsuite.tasks.timing import Timing

PLUGINS = Path(__file__).parents[1] / "plugins"
#: Plugin folder, its package, the method's name.
RIVALS = (
    ("qat", "benchsuite_qat", "qat-ema"),
    ("degree-quant", "benchsuite_degree_quant", "degree-quant"),
)
FORWARDS = 10.0
"""Goal: TopGQ costs at most that many FP32 forwards, TopPIN and calibration included."""
TIMES_CHEAPER = 100.0
"""Goal: Degree-Quant costs at least that many times what TopGQ costs."""
REPEATS = 25
"""Calls behind each median of the breakdown."""


def card(folder: str, package: str, name: str) -> MethodCard:
    """Return the card of method ``name`` and make its plugin importable."""
    import importlib

    sys.path.insert(0, str(PLUGINS / folder))
    cards: list[MethodCard] = importlib.import_module(package).benchsuite_methods()
    return next(found for found in cards if found.name == name)


def spec(found: MethodCard, bits: int) -> MethodSpec:
    """Return the method with its defaults and ``bits``."""
    from benchsuite.contracts.task import MethodSpec

    return MethodSpec(found.name, found.target, found.resolve({"bits": bits}), found.version)


def bench(task: str, method: MethodSpec, data: Path | None, cache: Path, seed: int) -> Bench:
    """Return the cell of ``method`` on ``task``, ready to be timed."""
    import torch

    from benchsuite.contracts.task import CellInput, Places
    from benchsuite.tasks.bench import Bench
    from benchsuite.tasks.cards import TASKS
    from benchsuite.tasks.quantization import NodeQuantization
    from benchsuite.tasks.view import read_view

    found = next(each for each in TASKS if each.name == task)
    runner = NodeQuantization(found)
    view = runner.prepare(Places(data=data, cache=cache)).view
    cell = CellInput(view, cache, seed, {"quantizer": method})
    return Bench(found.protocol, runner.recipe, cell, read_view(view), torch.device("cpu"))


def measure(on: Bench) -> Timing[Outcome]:
    """Time the method between FP32 forwards."""
    from benchsuite.tasks.timing import interleave

    return interleave(on.forward, on.quantize, on.device)


def breakdown(on: Bench) -> dict[str, float]:
    """Return the median milliseconds of each phase of TopGQ."""
    method: Any = on.cell.methods["quantizer"].make()
    runs: list[dict[str, float]] = []
    for _ in range(REPEATS):
        method.quantize(on.job())
        runs.append(method.seconds)
    return {phase: 1e3 * statistics.median(run[phase] for run in runs) for phase in runs[0]}


def report(title: str, timing: Timing[Outcome], topgq: float) -> None:
    """Print one method's line."""
    click.echo(
        f"  {title:<14}{timing.cost_ratio:>12.1f} forwards {timing.cost_ratio / topgq:>10.1f} x TopGQ "
        f"{timing.seconds:>12.4f} s   n={len(timing.call)}, drift {timing.drift:.2f}"
    )


@click.command()
@click.option("--task", help="A node-quantization task; by default cora-gcn, or digits-knn-gcn without real data.")
@click.option("--bits", default=8, show_default=True, type=click.IntRange(2, 8))
@click.option("--seed", default=0, show_default=True)
@click.option("--check", is_flag=True, help="Exit with code 1 where a goal is missed.")
def main(task: str | None, bits: int, seed: int, check: bool) -> None:
    """Print what TopGQ, Degree-Quant and QAT cost on one task, and where TopGQ's time goes."""
    import torch

    torch.set_num_threads(1)
    root = os.environ.get("BENCHSUITE_DATA")
    task = task or ("cora-gcn" if root else "digits-knn-gcn")
    topgq = spec(card("topgq", "benchsuite_topgq", "topgq"), bits)
    with tempfile.TemporaryDirectory() as folder:
        cache, data = Path(folder), Path(root) if root else None
        mine = bench(task, topgq, data, cache, seed)
        first = measure(mine)
        timings = {
            name: measure(bench(task, spec(card(where, package, name), bits), data, cache, seed))
            for where, package, name in RIVALS
        }
        again = measure(mine)  # at both ends of the run: a machine that slowed down in between would show
        phases = breakdown(mine)
    cost = max(first.cost_ratio, again.cost_ratio)
    click.echo(f"{task}, INT{bits}, seed {seed}, one thread; FP32 forward {1e3 * again.forward_seconds:.2f} ms")
    report("topgq", first, cost)
    for name, timing in timings.items():
        report(name, timing, cost)
    report("topgq again", again, cost)
    _explain(phases, first.results[0].diagnostics)
    sys.exit(_goals(cost, timings["degree-quant"].cost_ratio / cost) if check else 0)


def _explain(phases: dict[str, float], told: dict[str, Any]) -> None:
    total = sum(phases.values())
    click.echo(f"where TopGQ's {total:.2f} ms go (medians of {REPEATS}):")
    for phase, milliseconds in sorted(phases.items(), key=lambda item: -item[1]):
        click.echo(f"  {phase:<20}{milliseconds:>8.2f} ms {100 * milliseconds / total:>5.0f} %")
    click.echo(
        f"{told['groups']} groups, {told['groups_per_node']:.3f} per node, {told['singleton_groups']} of one node; "
        f"group parameters take {told['parameter_bytes']} bytes"
    )


def _goals(forwards: float, cheaper: float) -> int:
    met = {
        f"at most {FORWARDS:g} forwards": forwards <= FORWARDS,
        f"Degree-Quant at least {TIMES_CHEAPER:g} times dearer": cheaper >= TIMES_CHEAPER,
    }
    for goal, kept in met.items():
        click.echo(f"{'met   ' if kept else 'MISSED'}  {goal}")
    return 0 if all(met.values()) else 1


if __name__ == "__main__":
    main()
