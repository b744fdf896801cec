"""Makes the tokenizer of llama2.c (https://github.com/karpathy/llama2.c, MIT) a BPE of the ``tokenizers`` library.

The file is an int32 (longest token), and for each token a float32 score, an int32 length and its bytes. llama2.c merges
whichever adjacent pair spells the token with the best score, so every way to spell a token in two parts is a merge, in
the order of the scores.
"""

from __future__ import annotations

import importlib
import struct
from typing import TYPE_CHECKING, Any

from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LLAMA2C_UNKNOWN, LLAMA2C_BOS, LLAMA2C_EOS = 0, 1, 2
_FIRST_WORD = 259
"""Below it: three special tokens and the 256 bytes."""


def read_llama2c(path: Path) -> Any:
    """Return the tokenizer in ``path`` as a ``tokenizers.Tokenizer``.

    Raises:
        MissingDataError: the file is absent, truncated, or holds something else.
    """
    mend = "Get the file again"
    try:
        entries = list(_entries(path.read_bytes()))
        names = [piece.decode() for _, piece in entries]
    except OSError as error:
        raise MissingDataError(f"the tokenizer {path} cannot be read: {error.strerror}", mend) from error
    except (struct.error, UnicodeDecodeError) as error:
        raise MissingDataError(f"the tokenizer {path} is truncated or no tokenizer of llama2.c", mend) from error
    if len(names) < _FIRST_WORD or names[3:_FIRST_WORD] != [f"<0x{byte:02X}>" for byte in range(256)]:
        raise MissingDataError(f"the tokenizer {path} is no tokenizer of llama2.c: it lacks the bytes", mend)
    return _bpe(names, [score for score, _ in entries])


def _entries(data: bytes) -> Iterator[tuple[float, bytes]]:
    place = 4
    while place < len(data):
        score, length = struct.unpack_from("<fi", data, place)
        (piece,) = struct.unpack_from(f"{length}s", data, place + 8)
        yield score, piece
        place += 8 + length


def _bpe(names: list[str], scores: list[float]) -> Any:
    library = importlib.import_module("tokenizers")
    words = {name: scores[place] for place, name in enumerate(names) if place >= _FIRST_WORD}
    merges = [
        (word[:cut], word[cut:])
        for word in sorted(words, key=lambda word: -words[word])
        for cut in range(1, len(word))
        if word[:cut] in words and word[cut:] in words
    ]
    vocabulary = {name: place for place, name in enumerate(names)}
    core = library.Tokenizer(
        library.models.BPE(vocab=vocabulary, merges=merges, unk_token=names[0], byte_fallback=True)
    )
    core.normalizer = library.normalizers.Prepend(" ")
    steps = library.decoders
    core.decoder = steps.Sequence([steps.ByteFallback(), steps.Fuse(), steps.Strip(" ", 1, 0)])
    core.add_special_tokens(names[:3])
    return core
