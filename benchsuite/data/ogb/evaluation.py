"""OGB's metrics of tasks with several targets, some of them missing (Hu et al., NeurIPS 2020, arXiv 2005.00687)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchsuite.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable


def evaluate(metric: str, y: np.ndarray, outputs: np.ndarray) -> float:
    """Return the mean of a metric over the targets.

    A missing target (NaN) counts nowhere. ``rocauc`` and ``ap`` leave out a target whose known answers are all the
    same.

    Args:
        metric: ``rocauc``, ``ap`` (both 0 to 1) or ``rmse``.
        y: ``[items, targets]`` float; of the first two 0, 1 or NaN.
        outputs: ``[items, targets]`` float, finite.

    Raises:
        ProtocolError: shapes differ, or no target has both answers.
    """
    if y.shape != outputs.shape or y.ndim != 2:
        raise ProtocolError(f"{metric} wants two tables of one shape, not {list(y.shape)} and {list(outputs.shape)}")
    measure, needs_both = _METRICS[metric]
    values = []
    for truth, output in zip(y.T, outputs.T, strict=True):
        known = ~np.isnan(truth)
        if needs_both and len(np.unique(truth[known])) < 2:
            continue
        values.append(measure(truth[known], output[known]))
    if not values:
        raise ProtocolError(f"{metric}: no target has both answers", "Take a larger split")
    return float(np.mean(values))


def _rocauc(y: np.ndarray, outputs: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(y, outputs))


def _ap(y: np.ndarray, outputs: np.ndarray) -> float:
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(y, outputs))


def _rmse(y: np.ndarray, outputs: np.ndarray) -> float:
    return float(np.sqrt(np.mean((y.astype(np.float64) - outputs) ** 2)))


_METRICS: dict[str, tuple[Callable[[np.ndarray, np.ndarray], float], bool]] = {
    "rocauc": (_rocauc, True),
    "ap": (_ap, True),
    "rmse": (_rmse, False),
}
