"""What goes to a worker and what comes back: plain data, the same for every executor."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchsuite.contracts.task import CellOutput
from benchsuite.errors import ProtocolError
from benchsuite.store.records import ErrorInfo, Nonfinite, Status, canonical, finite

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from pydantic import JsonValue

    from benchsuite.contracts.cards import TaskCard
    from benchsuite.contracts.task import CellInput
    from benchsuite.store.records import EnvLine, PluginSource

#: A line of the store is for people and for git. What is longer does not belong into a record.
LONGEST_NOTES = 64 * 1024


@dataclass(frozen=True)
class Payload:
    """One cell, ready to be run by a process that knows nothing else."""

    cell: str
    """Id of the cell."""
    task: TaskCard
    input: CellInput
    packages: Mapping[str, str] = field(default_factory=dict)
    """Top-level packages that are not on the worker's path, and for each the folder in which it lies."""
    sources: Mapping[str, PluginSource] = field(default_factory=dict)
    """By top-level package, the plugins that the cell needs: who runs it elsewhere must have the same code."""


@dataclass(frozen=True)
class Output:
    """A :class:`CellOutput` that was checked and made plain, so that reading it imports and runs nothing."""

    arrays: Mapping[str, bytes]
    """The predictions, each as an ``.npy`` without pickles."""
    measurements: Mapping[str, float | None]
    samples: Mapping[str, list[float | None]]
    notes: Mapping[str, JsonValue]
    nonfinite: Mapping[str, Nonfinite]


@dataclass(frozen=True)
class Outcome:
    """What became of a cell in its worker."""

    status: Status
    started: str
    """ISO 8601, UTC."""
    seconds: float
    """Wall time inside :meth:`Task.run`; of a cell that did not get through it, until it was stopped."""
    output: Output | None = None
    error: ErrorInfo | None = None
    alone: bool = False
    """True where the executor knows that no other cell of this run ran at the same time."""
    spans: Mapping[str, float] = field(default_factory=dict)
    """Seconds of the worker's own steps: ``load`` and ``pack``."""
    worn: bool = False
    """True where the worker must not be used again: the cell left something in it that cannot be undone."""
    attempts: int = 1
    """How often the cell was started."""
    env: EnvLine | None = None
    """What the cell ran on, where that may differ from what the host runs on."""


def pack(output: object) -> Output:
    """Check what a task's ``run`` returned and make it plain.

    Raises:
        ProtocolError: it is no :class:`CellOutput`, or holds what cannot be recorded.
    """
    if not isinstance(output, CellOutput):
        raise ProtocolError(f"the task returned {type(output).__name__} instead of a CellOutput")
    measurements, lost = _numbers(output.measurements)
    lost = {f"measurements.{name}": spelt for name, spelt in lost.items()}
    samples: dict[str, list[float | None]] = {}
    for name, series in output.samples.items():
        values, unusable = _numbers({str(place): value for place, value in enumerate(series)})
        samples[name] = list(values.values())
        lost |= {f"samples.{name}.{place}": spelt for place, spelt in unusable.items()}
    return Output(_arrays(output.predictions), measurements, samples, _notes(output.notes), lost)


def unpack(output: Output) -> CellOutput:
    """Return the :class:`CellOutput` that :meth:`Task.score` is given."""
    import numpy as np

    predictions = {name: np.load(io.BytesIO(data), allow_pickle=False) for name, data in output.arrays.items()}
    samples = {name: [float("nan") if v is None else v for v in values] for name, values in output.samples.items()}
    return CellOutput(predictions, dict(output.measurements), samples, dict(output.notes))


def _numbers(values: Mapping[str, float | None]) -> tuple[dict[str, float | None], dict[str, Nonfinite]]:
    try:
        return finite({str(name): None if value is None else float(value) for name, value in values.items()})
    except (TypeError, ValueError) as error:
        raise ProtocolError(f"a measurement is no number: {error}") from error


def _arrays(predictions: Mapping[str, np.ndarray]) -> dict[str, bytes]:
    import numpy as np

    packed = {}
    for name, value in predictions.items():
        array, buffer = np.asarray(value), io.BytesIO()
        if array.dtype.hasobject:
            raise ProtocolError(f"prediction {name!r} is an array of objects", "Return numbers")
        np.save(buffer, array, allow_pickle=False)
        packed[str(name)] = buffer.getvalue()
    return packed


def _notes(notes: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    try:
        text = canonical(dict(notes))
    except (TypeError, ValueError, RecursionError) as error:
        raise ProtocolError(f"the notes are no JSON: {error}") from error
    if len(text) > LONGEST_NOTES:
        raise ProtocolError(f"the notes have {len(text)} bytes; at most {LONGEST_NOTES} fit into a record")
    return notes
