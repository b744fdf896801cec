"""The loss that a model is trained with, by what its targets are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor

    from benchsuite.contracts.dataset import TargetType


def loss_of(outputs: Tensor, y: Tensor, target_type: TargetType, metric: str = "") -> Tensor:
    """Return the mean loss over the known targets.

    Cross-entropy of classes, binary cross-entropy of yes and no, squared error of values, or absolute error where the
    metric is ``mae``. Zero where no target is known.

    Args:
        outputs: ``[items, outputs]`` float32.
        y: ``[items]`` int64, or ``[items, targets]`` float32 with NaN where a target is missing.
        target_type: of ``y``.
        metric: tells squared from absolute errors.
    """
    if target_type == "classes":
        return functional.cross_entropy(outputs, y)
    known = ~y.isnan()
    if not known.any():
        return outputs.sum() * 0.0
    if target_type == "binary":
        return functional.binary_cross_entropy_with_logits(outputs[known], y[known])
    loss = functional.l1_loss if metric == "mae" else functional.mse_loss
    return loss(outputs[known], y[known])
