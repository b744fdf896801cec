"""Text full of whole numbers, as arrays."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from benchsuite.errors import MissingDataError

AGAIN = "Get the original file again"
_SPACE, _NEWLINE = 32, 10


@dataclass(frozen=True)
class Parsed:
    """A collection as its files have it, in whatever codes they use."""

    sizes: np.ndarray
    """``[graphs]`` int64, nodes of each graph, none zero."""
    source: np.ndarray
    """``[edges]`` int64, nodes counted through all graphs."""
    target: np.ndarray
    """``[edges]`` int64."""
    labels: np.ndarray
    """``[graphs]`` int64."""
    tags: np.ndarray | None
    """``[nodes, columns]`` int64, or None where the files have none."""


def damaged(where: str, what: str) -> MissingDataError:
    """Return the error for a file whose content cannot be right."""
    return MissingDataError(f"{where} {what}: damaged, or not of this form", AGAIN)


def whole_numbers(text: bytes, where: str) -> np.ndarray:
    """Return all numbers of ``text``, ``[numbers]`` int64.

    Raises:
        MissingDataError: something in it is no whole number.
    """
    try:
        with warnings.catch_warnings():
            # NumPy before 2.3 stops at the first thing that is no number, and only warns.
            warnings.simplefilter("error", DeprecationWarning)
            return np.fromstring(text, dtype=np.int64, sep=" ")
    except (ValueError, DeprecationWarning) as error:
        raise damaged(where, "holds something that is no whole number") from error


def line_lengths(text: bytes) -> np.ndarray:
    """Return how many words each line has, ``[lines]`` int64; lines without any are left out."""
    letters = np.frombuffer(text, np.uint8)
    is_word = letters > _SPACE
    starts = is_word.copy()
    starts[1:] &= ~is_word[:-1]
    ends = np.flatnonzero(letters == _NEWLINE)
    # The place among all words of the first word behind each line.
    behind = np.searchsorted(np.flatnonzero(starts), ends)
    lengths = np.diff(behind, prepend=0, append=int(starts.sum()))
    return lengths[lengths > 0]
