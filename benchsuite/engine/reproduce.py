"""One recorded cell again, from its record alone: is what comes out the same?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from benchsuite.engine.cells import method_ref
from benchsuite.engine.handover import fingerprints, make_payload, score
from benchsuite.engine.plan import changes
from benchsuite.engine.prepare import prepare
from benchsuite.engine.selection import Selected
from benchsuite.errors import BenchsuiteError, StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchsuite.contracts.cards import Metric, TaskCard
    from benchsuite.contracts.task import Places
    from benchsuite.engine.cells import Cell
    from benchsuite.engine.executors import Executor
    from benchsuite.engine.prepare import Ready
    from benchsuite.engine.reporter import Reporter
    from benchsuite.host import Catalogue
    from benchsuite.store import Store
    from benchsuite.store.records import CellRecord

Verdict = Literal["bitwise", "within tolerance", "differs"]

_LONGEST_LIST = 5


class CellFailedError(BenchsuiteError):
    """The cell was run again and has no result this time."""


@dataclass(frozen=True)
class Comparison:
    """A record beside a second run of its cell."""

    metrics: Mapping[str, tuple[float, float]]
    """By name: recorded, and now."""
    outputs: Mapping[str, bool] | None
    """By name of what was scored: whether it is the same bits; None where the record is older than fingerprints."""
    verdict: Verdict
    """``bitwise``: metrics and outputs are the same bits. ``within tolerance``: each metric is the same to the digits
    that boards print."""


def find(store: Store, start: str) -> CellRecord:
    """Return the record that counts of the one cell whose id begins with ``start``.

    Raises:
        UsageError: no recorded cell begins so, or several do.
    """
    latest = store.latest()
    found = sorted(cell for cell in latest if cell.startswith(start.lower()))
    if not found:
        raise UsageError(f"no recorded cell begins with {start!r}", "benchsuite results export lists them all")
    if len(found) > 1:
        few = ", ".join(found[:_LONGEST_LIST]) + (" ..." if len(found) > _LONGEST_LIST else "")
        raise UsageError(f"{len(found)} cells begin with {start!r}: {few}", "Give more digits")
    return latest[found[0]]


def rebuild(record: CellRecord, catalogue: Catalogue, places: Places, reporter: Reporter) -> tuple[Cell, Ready]:
    """Return the cell of a record, and its task prepared, as a run of today would make them.

    Raises:
        UsageError: the record is not ok; task, method or parameter is not here any more; or a run of today would make
            another cell, because a version, the data, the configuration or the protocol has changed since.
        MissingDataError: the data is not here.
    """
    if record.status != "ok":
        raise UsageError(f"cell {record.cell} is {record.status}: there is no result to reproduce")
    key = record.key
    card = catalogue.task(key["task"])
    methods = {
        kind: method_ref(catalogue.method(key["methods"][kind]["name"]), _params(record, kind))
        for kind in card.factors
        if kind in key["methods"]
    }
    if set(methods) != set(key["methods"]):
        raise UsageError(f"task {card.name!r} takes {' x '.join(card.factors)} now, and did not when it was recorded")
    (ready,), _ = prepare([Selected(card, (methods,), (key["seed"],), explicit=True)], places, reporter)
    (cell,) = ready.cells
    if cell.id != record.cell:
        raise UsageError(
            f"cell {record.cell} cannot be run again as it was: {'; '.join(changes(key, cell.key()))}",
            "Check out the commit that benchsuite explain names, with the data of that time",
        )
    return cell, ready


def _params(record: CellRecord, kind: str) -> dict[str, str | int | float | bool]:
    params = record.key["methods"][kind]["params"]
    return {name: value for name, value in params.items() if isinstance(value, str | int | float | bool)}


def run_again(
    record: CellRecord, cell: Cell, ready: Ready, executor: Executor, catalogue: Catalogue, cache: Path
) -> Comparison:
    """Run the cell once more and compare.

    Args:
        record: what was recorded.
        cell: its cell, of :func:`rebuild`.
        ready: its task, of :func:`rebuild`.
        executor: where to run it.
        catalogue: knows the methods.
        cache: of trained models; an empty folder has everything trained anew.

    Raises:
        CellFailedError: it has no result this time.
        StoreError: the executor returned nothing.
    """
    outcomes = list(executor.run([make_payload(cell, ready, catalogue, cache)]))
    if not outcomes:
        raise StoreError("the executor returned no outcome")
    ((_, outcome),) = outcomes
    error = outcome.error
    metrics: dict[str, float] = {}
    if outcome.status == "ok":
        metrics, error = score(ready, cell, outcome)
    if error is not None or outcome.output is None:
        cause = outcome.status if error is None else f"{error.type}: {error.message}"
        raise CellFailedError(f"cell {record.cell} has no result this time: {cause}")
    return compare(record, metrics, fingerprints(outcome.output), ready.selected.card)


def compare(record: CellRecord, metrics: Mapping[str, float], outputs: Mapping[str, str], card: TaskCard) -> Comparison:
    """Return ``record`` beside the ``metrics`` and the fingerprints of the ``outputs`` of a second run."""
    same = {name: record.outputs.get(name) == outputs.get(name) for name in {*record.outputs, *outputs}}
    pairs = {metric.name: (record.metrics[metric.name], metrics[metric.name]) for metric in card.metrics}
    if record.outputs and all(same.values()) and all(old == new for old, new in pairs.values()):
        verdict: Verdict = "bitwise"
    elif all(_close(*pairs[metric.name], metric) for metric in card.metrics):
        verdict = "within tolerance"
    else:
        verdict = "differs"
    return Comparison(pairs, dict(sorted(same.items())) if record.outputs else None, verdict)


def _close(old: float, new: float, metric: Metric) -> bool:
    return abs(old - new) <= 0.5 * 10.0**-metric.digits
