"""Card of the FP32 reference."""

from __future__ import annotations

from benchsuite.plugin import MethodCard, hookimpl

FP32 = MethodCard(
    name="fp32",
    kind="quantizer",
    target="benchsuite_fp32.reference:Reference",
    summary="The trained model as it is, in 32-bit floats: what every quantizer is compared with.",
)


@hookimpl
def benchsuite_methods() -> list[MethodCard]:
    """Offer the reference."""
    return [FP32]
