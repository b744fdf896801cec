"""What training an FP32 model costs, beside PyTorch Geometric's own examples.

One epoch is one step (or one pass over the batches) and one forward that validates. Ours is ``train``, the rivals are
the loops of PyG's ``examples/gcn.py`` and ``gat.py``, of OGB's ``examples/nodeproppred/arxiv`` and of PyG's
``benchmark/kernel``, on the same data with the same widths: ``pyg`` hands its layers an ``edge_index``, so that they
gather and scatter messages; ``pyg-csr`` a sparse tensor. Every side is a process of its own with one thread; they take
turns, only one works at a time, and what counts is the ratio of neighbours' CPU time, which other work on the machine
disturbs least (on an idle one it is the wall time, that stands beside it)::

    python benchmarks/fp32_training.py                    # all cases; BENCHSUITE_DATA says where Cora and PROTEINS lie
    python benchmarks/fp32_training.py --case cora-gcn    # one of them
    python benchmarks/fp32_training.py --check            # exit code 1 where a goal is missed

By default every large tensor comes from the kernel page by page and goes back after the operation that read it. Sides
with ``+keep`` tell glibc's allocator to keep such blocks, those with ``+huge`` let torch ask for pages of 2 MiB.
Memory is the peak of the resident set above what it was with everything imported and the data loaded. Beside it stands
the largest tensor that any operation made, and what all messages of the widest layer would take (entries x features).
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import statistics
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from fp32_sides import HUGE, KEEP, ON_GRAPHS, Case, graph_data, node_data, our_graphs, our_nodes, pyg_graphs, pyg_nodes

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from fp32_sides import Train

GOAL = 1.0
"""An epoch of ours takes at most that many of the rival's."""
MIB = 2**20


_PLANETOID: dict[str, Any] = {"hidden": 16, "layers": 2, "dropout": 0.5}
_ARXIV: dict[str, Any] = {"hidden": 256, "layers": 3, "dropout": 0.5, "norm_between": True}
CASES: dict[str, Case] = {
    "cora-gcn": Case("cora", "gcn", _PLANETOID, weight_decay=(5e-4, 0.0)),
    "cora-sage": Case("cora", "sage", _PLANETOID),
    "cora-gin": Case("cora", "gin", _PLANETOID, lr=0.005),
    "cora-gat": Case("cora", "gat", {"hidden": 8, "layers": 2, "heads": 8, "dropout": 0.6}, lr=0.005, rivals=("pyg",)),
    "pubmed-gcn": Case("pubmed", "gcn", _PLANETOID, weight_decay=(5e-4, 0.0), rounds=9, epochs=3),
    "arxiv-gcn": Case("arxiv", "gcn", _ARXIV, weight_decay=(0.0,), rounds=3, epochs=1, forwards=1),
    "arxiv-sage": Case("arxiv", "sage", _ARXIV, weight_decay=(0.0,), rounds=3, epochs=1, forwards=1),
    "proteins-gin": Case(
        "proteins",
        "gin",
        {"hidden": 64, "layers": 3, "dropout": 0.5},
        weight_decay=(0.0,),
        rounds=9,
        epochs=1,
        rivals=("pyg",),
    ),
}


class Sizes(NamedTuple):
    """Of a graph."""

    nodes: int
    features: int
    edges: int


def data_of(name: str, folder: Path) -> tuple[Path, Sizes]:
    """Return the file with the data of a case, made where it is not there, and its sizes.

    It is made in a process of its own: a process begins with the peak memory of the one that started it.
    """
    file = folder / f"{name}.pt"
    if not file.exists():
        maker = multiprocessing.get_context("spawn").Process(target=write_data, args=(name, file))
        maker.start()
        maker.join()
        if maker.exitcode:
            raise SystemExit(f"the data of {name!r} could not be made")
    return file, Sizes(*json.loads(file.with_suffix(".json").read_text()))


def write_data(name: str, file: Path) -> None:
    """Make the data of a case and leave it in a file, its sizes beside it."""
    import torch

    root = os.environ.get("BENCHSUITE_DATA")
    place = Path(root) if root else None
    data = graph_data(place) if name in ON_GRAPHS else node_data(name, place)
    torch.save(data, file)
    sizes = Sizes(*data["x"].shape, data["edge_index"].shape[1])
    file.with_suffix(".json").write_text(json.dumps(sizes))


def keep_memory() -> None:
    """Let glibc serve large blocks from its heap, and never give the heap's end back."""
    import ctypes

    mallopt = ctypes.CDLL(None).mallopt
    m_trim_threshold, m_mmap_max = -1, -4
    if not (mallopt(m_mmap_max, 0) and mallopt(m_trim_threshold, 2**31 - 1)):
        raise SystemExit("this C library has no such allocator: leave out the sides with +keep")


def largest_tensor(train: Train) -> int:
    """Return the bytes of the largest tensor that any operation of one epoch returned, gradients included."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Largest(TorchDispatchMode):
        found = 0

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = function(*args, **(kwargs or {}))
            dense = (each for each in tree_leaves(out) if getattr(each, "layout", None) is torch.strided)
            self.found = max(self.found, *(each.numel() * each.element_size() for each in dense), 0)
            return out

    with Largest() as mode:
        train(1)
    return mode.found


def serve(case: Case, side: str, file: Path, calls: Connection) -> None:
    """Be one side: do what is asked for and answer with (CPU seconds, wall seconds) of one, or with bytes."""
    warnings.simplefilter("ignore")
    if side.endswith(KEEP):
        keep_memory()
    if side.endswith(HUGE):
        os.environ["THP_MEM_ALLOC_ENABLE"] = "1"  # read by torch's first allocation
    side = side.partition("+")[0]
    import torch
    import torch_geometric  # noqa: F401  (also where it is not used: the baseline is the same for all)

    torch.set_num_threads(1)
    data = torch.load(file, weights_only=True)
    torch.manual_seed(0)
    if case.data in ON_GRAPHS:
        train, forward = our_graphs(case, data) if side == "ours" else pyg_graphs(case, data)
    else:
        train, forward = our_nodes(case, data) if side == "ours" else pyg_nodes(case, data, side == "pyg-csr")
    before = _peak()
    largest = largest_tensor(train)  # warms up
    calls.send("ready")
    while (call := calls.recv()) is not None:
        if call == "memory":
            calls.send((_peak() - before, largest))
            continue
        what, number = call
        cpu, wall = time.process_time(), time.perf_counter()
        if what == "epochs":
            train(number)
        else:
            for _ in range(number):
                forward()
        calls.send(((time.process_time() - cpu) / number, (time.perf_counter() - wall) / number))


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@dataclass
class Side:
    """A process that trains when asked, and what it measured."""

    case: Case
    name: str
    file: Path
    epochs: list[tuple[float, float]] = field(default_factory=list)
    forwards: list[tuple[float, float]] = field(default_factory=list)
    peak: int = 0
    largest: int = 0

    def __post_init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.calls, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(self.case, self.name, self.file, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self._answer()  # that it is ready: no two sides warm up at the same time

    def ask(self, call: object) -> Any:
        """Return the answer of the process."""
        self.calls.send(call)
        return self._answer()

    def _answer(self) -> Any:
        try:
            return self.calls.recv()
        except EOFError:
            raise SystemExit(f"{self.name} ended before its answer") from None

    def turn(self) -> None:
        """Let it train and run forwards."""
        self.epochs.append(self.ask(("epochs", self.case.epochs)))
        self.forwards.append(self.ask(("forwards", self.case.forwards)))

    def close(self) -> None:
        """Take the memory's figures and end the process."""
        self.peak, self.largest = self.ask("memory")
        self.calls.send(None)
        self.process.join()


def ratio(ours: list[tuple[float, float]], other: list[tuple[float, float]], which: int = 0) -> float:
    """Return the median over the rounds of ours / other: of CPU seconds (0) or wall seconds (1)."""
    return statistics.median(mine[which] / theirs[which] for mine, theirs in zip(ours, other, strict=True))


def measure(case: Case, names: tuple[str, ...], rounds: int, file: Path) -> dict[str, Side]:
    """Let the sides of a case take turns, beginning with another one in each round."""
    sides = {name: Side(case, name, file) for name in names}
    for number in range(rounds):
        start = number % len(names)
        for name in names[start:] + names[:start]:
            sides[name].turn()
    for side in sides.values():
        side.close()
    return sides


def report(name: str, case: Case, sides: dict[str, Side], sizes: Sizes) -> None:
    """Print one line for each side; ratios are ours / that side."""
    entries = sizes.edges + sizes.nodes * (case.backbone != "sage")
    width = case.options["hidden"] * case.options.get("heads", 1)
    click.echo(
        f"{name}: {sizes.nodes:,} nodes x {sizes.features:,} features, {sizes.edges:,} edges; "
        f"{case.backbone} {case.options}; E x F = {entries:,} x {width} = {4 * entries * width / MIB:,.1f} MiB"
    )
    click.echo("  side          ours/it, CPU   (quartiles)    wall  forward   ms/epoch  peak MiB  largest tensor MiB")
    ours = sides["ours"]
    for side in sides.values():
        each = sorted(mine[0] / its[0] for mine, its in zip(ours.epochs, side.epochs, strict=True))
        click.echo(
            f"  {side.name:<13} {ratio(ours.epochs, side.epochs):>12.3f}   {each[len(each) // 4]:.2f} to "
            f"{each[-1 - len(each) // 4]:.2f}  {ratio(ours.epochs, side.epochs, 1):>7.3f}  "
            f"{ratio(ours.forwards, side.forwards):>7.3f} {1e3 * statistics.median(s for s, _ in side.epochs):>10.2f} "
            f"{side.peak / MIB:>9.0f} {side.largest / MIB:>9.1f}"
        )


@click.command()
@click.option("--case", "wanted", multiple=True, type=click.Choice(list(CASES)), help="By default all.")
@click.option("--side", "only", multiple=True, help="Leave the other rivals of ours out.")
@click.option("--rounds", type=click.IntRange(1), help="In place of the case's own number.")
@click.option("--check", is_flag=True, help="Exit with code 1 where a goal is missed.")
def main(wanted: tuple[str, ...], only: tuple[str, ...], rounds: int | None, check: bool) -> None:
    """Print what an epoch of each side costs, as ratios, and its memory."""
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted or tuple(CASES):
            case = CASES[name]
            file, sizes = data_of(case.data, Path(folder))
            names = tuple(side for side in case.sides if side == "ours" or not only or side in only)
            sides = measure(case, names, rounds or case.rounds, file)
            report(name, case, sides, sizes)
            missed += goals(case, sides, sizes)
    sys.exit(1 if check and missed else 0)


def goals(case: Case, sides: dict[str, Side], sizes: Sizes) -> int:
    """Print which goals are met and return how many are not."""
    told = {}
    for rival in ("pyg", "pyg-csr"):
        if rival in sides:
            told[f"at most {GOAL:g} epochs of {rival}"] = ratio(sides["ours"].epochs, sides[rival].epochs) <= GOAL
    if case.data == "arxiv":
        messages = 4 * sizes.edges * case.options["hidden"]
        told["no tensor of the size of all messages"] = sides["ours"].largest < messages
    for goal, kept in told.items():
        click.echo(f"  {'met   ' if kept else 'MISSED'}  {goal}")
    return sum(not kept for kept in told.values())


if __name__ == "__main__":
    main()
