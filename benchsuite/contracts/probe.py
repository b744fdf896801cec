"""Contract of the kind ``probe``, version 1 (no task uses it yet: it may change when one does).

A probe reads a trained model. The host measures what the reading cost and scores it against ground truth of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import torch
    from torch import Tensor

#: What a reading used, from cheapest to dearest.
Access = Literal["parameters", "forward", "gradients"]


@dataclass(frozen=True)
class Subject:
    """The model under the probe."""

    model: torch.nn.Module
    batches: Callable[[], Iterator[Mapping[str, Tensor]]]
    """Returns a fresh iterator over batches of keyword arguments for the model."""
    dtype: torch.dtype
    """Of the forward pass: it sets the noise floor of any reading of activations."""
    final_norm: Callable[[], str]
    """Returns the module path of the final norm, found by behaviour; raises ProtocolError where there is none."""


@dataclass(frozen=True)
class Reading:
    """What a probe found."""

    access: Access
    values: Mapping[str, Tensor] = field(default_factory=dict)
    """For each site (a module path) its values, float64."""
    noise_floor: float | None = None
    """Smallest value that differs from rounding, in the values' own unit."""
    not_applicable: str | None = None
    """The reason, where the probe has nothing to say of this model; ``values`` is then empty."""


@runtime_checkable
class Probe(Protocol):
    """A method of the kind ``probe``."""

    def probe(self, subject: Subject) -> Reading:
        """Return the reading. The model must be left as it was."""
        ...
