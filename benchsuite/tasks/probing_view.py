"""What a worker is told of a checkpoint: where its files lie, their hashes, and two runs of token ids.

There are no labels to hide here. The file keeps the worker from reading anything else, and its hashes from reading
another checkpoint than the host saw. It is named after its content, like every view.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from benchsuite.caching import read_hashed, write_hashed
from benchsuite.contracts.cards import Frozen
from benchsuite.errors import MissingDataError
from benchsuite.models.zoo.checkpoints import encode, files_of, vocabulary_of

if TYPE_CHECKING:
    from benchsuite.tasks.probing_config import SubjectConfig

MOST = 2**14
"""Ids in each of the two runs."""
_MEND = "Start the run again: it is written anew"


class View(Frozen):
    """The file's content; empty for a family, which is made from the seed alone."""

    folder: str | None = None
    hashes: Mapping[str, str] = {}
    """SHA-256 of each file of the checkpoint, by name."""
    vocabulary: int = 0
    probe: tuple[int, ...] = ()
    """Token ids that the method may see; empty where there is no text, and ids are drawn at random."""
    truth: tuple[int, ...] = ()
    """Token ids that the task measures on: another part of the same text."""

    def content_hash(self) -> str:
        """Return the hash of everything but the place."""
        return _sha256(self.model_copy(update={"folder": None}).model_dump_json().encode())


def make_view(config: SubjectConfig, root: Path | None) -> View:
    """Read what ``config`` names below ``root``.

    Raises:
        MissingDataError: the checkpoint is absent or damaged, or its tokenizer is another model's.
    """
    if config.checkpoint is None:
        return View()
    if root is None:
        raise MissingDataError(
            f"the checkpoint {config.checkpoint!r} lies below BENCHSUITE_DATA, which is not set",
            "Set it to the folder with the data",
        )
    folder = (root / config.checkpoint).absolute()
    hashes = {path.name: sha256(path) for path in files_of(folder)}
    known = vocabulary_of(folder)
    text = _read_text(root / config.text)
    ids = (encode(folder, text, 2 * MOST) if text else None) or []
    if ids and max(ids) >= known:
        raise MissingDataError(
            f"the tokenizer in {folder} has the id {max(ids)}, the model knows {known}", "They belong to two models"
        )
    half = len(ids) // 2
    return View(folder=str(folder), hashes=hashes, vocabulary=known, probe=ids[:half], truth=ids[half:])


def write_view(view: View, cache: Path) -> Path:
    """Write ``view`` below ``cache`` and return its file.

    Raises:
        StoreError: the cache cannot be written.
    """
    return write_hashed(cache / "views", view.model_dump_json().encode(), ".json")


@lru_cache(maxsize=2)
def read_view(path: Path) -> View:
    """Return the view in ``path``, once its checkpoint is seen to be the one that the host saw.

    Raises:
        MissingDataError: the file is absent or damaged, or the checkpoint has changed since.
    """
    try:
        view = View.model_validate_json(read_hashed(path))
    except ValidationError as error:
        raise MissingDataError(f"{path} is not a prepared view", _MEND) from error
    for name, wanted in view.hashes.items():
        if sha256(Path(view.folder or "") / name) != wanted:
            raise MissingDataError(f"{name} of the checkpoint {view.folder} has changed since it was prepared", _MEND)
    return view


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file of any size, in hex.

    Raises:
        MissingDataError: it cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(2**20):
                digest.update(block)
    except OSError as error:
        raise MissingDataError(f"{path} cannot be read: {error.strerror}", "Look at the folder") from error
    return digest.hexdigest()


def _read_text(path: Path) -> str | None:
    """Return the text of a plain or gzipped file; None where there is no such file."""
    if not path.is_file():
        return None
    try:
        data = path.read_bytes()
        return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    except (OSError, EOFError, ValueError) as error:
        raise MissingDataError(f"the text {path} cannot be read: {error}", "Get the file again") from error


def _sha256(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()
