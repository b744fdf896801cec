"""Quantization-aware training: Jacob et al., CVPR 2018, arXiv 1712.05877, section 3, on graph backbones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchsuite.models.quantized import SiteQuantizedModel, WeightFiller
from benchsuite.models.ranges import OPERANDS, RangeFiller, fill
from benchsuite.models.sites import Role

if TYPE_CHECKING:
    from benchsuite.plugin import QuantizationJob


class MinMax:
    """Trains from scratch with every operand rounded; ranges are running extremes, frozen at evaluation.

    Args:
        bits: width of weights, activations and adjacency values.
    """

    momentum: float | None = None

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def quantize(self, job: QuantizationJob) -> SiteQuantizedModel:
        """Train the seed's initial model with its operands rounded."""
        model = job.initial_model()
        fill(model, OPERANDS, lambda site: RangeFiller(self.bits, momentum=self.momentum))
        fill(model, {Role.WEIGHT}, lambda site: WeightFiller(self.bits, per_column=False))
        return SiteQuantizedModel(job.train(model))


class MovingAverage(MinMax):
    """As :class:`MinMax`, with ranges that are exponential moving averages of the steps' extremes.

    Args:
        bits: width of weights, activations and adjacency values.
        momentum: share of the newest range.
    """

    def __init__(self, bits: int, momentum: float) -> None:
        super().__init__(bits)
        self.momentum = momentum
