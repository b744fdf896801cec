"""Tokenizers: a byte-level BPE trained on a corpus, or the one that a teacher was trained with.

The ``tokenizers`` library does the work; it is imported when a tokenizer is made, not before.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from typing import TYPE_CHECKING, Any

from benchsuite.caching import read_or_make
from benchsuite.data.text.llama2c import LLAMA2C_BOS, LLAMA2C_UNKNOWN, read_llama2c
from benchsuite.errors import MissingDataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchsuite.data.text.corpus import Corpus

PAD, BOS = "<pad>", "<bos>"
SMALLEST = 258
"""Tokens of the smallest byte-level vocabulary: the bytes, padding and the beginning of a document."""
RECIPE = "byte-level BPE 1"


class Tokenizer:
    """Text to ids and back.

    Args:
        core: a ``tokenizers.Tokenizer``.
        bos: id that begins a document.
        pad: id that fills up a batch; masked, so it may be any.
    """

    def __init__(self, core: Any, bos: int, pad: int) -> None:
        self._core = core
        # A document that spells the name of a special token means its letters.
        core.encode_special_tokens = True
        core.no_truncation()
        core.no_padding()
        self.bos, self.pad = bos, pad
        self.vocab: int = core.get_vocab_size(with_added_tokens=True)

    @property
    def digest(self) -> str:
        """sha256 (hex) of everything that decides how text is encoded."""
        content = json.loads(self._core.to_str())
        content.pop("version", None)
        return hashlib.sha256(json.dumps([content, self.bos, self.pad], sort_keys=True).encode()).hexdigest()

    def encode(self, text: str) -> list[int]:
        """Return the ids of ``text``, without any that marks its beginning or end."""
        ids: list[int] = self._core.encode(text, add_special_tokens=False).ids
        return ids

    def documents(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, tokenised apart, with :attr:`bos` before them."""
        return [[self.bos, *each.ids] for each in self._core.encode_batch(list(texts), add_special_tokens=False)]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ``ids``; special tokens have none."""
        text: str = self._core.decode(list(ids), skip_special_tokens=True)
        return text


def _library() -> Any:
    return importlib.import_module("tokenizers")


def train_tokenizer(corpus: Corpus, vocab: int, cache: Path) -> Tokenizer:
    """Return a byte-level BPE of at most ``vocab`` tokens, trained on the corpus's training documents.

    It is trained once and then read from ``tokenizers/`` in the cache. A small corpus may run out of pairs that occur
    twice; the vocabulary is then smaller than asked for.

    Args:
        corpus: what it is trained on.
        vocab: number of tokens, of which 256 are bytes and two are special.
        cache: the cache folder.

    Raises:
        UsageError: ``vocab`` has no room for the bytes.
        StoreError: the cache cannot be written.
    """
    if vocab < SMALLEST:
        raise UsageError(f"a byte-level vocabulary has at least {SMALLEST} tokens, not {vocab}")
    key = hashlib.sha256(json.dumps([RECIPE, corpus.digest, vocab]).encode()).hexdigest()
    path = cache / "tokenizers" / f"{key[:32]}.json"
    core = read_or_make(path, _read, lambda: _sealed(_train(corpus, vocab)))
    return Tokenizer(core, core.token_to_id(BOS), core.token_to_id(PAD))


def _train(corpus: Corpus, vocab: int) -> str:
    library = _library()
    core = library.Tokenizer(library.models.BPE())
    core.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = library.decoders.ByteLevel()
    trainer = library.trainers.BpeTrainer(
        vocab_size=vocab,
        min_frequency=2,
        special_tokens=[PAD, BOS],
        initial_alphabet=sorted(library.pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    core.train_from_iterator(corpus.documents, trainer)
    text: str = core.to_str()
    return text


def _sealed(text: str) -> bytes:
    """Put the hash of a text before it, so that damage shows."""
    return f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}".encode()


def _read(path: Path) -> Any | None:
    try:
        seal, _, text = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return _library().Tokenizer.from_str(text) if seal == hashlib.sha256(text.encode()).hexdigest() else None


def load_tokenizer(path: Path) -> Tokenizer:
    """Return a teacher's own tokenizer.

    Args:
        path: ``tokenizer.json`` (what its special tokens are is read from the files beside it), or ``tok*.bin`` of
            llama2.c.

    Raises:
        MissingDataError: it is absent or damaged, or nothing says which token begins a document.
    """
    if path.suffix == ".bin":
        return Tokenizer(read_llama2c(path), bos=LLAMA2C_BOS, pad=LLAMA2C_UNKNOWN)
    mend = "Put the tokenizer.json of the model there"
    if not path.is_file():
        raise MissingDataError(f"there is no tokenizer {path}", mend)
    try:
        core = _library().Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise MissingDataError(f"the tokenizer {path} cannot be read: {error}", mend) from error
    ids = _special(path.parent, core)
    start = ids.get("bos", ids.get("eos"))
    if start is None:
        raise MissingDataError(
            f"nothing beside {path} says which token begins or ends a document",
            "tokenizer_config.json or config.json must name a bos_token or an eos_token",
        )
    return Tokenizer(core, bos=start, pad=ids.get("pad", ids.get("eos", start)))


def _special(folder: Path, core: Any) -> dict[str, int]:
    """Return the ids of bos, eos and pad that the files in ``folder`` name."""
    found: dict[str, int] = {}
    for name in ("config.json", "special_tokens_map.json", "tokenizer_config.json"):
        try:
            settings = json.loads((folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        for role in ("bos", "eos", "pad"):
            token = settings.get(f"{role}_token", settings.get(f"{role}_token_id"))
            token = token.get("content") if isinstance(token, dict) else token
            token = token[0] if isinstance(token, list) and token else token
            place = core.token_to_id(token) if isinstance(token, str) else token
            if isinstance(place, int):
                found[role] = place
    return found
