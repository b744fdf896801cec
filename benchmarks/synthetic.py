"""What a generated block model costs: seconds for a million edges at growing sizes, and against plain code.

Each size is generated in a process of its own, whose peak of memory is printed too::

    python benchmarks/synthetic.py [--edges 10000000]
    python benchmarks/synthetic.py --check     # exit code 1 where a million edges take twice the goal, or networkx wins

Plain code draws each pair of nodes from a table of probabilities (NumPy), or each edge in Python (networkx'
``expected_degree_graph``, which has the degrees and no classes). Both are given a graph that they can do.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from benchsuite.data.synthetic import Recipe, generate, weights

if TYPE_CHECKING:
    from collections.abc import Callable

GOAL = 1.0
"""Seconds of one core for a million undirected edges, at ten million of them."""
MEAN_DEGREE = 20.0
FEATURES = 32


def recipe(edges: int) -> Recipe:
    """Return a recipe with so many undirected edges."""
    return Recipe(nodes=round(edges * 2 / MEAN_DEGREE), classes=5, mean_degree=MEAN_DEGREE, features=FEATURES)


def peak() -> float:
    """Return the most memory that this process had, in GB; NaN where there is no /proc."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) / 1e6 if found else float("nan")


def measure(edges: int) -> tuple[float, float]:
    """Return seconds of one core, and GB beyond what the libraries take."""
    before, begin = peak(), time.process_time()
    generate(recipe(edges))
    return time.process_time() - begin, peak() - before


def pairwise(recipe: Recipe) -> int:
    """Draw each pair of nodes once, from a table of all probabilities; return the number of edges."""
    draw = np.random.default_rng(0)
    y, weight = np.arange(recipe.nodes) % recipe.classes, weights(recipe)
    same = y[:, None] == y
    share = np.where(same, recipe.homophily * recipe.classes, (1 - recipe.homophily) / (1 - 1 / recipe.classes))
    chance = np.outer(weight, weight) * share / weight.sum()
    edges = np.triu(draw.random(chance.shape) < chance, 1)
    draw.standard_normal((recipe.nodes, recipe.features))
    return int(edges.sum())


def by_networkx(recipe: Recipe) -> int:
    """Let networkx draw a graph with the same expected degrees; return the number of edges."""
    return int(nx.expected_degree_graph(weights(recipe), seed=0, selfloops=False).number_of_edges())


def seconds(work: Callable[[Recipe], object], wanted: Recipe) -> float:
    """Return the seconds of one core that ``work(wanted)`` takes; the better of two."""
    taken = []
    for _ in range(2):
        begin = time.process_time()
        work(wanted)
        taken.append(time.process_time() - begin)
    return min(taken)


def main() -> int:
    """Print the figures and compare them with the goals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=10_000_000, help="undirected edges of the largest graph")
    parser.add_argument("--check", action="store_true", help="exit with 1 where a goal is missed by far")
    options = parser.parse_args()
    sizes = [size for size in (100_000, 1_000_000, 10_000_000) if size < options.edges] + [options.edges]
    each = float("nan")
    for size in sizes:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            taken, memory = pool.apply(measure, (size,))
        each = taken / size * 1e6
        print(f"{size:>11,} edges: {taken:6.2f} s of one core, {each:.2f} s a million, {memory:.2f} GB", flush=True)
    print(f"goal at the largest: {GOAL:g} s a million")
    ratios = []
    for name, plain, size in (("NumPy, all pairs", pairwise, 60_000), ("networkx, no classes", by_networkx, 200_000)):
        wanted = recipe(size)
        ours, theirs = seconds(generate, wanted), seconds(plain, wanted)
        ratios.append(theirs / ours)
        print(f"{name}, {size:,} edges: {theirs:.2f} s; here {ours:.2f} s, {theirs / ours:.1f} times as fast")
    return int(options.check and (each > 2 * GOAL or min(ratios) < 1))


if __name__ == "__main__":
    sys.exit(main())
