"""Cards of the depth curricula of arXiv 2608.13156."""

from __future__ import annotations

from benchsuite.plugin import MethodCard, Paper, Parameter, Reported, hookimpl

PAPER = Paper(
    title="Post-norm under curriculum depth growing",
    url="https://arxiv.org/abs/2608.13156",
    year=2026,
    venue="arXiv 2608.13156",
)
NOTE = (
    "There: Qwen3-8B-Base distilled into 3 blocks of 3 layers (3.09 B parameters) on 3.11 B tokens of FineWeb-Edu a "
    "phase; one seed, no interval."
)
TASKS = ("distill-qwen3-8b", "distill-small")
#: Pre-norm under ``joint``, which the paper's differences are taken to.
REFERENCE = 2.7603


def _reported(
    pre: float | None,
    post: float,
    params: dict[str, str | bool] | None = None,
    source: str = "Table of validation cross-entropy",
) -> tuple[Reported, ...]:
    """Return the figures of a curriculum, pre-norm (where there is one) and post-norm, for each of our tasks."""
    values = {"pre": pre, "post": post}
    return tuple(
        Reported(
            task=task,
            metric="cross_entropy",
            value=value,
            params=params or {},
            partners={"norm_placement": placement},
            source=source,
            reference=REFERENCE,
            note=NOTE,
        )
        for task in TASKS
        for placement, value in values.items()
        if value is not None
    )


INSERTION = Parameter(
    name="insertion",
    default="random",
    choices=("random", "copy", "zero_output"),
    doc="How a new block starts: drawn at random, a copy of the block below, or with branches that add nothing.",
)
RESET = Parameter(
    name="reset_optimizer", default=True, doc="Whether the optimiser's moments start from zero in every phase."
)
RESTART = Parameter(
    name="restart_schedule", default=True, doc="Whether warm-up and decay of the learning rate begin again every phase."
)
DATA = Parameter(
    name="data",
    default="continue",
    choices=("continue", "rewind", "fresh"),
    doc="Where the stream stands when a phase begins: further on in the replayed shard, at its start, in a new shard.",
)

JOINT = MethodCard(
    name="joint",
    kind="curriculum",
    target="benchsuite_curricula.schedules:Joint",
    summary="All blocks from the first step, one schedule: the reference.",
    paper=PAPER,
    reported=_reported(2.7603, 2.7607),
    departures=("None known: one phase with all blocks and one schedule.",),
)

GROW = MethodCard(
    name="grow",
    kind="curriculum",
    target="benchsuite_curricula.schedules:Grow",
    summary="Block by block from the bottom: each phase appends one, and all active blocks go on learning.",
    parameters=(INSERTION, RESET, RESTART, DATA),
    paper=PAPER,
    reported=_reported(2.7658, 2.7330),
    departures=(
        "The replayed shard is exactly one phase long and is drawn in a new order each time; the paper's iterator "
        "runs on in a shard of about that length (it found the same ranking when rewound).",
    ),
)

FREEZE = MethodCard(
    name="freeze",
    kind="curriculum",
    target="benchsuite_curricula.schedules:Freeze",
    summary="Grows like grow, but only the newest block learns.",
    parameters=(
        INSERTION,
        Parameter(name="train_head", default=True, doc="Whether the head goes on learning after the first phase."),
        Parameter(
            name="train_boundary_norm",
            default=True,
            doc="Whether the norms around the stack go on learning after the first phase.",
        ),
    ),
    paper=PAPER,
    reported=_reported(2.9104, 2.8772),
    departures=("The paper leaves open whether head and boundary norm are frozen too; by default they learn here.",),
)

JOINT_MATCHED = MethodCard(
    name="joint-matched",
    kind="curriculum",
    target="benchsuite_curricula.schedules:JointMatched",
    summary="All blocks at once, for as long as grow costs: the control for grow's longer training.",
    parameters=(
        Parameter(
            name="match",
            default="active_layer_tokens",
            choices=("active_layer_tokens", "total_tokens", "steps", "unique_tokens"),
            doc="What it has in common with grow; unique_tokens is joint itself.",
        ),
        RESTART,
        DATA.model_copy(update={"default": "fresh"}),
    ),
    paper=PAPER,
    reported=(
        *_reported(None, 2.7518, source="Post-norm controls, joint-long"),
        *_reported(None, 2.7428, {"match": "total_tokens"}, "Post-norm controls, joint-longer"),
        *_reported(None, 2.7607, {"match": "unique_tokens"}, "Post-norm controls, joint"),
    ),
    departures=(
        "The paper extends post-norm alone; here every placement has the control.",
        "Where the number of phases is not whole (an even number of blocks), the last one is half as long.",
        "In steps grow costs as many phases as in total tokens: the two values of match differ in name alone, as long "
        "as the task's budget is in steps.",
    ),
)


@hookimpl
def benchsuite_methods() -> list[MethodCard]:
    """Offer the four curricula."""
    return [JOINT, GROW, FREEZE, JOINT_MATCHED]
