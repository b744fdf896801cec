"""Contract between the engine and a task.

A task is split where trust is split. :meth:`Task.prepare` and :meth:`Task.score` run in the host, which holds the
held-out labels; :meth:`Task.run` runs in a worker beside the method's code, and what it is handed has no such label.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    from pydantic import JsonValue

    from benchsuite.contracts.cards import DatasetCard, Kind, Scalar, TaskCard


@dataclass(frozen=True)
class Places:
    """Where files lie."""

    data: Path | None
    """``BENCHSUITE_DATA``, or None."""
    cache: Path
    """Disposable: prepared views and trained reference models, by content hash."""
    datasets: Mapping[str, DatasetCard] = field(default_factory=dict)
    """The catalogue's data set cards by name; a task falls back on those of the suite."""


@dataclass(frozen=True)
class Prepared:
    """A task's data, split into what a worker may see and what only the host may."""

    view: Path
    """A file without held-out labels, named after its content."""
    data_hash: str
    """Of the whole data set, labels and split included; part of the cell key."""
    held_out: Mapping[str, np.ndarray] = field(repr=False)
    """The labels that stay in the host."""
    shown: bytes = field(default=b"", repr=False)
    """What a worker may see besides the view: of several folds the labels and the split of this one."""
    folds: tuple[Prepared, ...] = ()
    """Of cross-validation all folds, over one view."""

    def of(self, seed: int) -> Prepared:
        """Return what a cell of that seed works on: the fold of that number, modulo how many there are."""
        return self.folds[seed % len(self.folds)] if self.folds else self


@dataclass(frozen=True)
class CellInput:
    """What :meth:`Task.run` is given in the worker."""

    view: Path
    cache: Path
    seed: int
    methods: Mapping[Kind, MethodSpec]
    device: str = "cpu"
    shown: bytes = field(default=b"", repr=False)
    """As :attr:`Prepared.shown`."""


@dataclass(frozen=True)
class MethodSpec:
    """A method with its parameters, ready to be made in a worker."""

    name: str
    target: str
    params: Mapping[str, Scalar]
    version: str = "1"

    def make(self) -> Any:
        """Import the target and call it with the parameters."""
        import importlib

        module, _, attribute = self.target.partition(":")
        return getattr(importlib.import_module(module), attribute)(**self.params)


@dataclass(frozen=True)
class CellOutput:
    """What a worker sends back."""

    predictions: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    """What :meth:`Task.score` needs."""
    measurements: Mapping[str, float | None] = field(default_factory=dict)
    """Numbers that need no label: seconds, bytes, ratios, agreement with the reference."""
    samples: Mapping[str, list[float]] = field(default_factory=dict)
    """The repeated measurements behind a median."""
    notes: Mapping[str, JsonValue] = field(default_factory=dict)
    """Whatever else a reader of the record may want to know."""


@runtime_checkable
class Task(Protocol):
    """What a :class:`~benchsuite.contracts.cards.TaskCard`'s target implements; called as ``target(card)``.

    It may also have ``estimate()``, which returns a mapping of texts: what a cell of it takes, from the card alone. A
    dry run shows it.
    """

    def __init__(self, card: TaskCard) -> None: ...

    def prepare(self, places: Places) -> Prepared:
        """Read and validate the data and write the view. Host only.

        Raises:
            MissingDataError: the data set is absent, truncated or another one.
        """
        ...

    def run(self, cell: CellInput) -> CellOutput:
        """Run one cell. Worker only.

        Raises:
            ProtocolError: the method broke its contract.
        """
        ...

    def score(self, prepared: Prepared, output: CellOutput) -> dict[str, float]:
        """Return one value for each of the card's metrics. Host only.

        Raises:
            ProtocolError: the predictions do not have the right shape or are not finite.
        """
        ...
