"""Who is told how a run goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchsuite.engine.cells import Cell
    from benchsuite.engine.plan import Planned
    from benchsuite.store.records import CellRecord


class Reporter(Protocol):
    """Is told what happens, in the order in which it does."""

    def preparing(self, task: str) -> None:
        """The data of ``task`` is about to be read."""

    def skipped(self, task: str, reason: str) -> None:
        """``task`` is left out."""

    def planned(self, plan: Sequence[Planned]) -> None:
        """The plan is made, and its cells are about to run."""

    def started(self, cell: Cell) -> None:
        """``cell`` is handed to a worker."""

    def finished(self, cell: Cell, record: CellRecord) -> None:
        """``cell`` has ended, and its record is on the disk."""


class Silent:
    """A reporter that tells nobody."""

    def preparing(self, task: str) -> None:
        """Do nothing."""

    def skipped(self, task: str, reason: str) -> None:
        """Do nothing."""

    def planned(self, plan: Sequence[Planned]) -> None:
        """Do nothing."""

    def started(self, cell: Cell) -> None:
        """Do nothing."""

    def finished(self, cell: Cell, record: CellRecord) -> None:
        """Do nothing."""
