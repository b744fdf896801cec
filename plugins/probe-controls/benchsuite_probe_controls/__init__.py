"""Cards of the baseline and of the sham controls that probes of dead directions are held against."""

from __future__ import annotations

from benchsuite.plugin import MethodCard, hookimpl

COVARIANCE = MethodCard(
    name="covariance-svd",
    kind="probe",
    target="benchsuite_probe_controls.covariance:CovarianceSvd",
    summary="Runs the model, takes the SVD of the centred activations after the final norm: what it costs to measure.",
)

GAMMA = MethodCard(
    name="gamma-direction",
    kind="probe",
    target="benchsuite_probe_controls.shams:GammaDirection",
    summary="Claims that the scale itself, not its inverse, is a dead direction.",
    sham=True,
)

ONES = MethodCard(
    name="ones-direction",
    kind="probe",
    target="benchsuite_probe_controls.shams:OnesDirection",
    summary="Claims that the all-ones vector is a dead direction: right before the scale, wrong after it.",
    sham=True,
)

RANDOM = MethodCard(
    name="random-direction",
    kind="probe",
    target="benchsuite_probe_controls.shams:RandomDirection",
    summary="Claims that a random direction is dead.",
    sham=True,
)


@hookimpl
def benchsuite_methods() -> list[MethodCard]:
    """Offer the baseline and the three shams."""
    return [COVARIANCE, GAMMA, ONES, RANDOM]
