"""Whether a cell's work gives the same bits twice, on the machine that did it: recorded as the cell's determinism."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from pydantic import JsonValue
    from torch import Tensor

Segment = Callable[[], Iterable["Tensor"]]


def determinism(segment: Segment, what: str) -> dict[str, JsonValue]:
    """Run ``segment`` twice and return what a record says of it.

    Args:
        segment: a short stretch of the cell's own work, from the same seeds each time; returns what came out.
        what: names the stretch, e.g. ``"3 epochs of training"``.

    Returns:
        ``class``: ``bitwise``, ``differs``, or ``unknown`` where the stretch cannot be run by itself; and ``segment``.
    """
    try:
        first, second = list(segment()), list(segment())
    except Exception:  # noqa: BLE001 - a method need not bear a shortened run, and the cell has its result already
        return {"class": "unknown", "segment": what}
    return {"class": class_of([first, second]), "segment": what}


def class_of(results: Iterable[Iterable[Tensor]]) -> str:
    """Return ``bitwise`` where all results are the same bits, and ``differs`` otherwise; NaN equals itself."""
    first, *others = [list(result) for result in results]
    same = all(len(other) == len(first) and all(map(_equal, first, other)) for other in others)
    return "bitwise" if same else "differs"


def _equal(one: Tensor, other: Tensor) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.is_floating_point():
        return torch.equal(one.isnan(), other.isnan()) and torch.equal(one.nan_to_num(), other.nan_to_num())
    return torch.equal(one, other)
