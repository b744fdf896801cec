"""The FP32 reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchsuite.models.quantized import SiteQuantizedModel

if TYPE_CHECKING:
    from benchsuite.plugin import QuantizationJob


class Reference:
    """Quantizes nothing."""

    def quantize(self, job: QuantizationJob) -> SiteQuantizedModel:
        """Return the trained model with all its sites empty."""
        return SiteQuantizedModel(job.model)
