"""Shows how a run goes: a live display on a terminal, one plain line per event elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from benchsuite.cli.common import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from rich.console import Console
    from rich.progress import Progress, TaskID
    from typing_extensions import Self

    from benchsuite.engine.cells import Cell
    from benchsuite.engine.estimate import Durations
    from benchsuite.engine.plan import Planned
    from benchsuite.store.records import CellRecord

__all__ = ["LiveReporter", "PlainReporter", "duration", "make_reporter"]

_STYLES = {"ok": "green", "failed": "red", "crashed": "red", "oom": "red", "timeout": "yellow"}


class PlainReporter:
    """Prints one line per event, for logs and pipes.

    Args:
        console: where to print.
        durations: what is known of how long cells take; learns as the run goes.
        jobs: cells that run at a time.
        digits: by task, the first metric's name and its digits.
    """

    def __init__(
        self, console: Console, durations: Durations, jobs: int, digits: Mapping[str, tuple[str, int]]
    ) -> None:
        self.console = console
        self.durations = durations
        self.jobs = jobs
        self._digits = digits
        self._left: dict[str, Cell] = {}
        self._total = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        return None

    def preparing(self, task: str) -> None:
        """Say which task's data is read."""
        self._print(f"preparing {task}")

    def skipped(self, task: str, reason: str) -> None:
        """Say which task is left out, and why."""
        self._print(f"skipped {task}: {reason}", style="yellow")

    def planned(self, plan: Sequence[Planned]) -> None:
        """Say how much there is to do."""
        self._left = {each.cell.id: each.cell for each in plan if each.runs}
        self._total = len(self._left)
        counts: Counter[str] = Counter(each.state for each in plan)
        parts = [f"{counts[state]} {word}" for state, word in _STATES.items() if counts[state]]
        self._print(f"{len(plan)} cells: {', '.join(parts)}{self._eta()}")
        stale = Counter(each.reason for each in plan if each.state == "stale")
        for reason, number in sorted(stale.items()):
            self._print(f"stale: {reason}: {number} cells", style="yellow")
        for reason in sorted({each.reason for each in plan if each.state == "done" and each.reason}):
            self._print(f"note: {reason}: --force runs it again", style="yellow")

    def started(self, cell: Cell) -> None:
        """Print nothing: the line comes when the cell has ended."""

    def finished(self, cell: Cell, record: CellRecord) -> None:
        """Print the cell's line."""
        self._left.pop(cell.id, None)
        self.durations.learn(record)
        self._print(self._line(cell, record), style=_STYLES.get(record.status))

    def _line(self, cell: Cell, record: CellRecord) -> str:
        done = self._total - len(self._left)
        place = f"[{done:{len(str(self._total))}d}/{self._total}]"
        what = f"{cell.task}  {cell.label}  seed {cell.seed}"
        return f"{place} {record.status:7s} {what}  {self._result(record)}  {duration(record.seconds)}"

    def _result(self, record: CellRecord) -> str:
        if record.error is not None:
            return f"{record.error.type}: {record.error.message}"
        name, digits = self._digits.get(record.key["task"], ("", 2))
        return f"{record.metrics[name]:.{digits}f}" if name in record.metrics else "-"

    def _eta(self) -> str:
        left = self.durations.remaining(self._left.values(), self.jobs)
        return f"; about {duration(left)}" if left else ""

    def _print(self, line: str, style: str | None = None) -> None:
        self.console.print(printable(line), style=style, soft_wrap=True)


_STATES = {"done": "done", "todo": "to do", "stale": "stale, to do again", "left": "left as they failed"}


class LiveReporter(PlainReporter):
    """Keeps a progress bar with the cells that run below the lines; for terminals."""

    def __init__(
        self, console: Console, durations: Durations, jobs: int, digits: Mapping[str, tuple[str, int]]
    ) -> None:
        super().__init__(console, durations, jobs, digits)
        self._running: dict[str, Cell] = {}
        self._due: float | None = None
        self._bar: TaskID | None = None
        self._progress = self._make_progress()

    def __enter__(self) -> Self:
        self._progress.start()
        self._bar = self._progress.add_task("preparing", total=None)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._progress.stop()

    def preparing(self, task: str) -> None:
        """Show which task's data is read."""
        self._update(description=printable(f"preparing {task}"))

    def planned(self, plan: Sequence[Planned]) -> None:
        """Say how much there is to do, and start the bar."""
        super().planned(plan)
        self._update(total=self._total, completed=0, description="starting a worker" if self._total else "")

    def started(self, cell: Cell) -> None:
        """Show the cell among those that run."""
        self._running[cell.id] = cell
        self._show()

    def finished(self, cell: Cell, record: CellRecord) -> None:
        """Print the cell's line and move the bar."""
        self._running.pop(cell.id, None)
        super().finished(cell, record)
        self._show()

    def _show(self) -> None:
        left = self.durations.remaining(self._left.values(), self.jobs)
        self._due = None if left is None else time.monotonic() + left
        names = ", ".join(f"{cell.task} {cell.label} seed {cell.seed}" for cell in self._running.values())
        self._update(completed=self._total - len(self._left), description=printable(names))

    def _update(self, **fields: object) -> None:
        if self._bar is not None:
            self._progress.update(self._bar, **fields)  # type: ignore[arg-type]

    def _countdown(self) -> str:
        if self._due is None:
            return ""
        return f"about {duration(max(0.0, self._due - time.monotonic()))} left"

    def _make_progress(self) -> Progress:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
        from rich.text import Text

        countdown = self._countdown

        class Left(ProgressColumn):
            """Counts down between cells too."""

            def render(self, task: Task) -> Text:
                return Text(countdown())

        columns = (
            MofNCompleteColumn(),
            BarColumn(bar_width=24),
            Left(),
            TextColumn("{task.description}", markup=False),
        )
        return Progress(*columns, console=self.console, transient=True, refresh_per_second=4)


def make_reporter(
    console: Console, durations: Durations, jobs: int, digits: Mapping[str, tuple[str, int]]
) -> PlainReporter:
    """Return the reporter that suits the console."""
    kind = LiveReporter if console.is_terminal else PlainReporter
    return kind(console, durations, jobs, digits)


def duration(seconds: float) -> str:
    """Write a time span as people do: ``0.4 s``, ``12 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
