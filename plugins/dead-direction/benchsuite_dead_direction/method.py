"""The probe: read the final norm's scale, and say which directions are dead. No pass through the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from benchsuite.models.norms import examine
from benchsuite.plugin import FinalNorm, NotApplicableError, Reading
from benchsuite_dead_direction.direction import dead_directions

if TYPE_CHECKING:
    from torch import Tensor, nn

    from benchsuite.models.norms import Examination
    from benchsuite.plugin import Subject

FINAL = "final"


class DeadDirection:
    """Reads dead directions from a norm's scale alone.

    Args:
        norm: module path of the norm; ``"final"`` is the one that the host found by behaviour.
    """

    def __init__(self, norm: str = FINAL) -> None:
        self.norm = norm

    def probe(self, subject: Subject) -> Reading:
        """Return the directions and whether they are dead.

        Raises:
            NotApplicableError: there is no such norm.
        """
        site = subject.final_norm() if self.norm == FINAL else _given(subject.model, self.norm)
        examination = examine(subject.model.get_submodule(site.path), site.width)
        gamma = examination.gamma
        if gamma is None or examination.nature not in ("layer", "rms"):
            raise NotApplicableError(f"{site.path!r} is no norm: {examination.reason}")
        nature = "layer" if examination.nature == "layer" else "rms"
        epsilon = torch.finfo(subject.dtype).eps
        found = dead_directions(gamma, nature, epsilon)
        return Reading(
            "parameters",
            {site.path: found.basis},
            present=found.dead,
            diagnostics={
                "kind": nature,
                "found_by": site.evidence,
                "zeros": found.zeros,
                **_about(gamma, examination),
            },
        )


def _given(model: nn.Module, path: str) -> FinalNorm:
    try:
        module = model.get_submodule(path)
    except AttributeError:
        raise NotApplicableError(f"the model has no module {path!r}") from None
    width = next((parameter.numel() for parameter in module.parameters(recurse=False)), None)
    if width is None:
        raise NotApplicableError(f"{path!r} has no parameters, so its width cannot be read")
    return FinalNorm(path, width, "given")


def _about(gamma: Tensor, examination: Examination) -> dict[str, float | int | None]:
    """Return what shows whether a norm was ever trained, and how well its scale was read."""
    return {
        "smallest_scale": float(gamma.abs().min()),
        "largest_scale": float(gamma.abs().max()),
        "negative": int((gamma < 0).sum()),
        "unexplained": examination.unexplained,
    }
