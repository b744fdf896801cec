"""Text: corpora, tokenizers and batches of documents."""

from __future__ import annotations

from benchsuite.data.text.batches import TokenisedText, batches, stream
from benchsuite.data.text.corpus import Corpus
from benchsuite.data.text.readers import CORPORA, read_corpus
from benchsuite.data.text.tokenizer import Tokenizer, load_tokenizer, train_tokenizer

__all__ = [
    "CORPORA",
    "Corpus",
    "TokenisedText",
    "Tokenizer",
    "batches",
    "load_tokenizer",
    "read_corpus",
    "stream",
    "train_tokenizer",
]
