"""Places within each bit-width, and their order on the page."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from benchsuite.boards.statistics import Ranks, ranks, wins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchsuite.boards.rows import Row
    from benchsuite.contracts.cards import Metric


def order(row: Row, metric: Metric) -> tuple[bool, float, bool, float, str, str]:
    """Return the key that sorts a task's rows: the reference, then wide before narrow, then good before bad."""
    width = float("inf") if row.entry.bits is None else float(row.entry.bits)
    mean = 0.0 if row.value is None else row.value.mean
    worse_last = -mean if metric.higher_is_better else mean
    return not row.reference, -width, row.value is None, worse_last, row.entry.label, row.entry.id


def ranked(rows: Sequence[Row], metric: Metric) -> tuple[list[Row], list[str]]:
    """Give ranks within each bit-width, where a sham control allows it.

    Args:
        rows: the rows of one task.
        metric: the metric that ranks.

    Returns:
        The rows with their ranks, and for each group that gets none because of a sham a line that says so.
    """
    groups: dict[tuple[int, str], list[Row]] = defaultdict(list)
    for row in rows:
        if not row.reference and row.value is not None:
            groups[row.entry.bits or 0, row.entry.device].append(row)
    found: dict[str, Ranks] = {}
    remarks: list[str] = []
    for key in sorted(groups, key=lambda k: (-k[0], k[1])):
        places, remark = _group_ranks(groups[key], metric)
        found |= places
        remarks += [remark] if remark else []
    return [replace(row, ranks=found.get(row.entry.id)) for row in rows], remarks


def _group_ranks(group: Sequence[Row], metric: Metric) -> tuple[dict[str, Ranks], str]:
    real = sorted((row for row in group if not row.entry.sham), key=lambda row: order(row, metric))
    if not real:
        return {}, ""
    won = wins({row.entry.id: row.samples[metric.name] for row in group}, metric.higher_is_better)
    for sham in sorted((row for row in group if row.entry.sham), key=lambda row: row.entry.label):
        if (real[0].entry.id, sham.entry.id) not in won:
            shared = real[0].samples[metric.name].keys() & sham.samples[metric.name].keys()
            return {}, (
                f"No ranks{_among(group)}: the best, {real[0].entry.label}, cannot be told from the sham control "
                f"{sham.entry.label} on {len(shared)} shared seed{'s' * (len(shared) != 1)}."
            )
    return ranks([row.entry.id for row in real] if len(real) > 1 else [], won), ""


def _among(group: Sequence[Row]) -> str:
    bits = group[0].entry.bits
    return "" if bits is None else f" among INT{bits} methods"
