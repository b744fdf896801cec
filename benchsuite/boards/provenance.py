"""Where a board's numbers come from: records, protocols, seeds, hardware."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any

from benchsuite.boards.markdown import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from benchsuite.boards.board import Board
    from benchsuite.store import Store


def provenance(board: Board, store: Store) -> list[str]:
    """Return the lines of the footer, as Markdown."""
    counted = board.counted
    protocols = sorted({recipe.key["protocol"] for recipe in counted.recipes})
    lines = [
        f"Records: {len(counted.records)} counted (hash `{counted.fingerprint}`), {counted.stale} stale and left out; "
        f"{len(store.problems)} problems in the store.",
        f"Newest record: {escape(counted.newest)}.",
        f"Protocol: {', '.join(map(escape, protocols))}.",
        f"Seeds: {spans(seed for task in board.tasks for seed in task.seeds)}.",
    ]
    hardware: Counter[str] = Counter()
    for env, number in Counter([record.env for record in counted.records]).items():
        hardware[_hardware(store.envs.get(env))] += number
    return lines + [f"Hardware of {number} records: {escape(line)}." for line, number in sorted(hardware.items())]


def spans(numbers: Iterable[int]) -> str:
    """Return whole numbers as ranges: ``0-4, 7``."""
    ordered = sorted(set(numbers))
    runs = [[n for _, n in run] for _, run in groupby(enumerate(ordered), key=lambda pair: pair[1] - pair[0])]
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _hardware(env: Mapping[str, Any] | None) -> str:
    if env is None:
        return "not known (their environment line is missing)"
    packages = env.get("packages")
    torch = packages.get("torch") if isinstance(packages, dict) else None
    parts = [str(env.get("cpu") or "a CPU that is not named"), f"threads per cell: {env.get('threads', 'not known')}"]
    return ", ".join([*parts, f"torch {torch}"] if torch else parts)
