"""TopGQ's card (Kwon et al., DAC 2026, arXiv 2608.30394)."""

from __future__ import annotations

from benchsuite.plugin import MethodCard, Paper, Parameter, Reported, bits_parameter, hookimpl

SPLIT = (
    "The paper trains and tests inductively on a split of its own; ours is the public Planetoid split, transductive."
)
FOLDS = "The paper names ten folds, but neither their seed, nor how an epoch is chosen, nor the network's sizes."

#: Task, FP32 of the same table, INT8, INT4, where they stand, and how the protocol differs.
FIGURES = (
    ("cora-gcn", 80.14, 79.96, 78.84, "Table 1", SPLIT),
    ("cora-sage", 77.02, 76.86, 76.30, "Table 1", SPLIT),
    ("citeseer-gcn", 76.46, 76.52, 75.96, "Table 1", SPLIT),
    ("citeseer-sage", 76.34, 76.32, 75.76, "Table 1", SPLIT),
    ("cora-gat", 80.36, 80.63, 78.56, "Table 2", SPLIT),
    ("imdb-binary-gcn", 79.58, 79.34, 76.71, "Table 3", FOLDS),
    ("imdb-binary-gin", 79.72, 79.50, 76.00, "Table 3", FOLDS),
    ("collab-gcn", 82.54, 82.52, 81.75, "Table 3", FOLDS),
    ("collab-gin", 82.31, 82.28, 77.39, "Table 3", FOLDS),
)

DEPARTURES = (
    "Groups: second coordinates in one cell of 6e-9 count as equal, since equal sums differ by float noise.",
    "Ranges: a group's minimum and maximum are widened to hold zero.",
    "Unseen nodes: the paper names no k, distance or weights; ours are 3 groups, Euclidean distance on (log d, m), "
    "each standardised over the groups, and inverse-distance weights. An exact hit takes its group alone.",
    "S_N is the group's largest magnitude, where the paper says its maximum: X_c has signs.",
    "Selection: the paper names no tensor for the MSE; by default it is X_c before aggregation, or A X_c on request.",
    "Weights and X_c are rounded to signed symmetric grids, so the aggregation needs no zero-point correction.",
    "A (with S_N merged in) is rounded per row to an unsigned grid from zero, so zeros and sparsity stay.",
    "GraphSAGE: S_N is absorbed into the mean matrix alone; the root product has its input and weight rounded.",
    "GIN: features are rounded before the sum, and the MLP's hidden activations per node group like any input.",
    "GAT: the paper does not say how; S_N of the source goes into the attention, per entry and head, which is rounded "
    "per target and head at run time. Attention scores and softmax are in float, with rounded score vectors.",
    "Networks for whole graphs: the paper does not say what its head does; behind the mean over nodes a row is a "
    "graph, which has no group, and one range holds for all rows. The mean itself is taken in float.",
    "Messages with edge features: a row of X_c is a message, scaled by the group of the node that sends it.",
    "All layers have one bit-width, first and last included; logits and biases stay in float.",
)


def _reported() -> tuple[Reported, ...]:
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
        for task, reference, eight, four, source, note in FIGURES
        for bits, value in ((8, eight), (4, four))
    )


CARD = MethodCard(
    name="topgq",
    kind="quantizer",
    target="benchsuite_topgq.method:TopGQ",
    summary="Post-training: parameters per group of nodes of equal topology, node scales absorbed into the adjacency.",
    parameters=(
        bits_parameter(),
        Parameter(
            name="neighbours",
            default=3,
            low=1,
            high=1024,
            doc="Number of nearest groups whose parameters a node of no known group interpolates.",
        ),
        Parameter(
            name="selection",
            default="activation",
            choices=("activation", "output"),
            doc="What the error that picks dual-axis or column-wise quantization is taken on: X_c or A X_c.",
        ),
        Parameter(
            name="grouping",
            default="toppin",
            choices=("toppin", "degree", "none", "random"),
            doc="What nodes are grouped by; the last three are controls (random: TopPIN's groups, nodes shuffled).",
        ),
    ),
    paper=Paper(
        title="TopGQ",
        url="https://arxiv.org/abs/2608.30394",
        year=2026,
        venue="DAC 2026, doi 10.1145/3770743.3804433",
    ),
    reported=_reported(),
    departures=DEPARTURES,
)


@hookimpl
def benchsuite_methods() -> list[MethodCard]:
    """Offer TopGQ."""
    return [CARD]
