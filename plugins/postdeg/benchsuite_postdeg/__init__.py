"""Cards of PostDeg, of the backbone it is measured against, and of the arms that could refute it."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

from benchsuite.plugin import Falsifier, MethodCard, Paper, Parameter, Reported, hookimpl

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PAPER = Paper(
    title="PostDeg: Placement Beats Parameterization in LayerNorm GNNs",
    url="https://arxiv.org/abs/2606.14022",
    year=2026,
    venue="arXiv",
)

_PROTOCOLS = ("node-selection",)

_POWER = Parameter(name="power", default=0.5, doc="p in (1 + degree)^-p.", low=-2.0, high=2.0)


def _slot(default: str) -> Parameter:
    doc = "Where in the residual block: S2 is the LayerNorm's argument, S3 its output, S6 the score head's input."
    return Parameter(name="slot", default=default, doc=doc, choices=tuple(f"S{place}" for place in range(7)))


#: For each of our tasks the metric, and the paper's gain as a value of it where the LayerNorm backbone has 100.
_FIGURES = {
    "influence-maximisation": ("relative_spread", 103.5),
    "network-dismantling": ("relative_area", 97.5),
    "maximum-independent-set": ("relative_size", 105.6),
}


def _reported() -> tuple[Reported, ...]:
    """Return the paper's figures, beside both inputs: which of them the paper's models had is not known."""
    return tuple(
        Reported(
            task=f"{task}{inputs}",
            metric=metric,
            value=value,
            reference=100.0,
            source="Abstract; 10 of 10 paired seeds won",
            note="Relative to the LayerNorm backbone, which is 100 here; ours is relative to the greedy degree rule. "
            "The paper's graphs, inputs, sizes and training are not public.",
        )
        for task, (metric, value) in _FIGURES.items()
        for inputs in ("", "-blind")
    )


def _falsifiers() -> tuple[Falsifier, ...]:
    paper, ours = "arXiv 2606.14022, abstract", "this suite"
    return (
        Falsifier(name="graph-wise scalar", arm="postdeg-graphwise", claim="beats", source=paper),
        Falsifier(name="extra LayerNorm behind the slot", arm="postdeg-extra-norm", claim="beats", source=paper),
        Falsifier(name="expressive scale in the same slot", arm="postdeg-learned", claim="bounds", source=paper),
        Falsifier(name="another source: core numbers", arm="postdeg-core", claim="persists", source=paper),
        Falsifier(name="the same scale before the LayerNorm", arm="postdeg-erased", claim="beats", source=ours),
        Falsifier(name="shuffled degrees", arm="postdeg-shuffled", claim="beats", source=ours),
    )


LAYERNORM = MethodCard(
    name="layernorm",
    kind="norm_placement",
    protocols=_PROTOCOLS,
    target="benchsuite_postdeg.scales:Bare",
    summary="The backbone: residual GNN blocks with a LayerNorm over each node's features, and no scale.",
)

POSTDEG = MethodCard(
    name="postdeg",
    kind="norm_placement",
    protocols=_PROTOCOLS,
    target="benchsuite_postdeg.scales:InverseDegree",
    summary="A parameter-free scale (1 + degree)^-1/2 on each node's features, behind the LayerNorm of every block.",
    parameters=(_POWER, _slot("S3")),
    paper=PAPER,
    reported=_reported(),
    departures=(
        'The exponent 1/2 and the +1 are ours: what is public says "inverse-degree scale".',
        "The block is ReLU(LN(x + GAT(x))) with the scale before the ReLU; the paper's block is not public.",
        "Graphs, features, targets and training are those of the suite's protocol node-selection/1.",
    ),
    falsifiers=_falsifiers(),
)


def _arm(name: str, target: str, summary: str, parameters: tuple[Parameter, ...], sham: bool) -> MethodCard:
    return MethodCard(
        name=f"postdeg-{name}",
        kind="norm_placement",
        protocols=_PROTOCOLS,
        target=f"benchsuite_postdeg.{target}",
        summary=summary,
        parameters=parameters,
        sham=sham,
    )


_SCALED = (_POWER, _slot("S3"))

ARMS = (
    _arm(
        "erased",
        "scales:InverseDegree",
        "PostDeg's scale before the LayerNorm, which divides it out up to its epsilon.",
        (_POWER, _slot("S2")),
        sham=True,
    ),
    _arm(
        "graphwise",
        "scales:Graphwise",
        "PostDeg's scale replaced by its mean over the graph, which cannot order that graph's nodes.",
        _SCALED,
        sham=True,
    ),
    _arm(
        "extra-norm",
        "scales:ExtraNorm",
        "PostDeg with a further LayerNorm right behind its slot, which divides the scale out again.",
        _SCALED,
        sham=True,
    ),
    _arm(
        "shuffled",
        "scales:Shuffled",
        "PostDeg with the degrees of each graph dealt out to its nodes at random.",
        _SCALED,
        sham=True,
    ),
    _arm(
        "learned",
        "learned:Learned",
        "A learned positive function of the degree in PostDeg's slot, one in each block.",
        (Parameter(name="hidden", default=16, doc="Width of its hidden layer.", low=1, high=256), _slot("S3")),
        sham=False,
    ),
    _arm(
        "core",
        "scales:InverseCore",
        "PostDeg with the core number in place of the degree.",
        _SCALED,
        sham=False,
    ),
)

GREEDY = MethodCard(
    name="greedy-degree",
    kind="norm_placement",
    protocols=_PROTOCOLS,
    target="benchsuite_postdeg.greedy:GreedyDegree",
    summary="No model: picks the node of highest degree among those left (lowest, for an independent set) each time.",
)


def _degree_in_norms(records: Sequence[Any]) -> str:
    """Return the mean over a row's records of q in row norm ~ (1 + degree)^q; empty where none has it."""
    found = [record.measurements.get("degree_exponent") for record in records if record.status == "ok"]
    known = [value for value in found if value is not None]
    return f"{fmean(known):+.2f}" if known else ""


@hookimpl
def benchsuite_columns(board: str) -> dict[str, Callable[[Sequence[Any]], str]]:
    """Add how the norms of the rows that the score head reads grow with the degree."""
    return {"Row norm by degree (exponent)": _degree_in_norms} if board == "norm_placement" else {}


@hookimpl
def benchsuite_methods() -> list[MethodCard]:
    """Offer PostDeg, its backbone, its arms and the greedy rule."""
    return [LAYERNORM, POSTDEG, *ARMS, GREEDY]
