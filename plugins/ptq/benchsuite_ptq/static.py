"""Post-training quantizers with one range per activation, fixed by one calibration forward."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from benchsuite.models.quantized import SiteQuantizedModel, WeightFiller
from benchsuite.models.ranges import OPERANDS, Measure, Percentile, RangeFiller, calibrate, extremes, fill
from benchsuite.models.sites import Role

if TYPE_CHECKING:
    from benchsuite.plugin import QuantizationJob


class MinMax:
    """Affine activations over the calibration minimum and maximum, symmetric weights with one scale.

    Args:
        bits: width of weights, activations and adjacency values.
    """

    per_column: ClassVar[bool] = False

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def measure(self) -> Measure:
        """Return what finds the range of an activation."""
        return extremes

    def quantize(self, job: QuantizationJob) -> SiteQuantizedModel:
        """Calibrate the trained model in floats, then round its weights."""
        model = job.model
        fill(model, OPERANDS, lambda site: RangeFiller(self.bits, self.measure()))
        calibrate(model, job.graph)
        fill(model, {Role.WEIGHT}, lambda site: WeightFiller(self.bits, self.per_column))
        return SiteQuantizedModel(model)


class PerColumn(MinMax):
    """As :class:`MinMax`, with one weight scale per output feature."""

    per_column = True


class ClippedRange(MinMax):
    """As :class:`MinMax`, with activation ranges cut at a percentile.

    Args:
        bits: width of weights, activations and adjacency values.
        percentile: per cent of the values at or below the upper end; the lower end mirrors it.
    """

    def __init__(self, bits: int, percentile: float) -> None:
        super().__init__(bits)
        # 100 - 99.9 is not quite 0.1 in floats, and the tail is multiplied by a count and floored.
        self.tail = round(1 - percentile / 100, 12)

    def measure(self) -> Measure:
        """Return the percentile measure."""
        return Percentile(self.tail)
