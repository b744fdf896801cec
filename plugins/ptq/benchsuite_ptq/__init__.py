"""Cards of the plain post-training quantizers."""

from __future__ import annotations

from benchsuite.plugin import MethodCard, Parameter, bits_parameter, hookimpl

MINMAX = MethodCard(
    name="ptq-minmax",
    kind="quantizer",
    target="benchsuite_ptq.static:MinMax",
    summary="One range per activation from the calibration minimum and maximum, one scale per weight.",
    parameters=(bits_parameter(),),
)

PERCENTILE = MethodCard(
    name="ptq-percentile",
    kind="quantizer",
    target="benchsuite_ptq.static:ClippedRange",
    summary="As ptq-minmax, with activation ranges cut at a percentile at both ends.",
    parameters=(
        bits_parameter(),
        Parameter(
            name="percentile",
            default=99.9,
            doc="Per cent of the values at or below the upper end of a range; the lower end mirrors it.",
            low=50.0,
            high=100.0,
        ),
    ),
    departures=(
        "Where percentiles collapse to zero (sparse features) they are taken again without counting the zeros.",
    ),
)

COLUMN = MethodCard(
    name="ptq-column",
    kind="quantizer",
    target="benchsuite_ptq.static:PerColumn",
    summary="As ptq-minmax, with one weight scale per output feature (column of W).",
    parameters=(bits_parameter(),),
)

NODE = MethodCard(
    name="ptq-node",
    kind="quantizer",
    target="benchsuite_ptq.dynamic:PerNode",
    summary="One activation range per node, taken from its row at inference; per-column weights. An upper bound on "
    "accuracy that no single integer product can run.",
    parameters=(bits_parameter(),),
)


@hookimpl
def benchsuite_methods() -> list[MethodCard]:
    """Offer the four quantizers."""
    return [MINMAX, PERCENTILE, COLUMN, NODE]
