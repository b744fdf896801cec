"""Sham controls: directions that are dead after no norm whose scale says something, claimed to be dead after each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import torch

from benchsuite.models.norms import examine
from benchsuite.plugin import NotApplicableError, Reading

if TYPE_CHECKING:
    from torch import Tensor

    from benchsuite.plugin import FinalNorm, Subject


class _Sham(ABC):
    """Claims one direction, whatever the norm is."""

    def probe(self, subject: Subject) -> Reading:
        """Return the claim.

        Raises:
            NotApplicableError: there is no final norm.
        """
        site = subject.final_norm()
        return Reading("parameters", {site.path: self.direction(subject, site)[None]}, present=True)

    @abstractmethod
    def direction(self, subject: Subject, site: FinalNorm) -> Tensor:
        """Return the direction, ``[width]`` float64."""


class GammaDirection(_Sham):
    """The scale itself."""

    def direction(self, subject: Subject, site: FinalNorm) -> Tensor:
        """Return the scale as the module applies it; ones where it has none."""
        examination = examine(subject.model.get_submodule(site.path), site.width)
        if examination.gamma is None:
            raise NotApplicableError(f"{site.path!r} is no norm: {examination.reason}")
        return examination.gamma


class OnesDirection(_Sham):
    """The direction that is dead before the scale is applied."""

    def direction(self, subject: Subject, site: FinalNorm) -> Tensor:
        """Return the all-ones vector."""
        return torch.ones(site.width, dtype=torch.float64)


class RandomDirection(_Sham):
    """A direction drawn from the method's own stream."""

    def direction(self, subject: Subject, site: FinalNorm) -> Tensor:
        """Return a normal vector."""
        return torch.randn(site.width, generator=subject.generator, dtype=torch.float64)
