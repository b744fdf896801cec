"""Shows how downloads and copies go: a bar on a terminal, plain lines elsewhere; all of it on stderr."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from benchsuite.cli.common import console, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console
    from rich.progress import Progress, TaskID

    from benchsuite.data.download import Meter

__all__ = ["megabytes", "transfers"]

_PAUSE = 10.0
"""Seconds between two plain lines of one download."""


@contextmanager
def transfers() -> Iterator[Meter]:
    """Print what the block logs at level INFO, line by line, and give the meter of its downloads."""
    out = console(stderr=True)
    if out.is_terminal:
        with _bar(out) as bar, _logged(lambda line: bar.console.print(line, soft_wrap=True)):
            yield _Bars(bar)
    else:
        with _logged(lambda line: click.echo(line, err=True)):
            yield _Lines()


def megabytes(size: int) -> str:
    """Write a number of bytes as people do: ``12 kB``, ``3.4 MB``, ``1,380 MB``."""
    if size < 999_500:
        return f"{max(round(size / 1e3), min(size, 1)):,} kB"
    return f"{size / 1e6:,.1f} MB" if size < 99_950_000 else f"{size / 1e6:,.0f} MB"


class _Lines:
    """One line every now and then; a download that is over before the first is told by its log line alone."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[float, int]] = {}
        self._last = time.monotonic()

    def __call__(self, file: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        start, first = self._since.setdefault(file, (now, done))
        if now - max(self._last, start) >= _PAUSE:
            self._last = now
            whole = f" of {megabytes(total)}" if total else ""
            speed = megabytes(int((done - first) / (now - start)))
            click.echo(printable(f"{file}: {megabytes(done)}{whole}, {speed}/s"), err=True)


class _Bars:
    """A bar for each file."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._files: dict[str, TaskID] = {}

    def __call__(self, file: str, done: int, total: int | None) -> None:
        if file not in self._files:
            self._files[file] = self._bar.add_task(printable(file), total=total, completed=done)
        self._bar.update(self._files[file], completed=done, total=total)


def _bar(out: Console) -> Progress:
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    name = TextColumn("{task.description}", markup=False)
    columns = (name, BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    return Progress(*columns, console=out, transient=True)


@contextmanager
def _logged(show: Callable[[str], object]) -> Iterator[None]:
    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            show(printable(record.getMessage()))

    logger, lines = logging.getLogger("benchsuite"), Lines()
    before = logger.level
    logger.addHandler(lines)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(lines)
        logger.setLevel(before)
