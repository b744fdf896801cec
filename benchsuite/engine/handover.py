"""Both ends of a worker: what the host hands over for a cell, and what it makes of the answer."""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from benchsuite.contracts.task import CellInput, MethodSpec
from benchsuite.engine.failures import describe
from benchsuite.engine.payload import Payload, unpack
from benchsuite.errors import ProtocolError
from benchsuite.store.records import PluginSource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from benchsuite.contracts.cards import Kind
    from benchsuite.engine.cells import Cell
    from benchsuite.engine.payload import Outcome, Output
    from benchsuite.engine.prepare import Ready
    from benchsuite.host import Catalogue
    from benchsuite.host.info import PluginInfo
    from benchsuite.store.records import ErrorInfo


def make_payload(cell: Cell, ready: Ready, catalogue: Catalogue, cache: Path) -> Payload:
    """Return all that a worker needs for ``cell``.

    Args:
        cell: one of the task's cells.
        ready: the task, prepared.
        catalogue: knows the methods' targets, and where their plugins lie.
        cache: folder of the trained models.
    """
    methods: dict[Kind, MethodSpec] = {
        kind: MethodSpec(ref.name, catalogue.method(ref.name).target, dict(ref.params), ref.version)
        for kind, ref in cell.methods.items()
    }
    prepared = ready.prepared.of(cell.seed)
    given = CellInput(prepared.view, cache, cell.seed, methods, cell.device, prepared.shown)
    plugins = _plugins(cell, catalogue)
    packages = {each.package: str(each.search_path.resolve()) for each in plugins if each.search_path is not None}
    return Payload(cell.id, ready.selected.card, given, packages, {each.package: _source(each) for each in plugins})


def _plugins(cell: Cell, catalogue: Catalogue) -> list[PluginInfo]:
    return [catalogue.plugin_of(name) for name in (cell.task, *(ref.name for ref in cell.methods.values()))]


@lru_cache(maxsize=256)
def _source(plugin: PluginInfo) -> PluginSource:
    return PluginSource(plugin=plugin.name, version=plugin.version, source=plugin.source_hash())


def score(ready: Ready, cell: Cell, outcome: Outcome) -> tuple[dict[str, float], ErrorInfo | None]:
    """Return the metrics of a cell that is ok, or why its answer cannot be scored.

    Args:
        ready: the task; it holds the held-out labels.
        cell: one of its cells.
        outcome: what the executor returned, with status ok.
    """
    try:
        if outcome.output is None:
            raise ProtocolError("the executor returned no output of a cell that is ok")
        scores = ready.task.score(ready.prepared.of(cell.seed), unpack(outcome.output))
        return check_metrics(scores, [metric.name for metric in ready.selected.card.metrics]), None
    except Exception as error:  # noqa: BLE001 - predictions are a method's, and may break any code that reads them
        return {}, describe(error, "score")


def fingerprints(output: Output) -> dict[str, str]:
    """Return for each array that a worker returned the first 16 hex digits of its file's SHA-256."""
    return {name: hashlib.sha256(data).hexdigest()[:16] for name, data in sorted(output.arrays.items())}


def check_metrics(scores: Mapping[str, Any], names: Sequence[str]) -> dict[str, float]:
    """Return one finite number for each of a card's metrics.

    Raises:
        ProtocolError: one is missing, unknown or not finite.
    """
    if set(scores) != set(names):
        raise ProtocolError(f"the task scored {', '.join(sorted(scores))}; its card says {', '.join(sorted(names))}")
    for name in names:
        if not math.isfinite(scores[name]):
            raise ProtocolError(f"metric {name!r} is {scores[name]}")
    return {name: float(scores[name]) for name in names}
