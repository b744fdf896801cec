"""Card of Degree-Quant."""

from __future__ import annotations

from benchsuite.plugin import MethodCard, Paper, Parameter, Reported, bits_parameter, hookimpl

_TABLE_1 = "TopGQ (arXiv 2608.30394) Table 1"
_TABLE_2 = "TopGQ (arXiv 2608.30394) Table 2"
_TABLE_3 = "TopGQ (arXiv 2608.30394) Table 3"
_RERUN = "A rerun by TopGQ's authors, on the inductive split of that paper."
_FOLDS = "A rerun by TopGQ's authors, on ten folds of which the paper says no more."


def _reported(
    task: str, reference: float, int8: float, int4: float, source: str = _TABLE_1, note: str = _RERUN
) -> tuple[Reported, ...]:
    """Return the two figures of one column of a table, accuracy in per cent."""
    return tuple(
        Reported(
            task=task,
            metric="accuracy",
            value=value,
            params={"bits": bits},
            source=source,
            reference=reference,
            note=note,
        )
        for bits, value in ((8, int8), (4, int4))
    )


DEGREE_QUANT = MethodCard(
    name="degree-quant",
    kind="quantizer",
    version="2",
    target="benchsuite_degree_quant.method:DegreeQuant",
    summary="Quantization-aware training that leaves a random set of mostly high-degree nodes in floats.",
    paper=Paper(
        title="Degree-Quant: Quantization-Aware Training for Graph Neural Networks",
        url="https://arxiv.org/abs/2008.05000",
        year=2021,
        venue="ICLR",
    ),
    parameters=(
        bits_parameter(),
        Parameter(
            name="p_low", default=0.0, doc="Lower end of the probability that protects a node.", low=0.0, high=1.0
        ),
        Parameter(
            name="p_change",
            default=0.1,
            doc="How far the probability of the nodes of highest in-degree lies above p_low.",
            low=0.0,
            high=1.0,
        ),
        Parameter(
            name="ranges",
            default="percentile",
            doc="Range of a tensor: running percentiles, running extremes, or a moving average of extremes.",
            choices=("percentile", "minmax", "ema"),
        ),
        Parameter(
            name="tail",
            default=0.0,
            doc="Fraction that a percentile cuts off at each end; 0 takes 0.001 at 8 bits and 0.01 below.",
            low=0.0,
            high=0.5,
        ),
        Parameter(
            name="gradient",
            default="gc",
            doc="gc: zero where the code is at an end of the grid; ste: passes straight through.",
            choices=("gc", "ste"),
        ),
    ),
    reported=(
        *_reported("cora-gcn", 80.14, 78.94, 78.54),
        *_reported("cora-sage", 77.02, 75.50, 74.36),
        *_reported("citeseer-gcn", 76.46, 75.62, 23.54),
        *_reported("citeseer-sage", 76.34, 74.77, 74.99),
        *_reported("cora-gat", 80.36, 78.66, 77.90, _TABLE_2),
        *_reported("imdb-binary-gcn", 79.58, 77.32, 76.02, _TABLE_3, _FOLDS),
        *_reported("imdb-binary-gin", 79.72, 76.00, 75.98, _TABLE_3, _FOLDS),
        *_reported("collab-gcn", 82.54, 82.30, 73.24, _TABLE_3, _FOLDS),
        *_reported("collab-gin", 82.31, 81.62, 77.61, _TABLE_3, _FOLDS),
    ),
    departures=(
        "Trained with the task's recipe, not with the authors' learning rates and weight decays per bit-width.",
        "GC-PER with p_low 0 and p_change 0.1, the authors' INT8 values, is the default at every bit-width.",
        "Where percentiles collapse to zero (sparse features) they are taken again without counting the zeros.",
        "Percentiles are exact and mirrored at both ends; the authors' sampling before them is not offered.",
        "Widths between the published 8 and 4 bits take INT4's percentile.",
        "One mask per forward, shared by all layers.",
        "The model's output is not rounded, as with the suite's other quantizers; its last aggregate is.",
        "The update site lies after the activation function; the authors' lies before it.",
        "The MLP inside a GIN layer protects nodes as all else does; the authors' does not.",
        "The first layer is quantized too; the authors' REDDIT-BINARY model keeps its first linear map in FP32.",
        "Networks for whole graphs: rows behind the mean over nodes protect nothing; a message with edge features is "
        "protected with the node that sends it.",
        "Attention scores of GAT are computed from unrounded features and rounded weights.",
    ),
)


@hookimpl
def benchsuite_methods() -> list[MethodCard]:
    """Offer Degree-Quant."""
    return [DEGREE_QUANT]
