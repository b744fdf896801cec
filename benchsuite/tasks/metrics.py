"""Metrics, and what a model's outputs answer: the same for nodes and for whole graphs. Imports no numpy by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchsuite.contracts.cards import Metric
from benchsuite.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from torch import Tensor

    from benchsuite.contracts.dataset import TargetType

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(name="accuracy", unit="%"),
        Metric(name="rocauc", unit="%"),
        Metric(name="ap", unit="%"),
        Metric(name="rmse", unit="", higher_is_better=False, digits=3),
        Metric(name="mae", unit="", higher_is_better=False, digits=3),
    )
}


def measure(name: str, y: np.ndarray, outputs: np.ndarray) -> float:
    """Return a metric's value in the unit of its card.

    Args:
        name: a key of :data:`METRICS`.
        y: ``[items]`` int64 classes for ``accuracy``; else ``[items, targets]`` float32, NaN where one is missing.
        outputs: ``[items]`` int64 classes, or ``[items, targets]`` float32.

    Raises:
        ProtocolError: no target has both answers (``rocauc``, ``ap``).
    """
    return _MEASURES[name](y, outputs)


def checked_answers(predicted: object, y: np.ndarray, outputs: int, item: str) -> np.ndarray:
    """Return what a worker sent back, if it can be scored.

    Args:
        predicted: of the worker.
        y: the held-out targets, int64 classes or float32.
        outputs: number of classes.
        item: ``node`` or ``graph``, for the message.

    Raises:
        ProtocolError: it has another shape or dtype than ``y``, a class out of range, or a value that is not finite.
    """
    import numpy as np

    if not isinstance(predicted, np.ndarray) or predicted.dtype != y.dtype or predicted.shape != y.shape:
        raise ProtocolError(f"predictions are not {y.dtype} of shape {list(y.shape)}, one for each test {item}")
    if y.dtype == np.int64:
        if len(predicted) and not 0 <= predicted.min() <= predicted.max() < outputs:
            raise ProtocolError(f"a predicted class is outside 0..{outputs - 1}")
    elif not np.isfinite(predicted).all():
        raise ProtocolError("a prediction is not finite")
    return predicted


def answers(outputs: Tensor, target_type: TargetType) -> Tensor:
    """Return the class of each item, ``[items]`` int64; of other targets the outputs themselves."""
    return outputs.argmax(1) if target_type == "classes" else outputs


def agreement(outputs: Tensor, wanted: Tensor, target_type: TargetType) -> float | None:
    """Return how many answers are the same, per cent: classes, or yes and no; None of real numbers.

    Args:
        outputs: ``[items, outputs]`` float32.
        wanted: the same of another model.
        target_type: what the outputs mean.
    """
    if target_type == "values":
        return None
    same = outputs.argmax(1) == wanted.argmax(1) if target_type == "classes" else (outputs > 0) == (wanted > 0)
    return 100.0 * float(same.double().mean())


def better(name: str, one: float, other: float) -> bool:
    """Return whether ``one`` is a better value of the metric than ``other``."""
    return one > other if METRICS[name].higher_is_better else one < other


def worst(name: str) -> float:
    """Return a value that any other is better than."""
    return float("-inf" if METRICS[name].higher_is_better else "inf")


def _mae(y: np.ndarray, outputs: np.ndarray) -> float:
    known = y == y  # NaN is missing
    return float(abs(y[known].astype(float) - outputs[known]).mean())


def _ogb(name: str, y: np.ndarray, outputs: np.ndarray) -> float:
    from benchsuite.data.ogb.evaluation import evaluate

    return evaluate(name, y, outputs)


_MEASURES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "accuracy": lambda y, outputs: 100.0 * float((y == outputs).mean()),
    "rocauc": lambda y, outputs: 100.0 * _ogb("rocauc", y, outputs),
    "ap": lambda y, outputs: 100.0 * _ogb("ap", y, outputs),
    "rmse": lambda y, outputs: _ogb("rmse", y, outputs),
    "mae": _mae,
}
