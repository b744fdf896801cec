"""Tokenizers: lossless, cached by content, and a teacher's own read as the teacher was trained with it."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.data.text import load_tokenizer, read_corpus, train_tokenizer
from benchsuite.data.text.corpus import make_corpus
from benchsuite.errors import MissingDataError, UsageError
from benchsuite.models.zoo.llama2c import Tokenizer as Reference

CORPUS = make_corpus("toy", [f"the cat sat on the mat number {n}, and the hat too" for n in range(40)], ["the dog"])


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def tokenizer(cache):
    return train_tokenizer(CORPUS, 280, cache)


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back(tokenizer, text):
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert all(0 <= place < tokenizer.vocab for place in ids)
    assert not {tokenizer.pad, tokenizer.bos} & set(ids)


def test_names_of_special_tokens_in_a_text_are_letters(tokenizer):
    assert tokenizer.decode(tokenizer.encode("a <pad> and a <bos>")) == "a <pad> and a <bos>"
    assert not {tokenizer.pad, tokenizer.bos} & set(tokenizer.encode("<pad><bos>"))


def test_documents_are_tokenised_apart_and_begin_with_one_token(tokenizer):
    first, second = tokenizer.documents(["the cat", ""])
    assert first == [tokenizer.bos, *tokenizer.encode("the cat")]
    assert second == [tokenizer.bos]


def test_merges_are_learnt_from_the_training_documents(tokenizer):
    assert tokenizer.vocab == 280
    assert len(tokenizer.encode("the cat sat on the mat")) < 10
    assert len(tokenizer.encode("xyzzy")) == 5


def test_a_small_corpus_gives_fewer_tokens_than_asked_for(cache):
    assert 258 < train_tokenizer(make_corpus("x", ["ab ab ab"], ["c"]), 1000, cache).vocab < 270


def test_a_tokenizer_is_trained_once_and_a_damaged_file_is_replaced(tmp_path):
    first = train_tokenizer(CORPUS, 280, tmp_path)
    (path,) = (tmp_path / "tokenizers").glob("*.json")
    written = path.stat().st_mtime_ns
    assert train_tokenizer(CORPUS, 280, tmp_path).digest == first.digest
    assert path.stat().st_mtime_ns == written
    path.write_bytes(path.read_bytes().replace(b"merges", b"murges"))
    assert train_tokenizer(CORPUS, 280, tmp_path).digest == first.digest
    assert b"merges" in path.read_bytes()


def test_the_digest_tells_vocabularies_and_corpora_apart(cache, tokenizer):
    other = make_corpus("toy", [*CORPUS.documents, "zoo zoo zoo zoo zebra"], CORPUS.held_out)
    digests = {tokenizer.digest, train_tokenizer(CORPUS, 270, cache).digest, train_tokenizer(other, 280, cache).digest}
    assert len(digests) == 3


def test_training_does_not_depend_on_threads(tmp_path, monkeypatch):
    corpus = read_corpus("cpython-docs", None)
    digests = set()
    for place, parallel in enumerate(("true", "false")):
        monkeypatch.setenv("TOKENIZERS_PARALLELISM", parallel)
        digests.add(train_tokenizer(corpus, 400, tmp_path / str(place)).digest)
    assert len(digests) == 1


def test_a_vocabulary_without_room_for_the_bytes_is_refused(cache):
    with pytest.raises(UsageError, match="at least 258 tokens, not 257"):
        train_tokenizer(CORPUS, 257, cache)


@pytest.fixture
def folder(tmp_path):
    """A folder with a tokenizer.json that has three special tokens, and nothing that says what they are for."""
    import tokenizers

    core = tokenizers.Tokenizer(tokenizers.models.BPE())
    core.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=290, special_tokens=["<s>", "</s>", "<p>"], show_progress=False)
    core.train_from_iterator(CORPUS.documents, trainer)
    core.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


@pytest.mark.parametrize(
    ("settings", "bos", "pad"),
    [
        ({"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<p>"}, 0, 2),
        ({"bos_token": {"content": "<s>"}, "eos_token": {"content": "</s>"}}, 0, 1),
        ({"bos_token": None, "eos_token": "</s>", "pad_token": "</s>"}, 1, 1),
        ({"eos_token_id": [1, 2]}, 1, 1),
        ({"bos_token_id": 0}, 0, 0),
    ],
)
def test_the_files_beside_a_tokenizer_say_what_its_special_tokens_are(folder, settings, bos, pad):
    name = "config.json" if any(key.endswith("_id") for key in settings) else "tokenizer_config.json"
    (folder / name).write_text(json.dumps(settings), encoding="utf-8")
    found = load_tokenizer(folder / "tokenizer.json")
    assert (found.bos, found.pad) == (bos, pad)


def test_a_tokenizer_that_does_not_serve_costs_one_line(folder, tmp_path):
    path = folder / "tokenizer.json"
    with pytest.raises(MissingDataError, match=r"nothing beside .* says which token begins"):
        load_tokenizer(path)
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(MissingDataError, match=r"tokenizer\.json cannot be read"):
        load_tokenizer(path)
    with pytest.raises(MissingDataError, match="there is no tokenizer"):
        load_tokenizer(tmp_path / "none" / "tokenizer.json")


def llama2c_file(path, words):
    """Write a tokenizer of llama2.c: special tokens, bytes, and words of falling score."""
    entries = [(0.0, b"<unk>"), (0.0, b"\n<s>\n"), (0.0, b"\n</s>\n")]
    entries += [(0.0, f"<0x{byte:02X}>".encode()) for byte in range(256)]
    entries += [(-float(place), word.encode()) for place, word in enumerate(words)]
    body = b"".join(struct.pack("<fi", score, len(piece)) + piece for score, piece in entries)
    path.write_bytes(struct.pack("<i", 8) + body)
    return path


WORDS = ["th", "the", " the", "in", "ing", " t", "he", *" abcdeghint"]


@settings(deadline=None)
@given(st.text(alphabet="theing abc\n\u00e9", max_size=40))
def test_llama2cs_tokenizer_encodes_as_llama2c_does(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "tok.bin"
    if not path.exists():
        llama2c_file(path, WORDS)
    assert load_tokenizer(path).encode(text) == Reference(path).encode(text)


def test_llama2cs_special_tokens_and_text(tmp_path):
    tokenizer = load_tokenizer(llama2c_file(tmp_path / "tok.bin", WORDS))
    assert (tokenizer.vocab, tokenizer.bos, tokenizer.pad) == (259 + len(WORDS), 1, 0)
    assert tokenizer.decode([1, *tokenizer.encode("the thing\né")]) == "the thing\né"


def test_a_foreign_or_truncated_file_is_no_tokenizer_of_llama2c(tmp_path):
    whole = llama2c_file(tmp_path / "tok.bin", WORDS).read_bytes()
    for content in (whole[:-3], whole[:4], b"", whole[:900], b"\xff" * 40):
        (tmp_path / "tok.bin").write_bytes(content)
        with pytest.raises(MissingDataError, match=r"tokenizer .*tok\.bin is"):
            load_tokenizer(tmp_path / "tok.bin")
    with pytest.raises(MissingDataError, match="cannot be read"):
        load_tokenizer(tmp_path / "none.bin")


@pytest.mark.data
def test_the_real_tokenizer_of_stories260k_agrees_with_llama2cs_own_way(data_root):
    path = data_root / "stories260K" / "tok512.bin"
    if not path.is_file():
        pytest.skip("BENCHSUITE_DATA has no stories260K")
    tokenizer, reference = load_tokenizer(path), Reference(path)
    for text in read_corpus("cpython-docs", None).held_out[:40]:
        assert tokenizer.encode(text[:150]) == reference.encode(text[:150])
