"""Everything benchsuite raises on purpose.

::

    BenchsuiteError          one line for people: what is wrong, and the mend
    ├── UsageError           the command line or a config file asks for something that does not exist
    ├── PluginError          a plugin that the command needs is broken, missing or in conflict
    ├── MissingDataError     a data set is absent, truncated, foreign or cannot be downloaded
    ├── ProtocolError        a method or a task broke its contract (wrong shape, NaN, bad bit-width)
    └── StoreError           results cannot be read or written
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "BenchsuiteError",
    "MissingDataError",
    "PluginError",
    "ProtocolError",
    "StoreError",
    "UsageError",
    "near",
]


class BenchsuiteError(Exception):
    """An error with a mend: the command line prints it as one line and exits with ``exit_code``."""

    exit_code = 2

    def __init__(self, message: str, mend: str = "") -> None:
        super().__init__(message, mend)
        self.message = message
        self.mend = mend

    def __str__(self) -> str:
        return f"{self.message}. {self.mend}" if self.mend else self.message


class UsageError(BenchsuiteError):
    """The user asked for something that does not exist or does not fit."""


class PluginError(BenchsuiteError):
    """A plugin that is needed is broken, missing or in conflict with another."""


class MissingDataError(BenchsuiteError):
    """A data set is absent, truncated, of another kind, or out of reach."""


class ProtocolError(BenchsuiteError):
    """A method or a task broke its contract."""


class StoreError(BenchsuiteError):
    """Results cannot be read or written."""


def near(name: str, known: Iterable[str]) -> str:
    """Return a mend that names the nearest of ``known``, or lists them all where none is near.

    Args:
        name: what was asked for.
        known: what there is.
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return "Did you mean " + " or ".join(repr(c) for c in close) + "?"
    return "Known: " + ", ".join(names) if names else "There are none"
