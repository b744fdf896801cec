"""What a worker is told: where the tokenised documents lie, and which teacher it is to load.

Here the labels are the tokens themselves, and a worker that computes the held-out cross-entropy must see them. So they
lie in a file apart, which the training loop is never given; that keeps mistakes out, and is no proof against a method
that looks for them.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from benchsuite.caching import read_hashed, write_hashed
from benchsuite.contracts.cards import Frozen
from benchsuite.errors import MissingDataError
from benchsuite.tasks.distillation.documents import pack, read_documents, write_documents

if TYPE_CHECKING:
    from pathlib import Path

    from benchsuite.contracts.task import Places
    from benchsuite.data.text import Corpus, Tokenizer
    from benchsuite.tasks.distillation.config import DistillationConfig
    from benchsuite.tasks.distillation.documents import Documents

FOLDER = "views"


class View(Frozen):
    """The file's content."""

    training: str
    """Name of the file beside it with the training documents."""
    held_out: str
    vocab: int
    """Of the tokenizer."""
    pad: int
    tokenizer: str
    """Its digest."""
    teacher: str
    """Hash of what the teacher is."""
    data: str | None = None
    """The data folder: a teacher may lie in it."""

    def content_hash(self) -> str:
        """Return the hash of everything but the place."""
        return hashlib.sha256(self.model_copy(update={"data": None}).model_dump_json().encode()).hexdigest()


class Opened(NamedTuple):
    """A view with its documents."""

    view: View
    training: Documents
    held_out: Documents


def make_view(
    corpus: Corpus, tokenizer: Tokenizer, teacher: str, config: DistillationConfig, places: Places
) -> tuple[View, Path]:
    """Tokenise ``corpus`` and write it into the cache.

    Args:
        corpus: what is read.
        tokenizer: the teacher's.
        teacher: hash of what the teacher is.
        config: context, and how many documents are held out.
        places: data and cache.

    Returns:
        The view and its file.

    Raises:
        MissingDataError: no document is long enough to predict anything.
        StoreError: the cache cannot be written.
    """
    parts = {"training": corpus.documents, "held_out": corpus.held_out[: config.held_out]}
    names, folder = {}, places.cache / FOLDER
    for part, texts in parts.items():
        documents = pack(tokenizer.documents(texts), config.context, tokenizer.pad)
        if not len(documents):
            words = part.replace("_", "-")
            raise MissingDataError(f"corpus {corpus.name!r} has no {words} document of two tokens", "Take another one")
        names[part] = write_documents(documents, folder).name
    view = View(
        **names,
        vocab=tokenizer.vocab,
        pad=tokenizer.pad,
        tokenizer=tokenizer.digest,
        teacher=teacher,
        data=None if places.data is None else str(places.data.resolve()),
    )
    return view, write_hashed(folder, view.model_dump_json().encode(), ".json")


@lru_cache(maxsize=2)
def open_view(path: Path) -> Opened:
    """Return the view in ``path`` and its documents; a warm worker reads them once.

    Raises:
        MissingDataError: a file is absent or damaged.
    """
    try:
        view = View.model_validate_json(read_hashed(path))
    except ValidationError as error:
        raise MissingDataError(f"{path} is no prepared view", "Start the run again: it is written anew") from error
    return Opened(view, read_documents(path.parent / view.training), read_documents(path.parent / view.held_out))
