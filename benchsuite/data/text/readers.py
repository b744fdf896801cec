"""Corpora by name: English that ships with CPython, files below ``BENCHSUITE_DATA/text``, or any folder of text."""

from __future__ import annotations

import gzip
import importlib
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from benchsuite.data.text.corpus import PASSAGE, Corpus, make_corpus, passages, split
from benchsuite.errors import MissingDataError, UsageError, near

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = "folder:"
SUFFIXES = (".txt", ".txt.gz")


def read_corpus(name: str, data: Path | None, passage: int = PASSAGE) -> Corpus:
    """Return the corpus called ``name``. Nothing is downloaded.

    Args:
        name: of :data:`CORPORA`, or ``folder:PATH`` for all ``.txt`` and ``.txt.gz`` files below a folder.
        data: the data folder (``BENCHSUITE_DATA``), or None.
        passage: characters per document, see :func:`~benchsuite.data.text.corpus.passages`.

    Raises:
        UsageError: no corpus has this name.
        MissingDataError: its files are absent, damaged, no UTF-8, or hold too little text.
    """
    if name.startswith(FOLDER):
        return _folder(name, Path(name.removeprefix(FOLDER)).expanduser(), passage)
    if name not in CORPORA:
        raise UsageError(f"there is no corpus {name!r}", f"{near(name, CORPORA)}, or {FOLDER}PATH for a folder of text")
    return CORPORA[name](data, passage)


def cpython_docs(_data: Path | None, passage: int = PASSAGE) -> Corpus:
    """Return the help topics of Python's ``help()``: 0.4 to 0.5 MB of English on the language, of this interpreter."""
    try:
        topics = importlib.import_module("pydoc_data.topics").topics
    except ImportError as error:
        raise MissingDataError(
            "corpus 'cpython-docs' needs the module pydoc_data of Python's library, and this Python has none",
            "Install Python's full standard library, or take another corpus",
        ) from error
    training, held_out = split(passages(topics[key], passage) for key in sorted(topics))
    return make_corpus("cpython-docs", training, held_out)


def wikitext_2(data: Path | None, passage: int = PASSAGE) -> Corpus:
    """Return WikiText-2: its validation articles to train on, its test articles to evaluate on."""
    folder = _below(data, "wikitext-2")
    valid, test = (read_text(_either(folder, part)) for part in ("valid", "test"))
    return make_corpus("wikitext-2", passages(valid, passage), passages(test, passage))


def tinyshakespeare(data: Path | None, passage: int = PASSAGE) -> Corpus:
    """Return tiny Shakespeare; the last tenth is held out."""
    text = read_text(_either(_below(data, "tinyshakespeare"), "input"))
    return make_corpus("tinyshakespeare", *split([passages(text, passage)]))


def gutenberg(data: Path | None, passage: int = PASSAGE) -> Corpus:
    """Return the novels; the last tenth of each is held out."""
    return _folder("gutenberg", _below(data, "gutenberg"), passage)


CORPORA: dict[str, Callable[[Path | None, int], Corpus]] = {
    "cpython-docs": cpython_docs,
    "gutenberg": gutenberg,
    "tinyshakespeare": tinyshakespeare,
    "wikitext-2": wikitext_2,
}


def _folder(name: str, folder: Path, passage: int) -> Corpus:
    if not folder.is_dir():
        raise MissingDataError(f"corpus {name!r}: there is no folder {folder}", "Name a folder of .txt files")
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name.endswith(SUFFIXES))
    if not files:
        raise MissingDataError(f"corpus {name!r} is empty: no {' or '.join(SUFFIXES)} file in {folder}", "Add some")
    return make_corpus(name, *split(passages(read_text(path), passage) for path in files))


def _below(data: Path | None, folder: str) -> Path:
    if data is None:
        raise MissingDataError(
            f"corpus {folder!r} needs files, and BENCHSUITE_DATA is not set", f"Its text/{folder} is where they belong"
        )
    return data / "text" / folder


def _either(folder: Path, stem: str) -> Path:
    """Return the file ``stem`` with either suffix.

    Raises:
        MissingDataError: there is neither.
    """
    for suffix in SUFFIXES:
        path = folder / f"{stem}{suffix}"
        if path.is_file():
            return path
    raise MissingDataError(f"corpus {folder.name!r}: {folder} has no {stem}.txt or {stem}.txt.gz", "Put it there")


def read_text(path: Path) -> str:
    """Return the text of a ``.txt`` or ``.txt.gz`` file, every line end a line feed.

    Raises:
        MissingDataError: it cannot be read, is truncated, or is no UTF-8.
    """
    try:
        payload = path.read_bytes()
        if path.suffix == ".gz":
            payload = gzip.decompress(payload)
        text = payload.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        raise MissingDataError(f"{path} cannot be read: {error}", "Get the file again") from error
    except UnicodeDecodeError as error:
        raise MissingDataError(
            f"{path} is no UTF-8 text: {error.reason}, byte {error.start:,}", "Convert it"
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")
