"""Card of the dead-direction probe (arXiv 2606.19491)."""

from __future__ import annotations

from benchsuite.plugin import MethodCard, Paper, Parameter, Reported, hookimpl

SOURCE = "arXiv 2606.19491, text: random initialisation"
LAYER_NOTE = (
    "Over all 9 LayerNorm models of the paper together: cosine at least 0.9999 in 9 of 9, mean 0.99999. Its models "
    "have 160 M to 35 B parameters; ours are 9 families built small, with a perturbed scale."
)
RMS_NOTE = (
    "Over all 5 RMSNorm models of the paper together: mean cosine 0.015, none dead. The cosine of two random "
    "directions is about sqrt(2 / (pi d)), so it is larger at our width than at the paper's."
)


def _reported() -> tuple[Reported, ...]:
    groups = (("init-layernorm", 0.99999, LAYER_NOTE), ("init-rmsnorm", 0.015, RMS_NOTE))
    return tuple(
        Reported(task=group, metric=metric, value=value, source=SOURCE, note=note)
        for group, cosine, note in groups
        for metric, value in (("verdict", 100.0), ("cosine", cosine))
    )


CARD = MethodCard(
    name="dead-direction",
    kind="probe",
    target="benchsuite_dead_direction.method:DeadDirection",
    summary="The inverse of the final norm's scale, from the norm alone: dead after LayerNorm, alive after RMSNorm.",
    parameters=(
        Parameter(
            name="norm",
            default="final",
            doc="Module path of the norm to read; final is the one that the host found by what it does.",
        ),
    ),
    paper=Paper(
        title="Dead directions of LayerNorm",
        url="https://arxiv.org/abs/2606.19491",
        year=2026,
        venue="arXiv 2606.19491",
    ),
    reported=_reported(),
    departures=(
        "The paper's own way to tell LayerNorm from RMSNorm from the parameters alone is not known to us; ours is a "
        "shift test on the norm module, with random input.",
        "The scale is read by regression of the module's output on its standardised input, not from an attribute: "
        "some norms store gamma - 1, some nothing.",
        "Entries of the scale below d * epsilon times the largest count as zero. With zeros the reading is a basis of "
        "the features that are constant, for an RMSNorm too.",
        "Only the final norm is read; the paper's Schur ratio, spectra per block and the direction in parameter space "
        "are not.",
    ),
)


@hookimpl
def benchsuite_methods() -> list[MethodCard]:
    """Offer the probe."""
    return [CARD]
