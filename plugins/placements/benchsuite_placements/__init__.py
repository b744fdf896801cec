"""Cards of four norm placements in a decoder transformer."""

from __future__ import annotations

from benchsuite.plugin import MethodCard, Paper, Parameter, Reported, hookimpl

_PROTOCOLS = ("distillation",)
_TASKS = ("distill-qwen3-8b", "distill-small")
_SOURCE = "arXiv 2608.13156, validation cross-entropy at the scheduled endpoint"
_NOTE = (
    "There: Qwen3-8B-Base distilled into 3 blocks of 3 layers (3.09 B parameters) on 3.11 B tokens of FineWeb-Edu a "
    "phase; one seed, no interval."
)
#: Pre-norm under joint training, in the same table.
_REFERENCE = 2.7603


def _reported(**figures: float) -> tuple[Reported, ...]:
    """Return the figures of one placement, by curriculum, for each of our tasks."""
    return tuple(
        Reported(
            task=task,
            metric="cross_entropy",
            value=value,
            partners={"curriculum": curriculum},
            source=_SOURCE,
            reference=_REFERENCE,
            note=_NOTE,
        )
        for task in _TASKS
        for curriculum, value in figures.items()
    )


ENTRY = Parameter(name="entry", default=False, doc="Whether a norm stands on the embeddings, before the first layer.")

PRE = MethodCard(
    name="pre",
    kind="norm_placement",
    target="benchsuite_placements.placements:Pre",
    summary="h + F(N(h)), and a final norm before the head: the reference, as in Llama.",
    protocols=_PROTOCOLS,
    paper=Paper(
        title="On Layer Normalization in the Transformer Architecture",
        url="https://arxiv.org/abs/2002.04745",
        year=2020,
        venue="ICML 2020",
    ),
    reported=_reported(joint=2.7603, grow=2.7658, freeze=2.9104),
    departures=("RMSNorm in place of LayerNorm, as in arXiv 2608.13156, from which the figures are.",),
)

POST = MethodCard(
    name="post",
    kind="norm_placement",
    target="benchsuite_placements.placements:Post",
    summary="N(h + F(h)), and a norm on the embeddings in place of the final one; as many norm parameters as pre.",
    protocols=_PROTOCOLS,
    paper=Paper(
        title="Attention Is All You Need", url="https://arxiv.org/abs/1706.03762", year=2017, venue="NeurIPS 2017"
    ),
    reported=_reported(joint=2.7607, grow=2.7330, freeze=2.8772),
    departures=(
        "RMSNorm in place of LayerNorm, and an entry norm that starts as the teacher's final norm: as in arXiv "
        "2608.13156, from which the figures are.",
    ),
)

SANDWICH = MethodCard(
    name="sandwich",
    kind="norm_placement",
    target="benchsuite_placements.placements:Sandwich",
    summary="h + N(F(N(h))), and a final norm; with an entry norm it is Peri-LN.",
    protocols=_PROTOCOLS,
    parameters=(ENTRY,),
    paper=Paper(
        title="CogView: Mastering Text-to-Image Generation via Transformers",
        url="https://arxiv.org/abs/2105.13290",
        year=2021,
        venue="NeurIPS 2021",
    ),
    departures=(
        "RMSNorm in place of LayerNorm; the paper's other means against overflow (PB-relax) are left out.",
        "It has twice the layer norms of pre and post, so it is not matched in norm parameters.",
        "The student's embedding is frozen at the teacher's size, far below that of a normed branch: without an entry "
        "norm the first branches drown it.",
    ),
)

DEEPNORM = MethodCard(
    name="deepnorm",
    kind="norm_placement",
    target="benchsuite_placements.placements:DeepNorm",
    summary="N(alpha h + F(h)) with alpha = (2 depth)^1/4, and branches that start smaller by (8 depth)^1/4.",
    protocols=_PROTOCOLS,
    parameters=(ENTRY,),
    paper=Paper(
        title="DeepNet: Scaling Transformers to 1,000 Layers",
        url="https://arxiv.org/abs/2203.00555",
        year=2022,
        venue="arXiv 2203.00555",
    ),
    departures=(
        "RMSNorm in place of LayerNorm. The gain (8 depth)^-1/4 acts on draws of standard deviation 0.02; in the paper "
        "it is the gain of Xavier's initialisation.",
        "The gain acts on value, output and all three feed-forward projections: the paper's feed-forward has no gate.",
        "Depth is that of the whole student, under a curriculum too that begins with fewer layers.",
        "No norm at the boundary, so the teacher's final norm is not used; entry=true adds one.",
    ),
)


@hookimpl
def benchsuite_methods() -> list[MethodCard]:
    """Offer the four placements."""
    return [PRE, POST, SANDWICH, DEEPNORM]
