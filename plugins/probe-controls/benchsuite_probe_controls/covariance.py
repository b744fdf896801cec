"""The baseline: dead directions measured from activations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from benchsuite.models.norms import outputs_at
from benchsuite.plugin import NotApplicableError, Reading

if TYPE_CHECKING:
    from benchsuite.plugin import Subject


class CovarianceSvd:
    """Takes the right singular vectors whose singular values are rounding; where none is, the last one as refuted.

    Rounding is ``max(n, d) * epsilon * s_1``, with the epsilon of the forward pass.
    """

    def probe(self, subject: Subject) -> Reading:
        """Return the directions and whether they are dead.

        Raises:
            NotApplicableError: there is no final norm, or there are fewer tokens than features.
        """
        site = subject.final_norm()
        rows = outputs_at(subject.model, site.path, subject.batches()).double()
        tokens, width = rows.shape
        if tokens < width:
            raise NotApplicableError(f"{tokens} tokens leave some of {width} directions unmeasured")
        _, singular, right = torch.linalg.svd(rows - rows.mean(0), full_matrices=False)
        rounding = max(tokens, width) * torch.finfo(subject.dtype).eps * singular[0]
        dead = int((singular <= rounding).sum())
        floor = float(rounding.square() / singular.square().mean())
        diagnostics = {"tokens": tokens, "smallest_over_largest": float(singular[-1] / singular[0])}
        return Reading("forward", {site.path: right[-max(dead, 1) :]}, dead > 0, floor, diagnostics=diagnostics)
