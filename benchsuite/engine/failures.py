"""From an exception to what a record keeps of it: short, clean, and without the names of a person's folders."""

from __future__ import annotations

import os
import re
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from benchsuite.store.records import ErrorInfo

if TYPE_CHECKING:
    from benchsuite.store.records import Status

TAIL_LINES = 40
_LONGEST_LINE = 400
_LONGEST_MESSAGE = 1000

#: How allocators say that memory ran out without raising MemoryError.
_OUT_OF_MEMORY = re.compile(r"out of memory|can(?:'|no)t allocate memory", re.IGNORECASE)


def describe(error: BaseException, phase: str) -> ErrorInfo:
    """Return what a record keeps of an exception: class, message, the end of its traceback."""
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    message = " ".join(impersonal(_message(error)).split())
    short = clean(message, _LONGEST_MESSAGE)
    return ErrorInfo(phase=phase, type=type(error).__name__, message=short, tail=last_lines("".join(lines)))


def status_of(error: BaseException) -> Status:
    """Return ``oom`` where memory ran out, and ``failed`` otherwise."""
    if isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__:
        return "oom"
    if isinstance(error, RuntimeError | OSError) and _OUT_OF_MEMORY.search(_message(error)):
        return "oom"
    return "failed"


def printed(log: Path) -> list[str]:
    """Return the last lines of a log; none where there is no log."""
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - TAIL_LINES * _LONGEST_LINE))
            return last_lines(file.read().decode(errors="replace"))
    except OSError:
        return []


def last_lines(text: str) -> list[str]:
    """Return the last lines of ``text``, fit for a record."""
    return [clean(line, _LONGEST_LINE) for line in impersonal(text).splitlines()[-TAIL_LINES:]]


def clean(text: str, longest: int) -> str:
    """Return ``text`` without lone surrogates, which no file can hold, and cut where it is very long."""
    return text.encode(errors="replace").decode()[:longest]


def impersonal(text: str) -> str:
    """Return ``text`` with module paths relative to Python's path, and the home folder as ``~``.

    Records are shared: where a person keeps their files is nobody's business and differs from machine to machine.
    """
    folders = {str(Path(entry).absolute()) for entry in (*sys.path, sys.base_prefix, sys.prefix) if entry}
    for folder in sorted(folders, key=len, reverse=True):
        if len(folder) > 1:
            text = text.replace(folder + os.sep, "")
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home() raises where there is none
    return text.replace(home + os.sep, "~" + os.sep) if len(home) > 1 else text


def _message(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"the method called sys.exit({error.code!r})"
    try:
        return str(error)
    except Exception as second:  # noqa: BLE001 - a method's exception may be broken itself
        return f"(its message cannot be read: {type(second).__name__})"
