"""A corpus: training documents and a fixed held-out set, cut from files by one rule."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PASSAGE = 400
"""Characters that a document has at least, where its source goes on."""
HELD_OUT = 10
"""One document in this many is held out, where a corpus does not come with a test set."""


@dataclass(frozen=True)
class Corpus:
    """Documents of one kind of text."""

    name: str
    documents: tuple[str, ...]
    """For training, in the order of their sources."""
    held_out: tuple[str, ...]
    """For evaluation; none of them is among ``documents``. Ordered by their hash, so that the first so many are a
    fixed sample of them all."""
    digest: str
    """sha256 (hex) of both sets; the name is no part of it."""


def passages(text: str, size: int = PASSAGE) -> list[str]:
    """Cut ``text`` into documents at its own seams.

    A passage ends at the first blank line behind ``size`` characters, or at the first line end behind twice as many.
    Lines are never cut, so a passage may be longer; blank space around passages is dropped.
    """
    found: list[str] = []
    lines: list[str] = []
    length = 0
    for line in text.splitlines(keepends=True):
        lines.append(line)
        length += len(line)
        if length >= (2 * size if line.strip() else size):
            found.append("".join(lines))
            lines, length = [], 0
    found.append("".join(lines))
    return [kept for kept in (passage.strip() for passage in found) if kept]


def split(sources: Iterable[Sequence[str]]) -> tuple[list[str], list[str]]:
    """Divide sources, each a list of documents, into training and held-out documents.

    A source of at least ten documents holds out its last tenth: what it says there is mostly not said before. Of the
    documents of shorter sources every tenth is held out, by the order of their hashes, and at least one of two.
    """
    training: list[str] = []
    held_out: list[str] = []
    short: list[str] = []
    for source in sources:
        if len(source) < HELD_OUT:
            short += source
            continue
        cut = len(source) - len(source) // HELD_OUT
        training += source[:cut]
        held_out += source[cut:]
    few = max(len(short) // HELD_OUT, 1) if len(short) > 1 else 0
    chosen = set(sorted(short, key=_hash)[:few])
    return training + [text for text in short if text not in chosen], [*held_out, *chosen]


def make_corpus(name: str, documents: Iterable[str], held_out: Iterable[str]) -> Corpus:
    """Return the corpus of two sets of documents, without duplicates; what is held out is not trained on.

    Raises:
        MissingDataError: either set is empty.
    """
    apart = dict.fromkeys(sorted(held_out, key=_hash))
    training = [text for text in dict.fromkeys(documents) if text not in apart]
    if not training or not apart:
        raise MissingDataError(
            f"corpus {name!r} is empty: {len(training)} documents to train on, {len(apart)} held out",
            "It needs at least one of each: more text",
        )
    digest = hashlib.sha256()
    for group in (training, apart):
        digest.update(f"{len(group)} documents\n".encode())
        for text in group:
            digest.update(hashlib.sha256(text.encode()).digest())
    return Corpus(name, tuple(training), tuple(apart), digest.hexdigest())


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
