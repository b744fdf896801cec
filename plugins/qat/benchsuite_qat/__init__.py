"""Cards of plain quantization-aware training."""

from __future__ import annotations

from benchsuite.plugin import MethodCard, Paper, Parameter, bits_parameter, hookimpl

PAPER = Paper(
    title="Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference",
    url="https://arxiv.org/abs/1712.05877",
    year=2018,
    venue="CVPR",
)
DEPARTURES = (
    "Trained from scratch with the task's recipe, as Degree-Quant's QAT baseline is, not fine-tuned from FP32.",
    "Ranges are observed and rounded to from the first step on; the paper starts rounding activations later.",
    "Weights are rounded to the symmetric grid of their current peak, with one scale per matrix.",
)

MINMAX = MethodCard(
    name="qat-minmax",
    kind="quantizer",
    target="benchsuite_qat.training:MinMax",
    summary="Training with rounded operands and a straight-through gradient; running minimum and maximum as ranges.",
    paper=PAPER,
    parameters=(bits_parameter(),),
    departures=(*DEPARTURES, "Running minimum and maximum in place of the paper's moving average."),
)

EMA = MethodCard(
    name="qat-ema",
    kind="quantizer",
    target="benchsuite_qat.training:MovingAverage",
    summary="Training with rounded operands and a straight-through gradient; exponential moving average of ranges.",
    paper=PAPER,
    parameters=(
        bits_parameter(),
        Parameter(
            name="momentum",
            default=0.01,
            doc="Share of the newest range in the moving average of each range.",
            low=0.0,
            high=1.0,
        ),
    ),
    departures=DEPARTURES,
)


@hookimpl
def benchsuite_methods() -> list[MethodCard]:
    """Offer both."""
    return [MINMAX, EMA]
