"""The worker side of dead-direction probing: ground truth first, then the method, then what the host scores."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import torch

from benchsuite.contracts.probe import NotApplicableError, Reading, Subject
from benchsuite.contracts.task import CellOutput
from benchsuite.errors import ProtocolError
from benchsuite.models.norms import outputs_at
from benchsuite.tasks.checks import check_diagnostics
from benchsuite.tasks.containment import contained
from benchsuite.tasks.determinism import class_of
from benchsuite.tasks.probing_checks import Watched, check_directions, check_reading
from benchsuite.tasks.probing_score import Spectrum
from benchsuite.tasks.seeds import derive
from benchsuite.tasks.timing import TIMING, Clock, Timing, interleave

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue
    from torch import Tensor

    from benchsuite.contracts.task import CellInput
    from benchsuite.tasks.probing_subjects import Batch, Material


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one call of the probe led to."""

    reading: Reading
    basis: np.ndarray | None
    """``[k, d]``; None where the probe is not applicable."""
    forwards: int


class Bench:
    """One cell on its way through the worker.

    Args:
        cell: seed and method.
        material: the model and its tokens.

    Raises:
        NotApplicableError: the model has no final norm, so there is nothing to measure at.
        ProtocolError: its activations do not vary.
    """

    def __init__(self, cell: CellInput, material: Material) -> None:
        self.cell = cell
        self.material = material
        started = perf_counter()
        material.final_norm()  # here, so that no probe's time holds it
        self.locating = perf_counter() - started
        # Before any code of the method has run on this cell, and never shown to it.
        self.spectrum = spectrum(outputs_at(material.model, material.site, material.truth))

    @cached_property
    def watched(self) -> Watched:
        """The method's own copy of the model."""
        return Watched(copy.deepcopy(self.material.model), self.material.model)

    def forward(self) -> None:
        """Run the task's model over the method's tokens: the unit in which costs are counted."""
        with torch.no_grad():
            for batch in self.material.probe:
                self.material.model(**batch)

    def subject(self) -> Subject:
        """Return what the method is given."""
        generator = torch.Generator().manual_seed(derive(self.cell.seed, "method"))

        def batches() -> Iterator[Mapping[str, Tensor]]:
            return map(_own, self.material.probe)

        return Subject(self.watched.model, batches, torch.float32, self.material.final_norm, generator)

    def probe(self, clock: Clock) -> Outcome:
        """Let the method read the model under ``clock``."""
        with contained(derive(self.cell.seed, "global"), torch.device("cpu")):
            method = self.cell.methods["probe"].make()
            subject = self.subject()
            self.watched.start()
            with clock:
                reading = _reading(method, subject)
            self.watched.stop(reading.access)
        if reading.not_applicable is not None:
            return Outcome(reading, None, self.watched.forwards)
        basis = check_directions(reading, self.watched.model, self.material.site)
        if basis.shape[1] != self.spectrum.width:
            raise ProtocolError(f"the directions have {basis.shape[1]} entries, the norm {self.spectrum.width}")
        return Outcome(reading, basis, self.watched.forwards)

    def output(self) -> CellOutput:
        """Return everything that the cell leaves behind."""
        timing = interleave(self.forward, self.probe, torch.device("cpu"))
        outcome = timing.results[0]
        return CellOutput(
            predictions=self._arrays(outcome),
            measurements={**_costs(timing), **self._measured(timing)},
            samples={
                "probe_seconds": list(timing.call),
                "reference_forward_seconds": list(timing.forward),
                "cost_ratio": list(timing.ratios),
            },
            notes={**self._notes(outcome), "determinism": _determinism(timing)},
        )

    def _arrays(self, outcome: Outcome) -> dict[str, np.ndarray]:
        truth = self.spectrum
        arrays = {
            "singular": truth.singular,
            "right": truth.right,
            "counts": np.array([truth.tokens, truth.distinct], dtype=np.int64),
            "epsilon": np.array(truth.epsilon),
        }
        if outcome.basis is not None:
            arrays["basis"] = outcome.basis
            arrays["present"] = np.array(bool(outcome.reading.present))
        return arrays

    def _measured(self, timing: Timing[Outcome]) -> dict[str, float | None]:
        truth = self.spectrum
        eigenvalues = np.square(truth.singular)
        return {
            "tokens": float(truth.tokens),
            "distinct_tokens": float(truth.distinct),
            "width": float(truth.width),
            "kernel_dimension": None if truth.kernel is None else float(truth.kernel),
            "noise_floor": truth.floor,
            "smallest_singular_ratio": float(truth.singular[-1] / truth.singular[0]),
            "effective_rank": float(eigenvalues.sum() ** 2 / np.square(eigenvalues).sum()),
            "quotient": None if (basis := timing.results[0].basis) is None else truth.quotient(basis),
            "forward_passes": float(timing.results[0].forwards),
            "locating_seconds": self.locating,
        }

    def _notes(self, outcome: Outcome) -> dict[str, JsonValue]:
        reading, found = outcome.reading, self.material.found
        return {
            **self.material.notes,
            "site": self.material.site,
            "found": {"path": found.norm.path, "evidence": found.norm.evidence, "kind": found.examination.nature},
            "access": reading.access,
            "present": reading.present,
            "directions": None if outcome.basis is None else len(outcome.basis),
            "not_applicable": reading.not_applicable,
            "diagnostics": check_diagnostics(reading.diagnostics),
            "timing": TIMING,
        }


def spectrum(activations: Tensor) -> Spectrum:
    """Return the spectrum of ``activations`` (``[n, d]``, in the dtype of the forward), centred, in float64.

    Raises:
        ProtocolError: they are not finite, or all the same.
    """
    if not torch.isfinite(activations).all():
        raise ProtocolError("the activations at the final norm are not finite")
    rows = activations.double()
    _, singular, right = torch.linalg.svd(rows - rows.mean(0), full_matrices=False)
    distinct = len(torch.unique(activations, dim=0))
    if distinct < 2:
        raise ProtocolError("the activations at the final norm are the same for all tokens")
    epsilon = torch.finfo(activations.dtype).eps
    return Spectrum(singular.numpy(), right.numpy(), len(rows), distinct, epsilon)


def _own(batch: Batch) -> Mapping[str, Tensor]:
    return {name: tensor.clone() for name, tensor in batch.items()}


def _reading(method: object, subject: Subject) -> Reading:
    try:
        return check_reading(method.probe(subject))  # type: ignore[attr-defined]
    except NotApplicableError as error:
        return Reading("parameters", not_applicable=error.message)


def _costs(timing: Timing[Outcome]) -> dict[str, float | None]:
    return {
        "probe_seconds": timing.seconds,
        "reference_forward_seconds": timing.forward_seconds,
        "cost_ratio": timing.cost_ratio,
        "drift": timing.drift,
    }


def _determinism(timing: Timing[Outcome]) -> dict[str, JsonValue]:
    """Compare what all repetitions claimed; of a single one nothing is known."""
    if len(timing.results) < 2:
        return {"class": "unknown", "segment": "1 repetition"}
    found = class_of(map(_claim, timing.results))
    return {"class": found, "segment": f"{len(timing.results)} repetitions"}


def _claim(outcome: Outcome) -> list[Tensor]:
    basis = [] if outcome.basis is None else [torch.as_tensor(outcome.basis)]
    return [torch.tensor(bool(outcome.reading.present)), *basis]
