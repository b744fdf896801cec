"""Run files as bytes: which there are, their lines, and what cannot be used of them."""

from __future__ import annotations

import contextlib
import gc
from typing import TYPE_CHECKING, NamedTuple

from benchsuite.errors import StoreError
from benchsuite.store.records import AnyLine, parse_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Located(NamedTuple):
    """A line of a run file that is not empty."""

    number: int
    """From 1."""
    offset: int
    """Bytes before it in the file."""
    size: int
    """Bytes, its newline not counted."""
    line: AnyLine | None
    """None where it cannot be used."""
    problem: str
    """Why it cannot be used; empty where it can."""


def run_files(results: Path) -> list[Path]:
    """Return the run files below ``results`` in the order of their paths; none where there is no such folder.

    Raises:
        StoreError: the folder cannot be read.
    """
    try:
        return sorted(path for path in results.rglob("*.jsonl") if path.is_file())
    except OSError as error:
        raise StoreError(f"the results folder {results} cannot be read: {error.strerror}") from error


def read_file(path: Path) -> bytes:
    """Return what is in a run file.

    Raises:
        StoreError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        mend = "Make it readable, or move it out of the results folder"
        raise StoreError(f"the results file {path} cannot be read: {error.strerror}", mend) from error


def scan(data: bytes, number: int = 1, offset: int = 0) -> Iterator[Located]:
    """Read the lines of ``data``; a newline ends every line, so nothing in one line touches the next.

    Args:
        data: whole lines; the last one may lack its newline, where a crash tore it or it is being written.
        number: what the first line counts as.
        offset: bytes of the file before ``data``.
    """
    for text in data.split(b"\n"):
        if text.strip():
            try:
                yield Located(number, offset, len(text), parse_line(text), "")
            except StoreError as error:
                yield Located(number, offset, len(text), None, str(error))
        number += 1
        offset += len(text) + 1


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the garbage collector from going again and again through records that are all kept."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
