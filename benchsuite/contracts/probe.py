"""Contract of the kind ``probe``, version 1.

A probe is a class whose constructor takes the card's parameters as keyword arguments and which has one method,
:meth:`Probe.probe`. It reads a model that it must leave as it was. The host times the call, counts the forward passes,
and scores the reading against ground truth that it computed before the probe ran, on a copy of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from benchsuite.errors import BenchsuiteError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import torch
    from pydantic import JsonValue
    from torch import Tensor

#: What a reading used, from cheapest to dearest. ``parameters`` allows calls of single small modules on made-up input
#: (that is how a norm's scale is read, whatever its class calls it) and no pass through the model. The host counts.
Access = Literal["parameters", "forward", "gradients"]

#: How a norm became the final one: its output is the trunk's last hidden state; or it is the last one that ran,
#: because no norm's output is that; or its path was given.
Evidence = Literal["output", "order", "given"]


class NotApplicableError(BenchsuiteError):
    """A probe has nothing to say of a model; the message is the reason, after "not applicable, because"."""


@dataclass(frozen=True)
class FinalNorm:
    """Where a model's final norm is."""

    path: str
    """Module path, as :meth:`torch.nn.Module.get_submodule` takes it."""
    width: int
    """Size of the axis that it normalises."""
    evidence: Evidence


@dataclass(frozen=True)
class Subject:
    """The model under the probe."""

    model: torch.nn.Module
    """In eval mode, a copy that no other part of the host uses. It must come back unchanged and without hooks."""
    batches: Callable[[], Iterator[Mapping[str, Tensor]]]
    """Returns a fresh iterator over batches of keyword arguments for the model, a few tokens per unit of width in
    all. They are not those on which the host measures."""
    dtype: torch.dtype
    """Of the forward pass: it sets the noise floor of any reading of activations."""
    final_norm: Callable[[], FinalNorm]
    """Returns the final norm, which the host found by behaviour before the clock started: where an architecture has
    it does not depend on the checkpoint. Raises :class:`NotApplicableError` where there is none."""
    generator: torch.Generator
    """The method's own random stream; derived from the cell's seed."""


@dataclass(frozen=True)
class Reading:
    """What a probe found."""

    access: Access
    values: Mapping[str, Tensor] = field(default_factory=dict)
    """For each site (a module path) its values, float64, of the shape and in the unit that the task's protocol states.
    For dead directions: ``[k, width]``, rows that span what is claimed; need not be orthogonal or of unit length."""
    present: bool | None = None
    """Whether what the probe looks for is there; None where it does not say. Where it is False, ``values`` may still
    hold the candidate that was refuted, so that the host can measure it."""
    noise_floor: float | None = None
    """Smallest value that differs from rounding, in the values' own unit."""
    not_applicable: str | None = None
    """The reason, where the probe has nothing to say of this model; ``values`` is then empty."""
    diagnostics: Mapping[str, JsonValue] = field(default_factory=dict)
    """What a reader of the record may want to know (the kind of norm, zeros of its scale)."""


@runtime_checkable
class Probe(Protocol):
    """A method of the kind ``probe``."""

    def probe(self, subject: Subject) -> Reading:
        """Return the reading.

        Raises:
            NotApplicableError: there is nothing to read; the same as a reading with ``not_applicable``.
        """
        ...
