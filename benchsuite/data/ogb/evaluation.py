"""OGB's metrics of tasks with several targets, some of them missing (Hu et al., NeurIPS 2020, arXiv 2005.00687).

The tests hold them to the ``Evaluator`` of ogb 1.3.6, whose package asks the network for a newer version when imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchsuite.errors import ProtocolError, UsageError, near

if TYPE_CHECKING:
    from collections.abc import Callable


def evaluate(metric: str, y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """Return the mean of a metric over the targets.

    A missing target (NaN) counts nowhere. ``rocauc`` and ``ap`` leave out a target whose known answers are all the
    same.

    Args:
        metric: ``acc``, ``rocauc``, ``ap`` (all 0 to 1) or ``rmse``.
        y_true: ``[items, targets]`` numbers; of ``rocauc`` and ``ap`` 0, 1 or NaN, of ``acc`` classes or NaN.
        y_pred: ``[items, targets]`` finite numbers; of ``rocauc`` and ``ap`` scores, of ``acc`` classes.

    Raises:
        UsageError: there is no such metric.
        ProtocolError: shapes differ, values are not as they should be, no target has both answers (``rocauc``,
            ``ap``), or one has no label at all (``acc``, ``rmse``).
    """
    if metric not in _METRICS:
        raise UsageError(f"OGB has no metric {metric!r}", near(metric, _METRICS))
    measure, needs_both = _METRICS[metric]
    _check(metric, y_true, y_pred, needs_both)
    values = []
    for target, (truth, guess) in enumerate(zip(y_true.T, y_pred.T, strict=True)):
        known = ~np.isnan(truth)
        if needs_both and len(np.unique(truth[known])) < 2:
            continue
        if not known.any():
            raise ProtocolError(f"{metric}: target {target} has no label", "Take a larger split")
        values.append(measure(truth[known], guess[known]))
    if not values:
        raise ProtocolError(f"{metric}: no target has both answers", "Take a larger split")
    return sum(values) / len(values)


def _check(metric: str, y_true: np.ndarray, y_pred: np.ndarray, of_answers: bool) -> None:
    if y_true.shape != y_pred.shape or y_true.ndim != 2:
        shapes = f"{list(y_true.shape)} and {list(y_pred.shape)}"
        raise ProtocolError(f"{metric} wants two tables of one shape, not {shapes}")
    for name, table in (("y_true", y_true), ("y_pred", y_pred)):
        if table.dtype.kind not in "fiub":
            raise ProtocolError(f"{metric} wants numbers, and {name} is {table.dtype}")
    if not np.isfinite(y_pred).all():
        raise ProtocolError(f"{metric} wants finite outputs, and {int((~np.isfinite(y_pred)).sum()):,} are not")
    known = y_true[~np.isnan(y_true)]
    if of_answers and not ((known == 0) | (known == 1)).all():
        odd = known[(known != 0) & (known != 1)][0]
        raise ProtocolError(f"{metric} wants targets that are 0, 1 or missing, and one is {odd:g}")


def _rocauc(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(y_true, y_pred))


def _ap(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(y_true, y_pred))


def _rmse(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    return float(np.sqrt(np.mean((y_true.astype(np.float64) - y_pred) ** 2)))


def _acc(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    return float(np.mean(y_true == y_pred))


_METRICS: dict[str, tuple[Callable[[np.ndarray, np.ndarray], float], bool]] = {
    "rocauc": (_rocauc, True),
    "ap": (_ap, True),
    "rmse": (_rmse, False),
    "acc": (_acc, False),
}
