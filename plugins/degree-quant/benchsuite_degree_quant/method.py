"""Degree-Quant (Tailor, Fernandez-Marques and Lane, ICLR 2021, arXiv 2008.05000)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchsuite.models.quantized import SiteQuantizedModel
from benchsuite.models.ranges import Measure, Percentile, extremes, fill
from benchsuite.models.sites import Role
from benchsuite.plugin import BenchsuiteError
from benchsuite_degree_quant.filler import ProtectiveFiller
from benchsuite_degree_quant.protection import Protection

if TYPE_CHECKING:
    from pydantic import JsonValue

    from benchsuite.models.backbone import Backbone
    from benchsuite.models.sites import Site
    from benchsuite.plugin import QuantizationJob

#: Share of the newest range in the moving average, as in the authors' released scripts.
MOMENTUM = 0.01


class DegreeQuant:
    """Trains from scratch with every site rounded, while a random set of mostly high-degree nodes stays in floats.

    Args:
        bits: width of weights, activations and adjacency values.
        p_low: lower end of the protection probability.
        p_change: distance to its upper end.
        ranges: ``percentile``, ``minmax`` or ``ema``.
        tail: fraction that ``percentile`` cuts off at each end; 0 takes 0.001 at 8 bits and 0.01 below.
        gradient: ``gc`` (zero at the ends of the grid) or ``ste`` (straight through).

    Raises:
        BenchsuiteError: the upper end of the probability exceeds 1.
    """

    def __init__(self, bits: int, p_low: float, p_change: float, ranges: str, tail: float, gradient: str) -> None:
        if p_low + p_change > 1 + 1e-9:
            raise BenchsuiteError(
                f"p_low + p_change = {p_low + p_change:g} is no probability", "Keep the sum at most 1"
            )
        self.bits, self.p_low, self.p_change = bits, p_low, p_change
        self.ranges, self.clip_gradient = ranges, gradient == "gc"
        self.tail = tail or (0.001 if bits >= 8 else 0.01)

    def quantize(self, job: QuantizationJob) -> SiteQuantizedModel:
        """Train the seed's initial model with its sites filled."""
        model = job.initial_model()
        protection = Protection(self.p_low, self.p_change, job.generator)
        self.fill(model, protection)
        hook = model.register_forward_pre_hook(protection.draw, with_kwargs=True)
        job.train(model)
        hook.remove()
        protection.mask = None
        return SiteQuantizedModel(model, self._diagnostics(model, protection, job))

    def fill(self, model: Backbone, protection: Protection) -> None:
        """Fill all sites but the update that is the model's output, which no product takes up again."""
        fill(model, set(Role), lambda site: self._filler(site, protection))
        if (output := model.output_site()) is not None:
            output.fill(None)

    def _filler(self, site: Site, protection: Protection) -> ProtectiveFiller:
        measure: Measure = Percentile(self.tail) if self.ranges == "percentile" else extremes
        momentum = MOMENTUM if self.ranges == "ema" else None
        return ProtectiveFiller(site, protection, self.bits, self.clip_gradient, measure, momentum)

    def _diagnostics(self, model: Backbone, protection: Protection, job: QuantizationJob) -> dict[str, JsonValue]:
        probability = protection.probability(job.graph)
        found: dict[str, JsonValue] = {
            "mean_protection": float(probability.mean()) if probability.numel() else None,
        }
        if self.ranges == "percentile":
            found["tail"] = self.tail
            found["collapsed_percentiles"] = {
                name: site.filler.measure.collapsed
                for name, site in model.sites()
                if isinstance(site.filler, ProtectiveFiller)
                and isinstance(site.filler.measure, Percentile)
                and site.filler.measure.collapsed
            }
        return found
