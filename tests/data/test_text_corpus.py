"""Corpora: where documents end, what is held out, and one line for each thing that can be wrong with files."""

from __future__ import annotations

import gzip
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchsuite.data.cards import DATASETS
from benchsuite.data.report import corpus_problems
from benchsuite.data.text import CORPORA, read_corpus
from benchsuite.data.text.corpus import Corpus, make_corpus, passages, split
from benchsuite.errors import MissingDataError, UsageError


def test_a_passage_ends_at_the_first_blank_line_behind_its_size():
    text = "one\ntwo\n\nthree\n\n\nfour\n"
    assert passages(text, 5) == ["one\ntwo", "three", "four"]
    assert passages(text, 10) == ["one\ntwo\n\nthree", "four"]
    assert passages(text, 100) == ["one\ntwo\n\nthree\n\n\nfour"]


def test_without_blank_lines_it_ends_at_a_line_of_twice_its_size_and_no_line_is_cut():
    assert passages("aaaa\nbbbb\ncccc\ndddd\n", 5) == ["aaaa\nbbbb", "cccc\ndddd"]
    assert passages("a" * 99, 5) == ["a" * 99]


@given(st.text(alphabet="ab \n", max_size=200), st.integers(1, 30))
def test_passages_lose_nothing_but_blank_space(text, size):
    found = passages(text, size)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(each == each.strip() != "" for each in found)


def test_a_long_source_holds_out_its_end():
    source = [f"{place}" for place in range(25)]
    training, held_out = split([source])
    assert (training, held_out) == (source[:23], ["23", "24"])


def test_of_short_sources_every_tenth_document_is_held_out_by_hash():
    sources = [[f"text {place}"] for place in range(30)]
    training, held_out = split(sources)
    by_hash = sorted((text for (text,) in sources), key=lambda text: hashlib.sha256(text.encode()).digest())
    assert set(held_out) == set(by_hash[:3])
    assert len(training) == 27
    shuffled = split(sources[::-1])
    assert set(shuffled[1]) == set(held_out)


def test_two_documents_are_enough_and_one_is_not():
    assert [len(part) for part in split([["a"], ["b"]])] == [1, 1]
    with pytest.raises(MissingDataError, match="corpus 'x' is empty: 1 documents to train on, 0 held out"):
        make_corpus("x", *split([["a"]]))
    with pytest.raises(MissingDataError, match="corpus 'x' is empty: 0 documents"):
        make_corpus("x", *split([]))


def test_what_is_held_out_is_not_trained_on_and_nothing_comes_twice():
    corpus = make_corpus("x", ["a", "b", "a", "c"], ["c", "d", "d"])
    assert corpus.documents == ("a", "b")
    assert sorted(corpus.held_out) == ["c", "d"]


def test_the_digest_is_of_the_content_alone():
    digest = make_corpus("x", ["a", "b"], ["c"]).digest
    assert make_corpus("y", ["a", "b"], ["c"]).digest == digest
    others = [(["a", "c"], ["b"]), (["ab"], ["c"]), (["b", "a"], ["c"]), (["a", "b", "d"], ["c"])]
    assert digest not in {make_corpus("x", *parts).digest for parts in others}


def test_held_out_documents_are_in_an_order_that_no_source_decides():
    held_out = [f"document {place}" for place in range(50)]
    corpus = make_corpus("x", ["a"], held_out)
    assert corpus.held_out == make_corpus("x", ["a"], held_out[::-1]).held_out
    assert corpus.held_out != tuple(held_out)


@pytest.fixture
def folder(tmp_path):
    """A folder of 12 short files: some compressed, some below, one with a byte order mark and old line ends."""
    (tmp_path / "below").mkdir()
    for place in range(10):
        (tmp_path / f"{place}.txt").write_text(f"Document {place}\nends.\n", encoding="utf-8")
    (tmp_path / "below" / "a.txt.gz").write_bytes(gzip.compress("Café\n".encode()))
    (tmp_path / "below" / "b.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree")
    (tmp_path / "notes.md").write_text("not text", encoding="utf-8")
    return tmp_path


def test_any_folder_of_text_is_a_corpus(folder):
    corpus = read_corpus(f"folder:{folder}", None)
    everything = {*corpus.documents, *corpus.held_out}
    assert {"Café", "one\ntwo\nthree", "Document 3\nends."} <= everything
    assert (len(corpus.documents), len(corpus.held_out)) == (11, 1)


@pytest.mark.parametrize(
    ("payload", "name", "match"),
    [
        (gzip.compress(b"x" * 1000, mtime=0)[:-12], "bad.txt.gz", "cannot be read"),
        (b"no gzip", "bad.txt.gz", "cannot be read"),
        (b"caf\xe9", "bad.txt", "is no UTF-8 text: .* byte 3"),
    ],
)
def test_a_damaged_file_costs_one_line_that_names_it(folder, payload, name, match):
    (folder / name).write_bytes(payload)
    with pytest.raises(MissingDataError, match=match) as caught:
        read_corpus(f"folder:{folder}", None)
    assert str(folder / name) in caught.value.message
    assert "\n" not in str(caught.value)


def test_absent_files_cost_one_line(tmp_path):
    with pytest.raises(UsageError, match=r"no corpus .gutenbergs.\. Did you mean .gutenberg."):
        read_corpus("gutenbergs", None)
    with pytest.raises(MissingDataError, match="there is no folder"):
        read_corpus(f"folder:{tmp_path}/none", None)
    with pytest.raises(MissingDataError, match=r"is empty: no \.txt or \.txt\.gz"):
        read_corpus(f"folder:{tmp_path}", None)
    for name in ("wikitext-2", "tinyshakespeare", "gutenberg"):
        with pytest.raises(MissingDataError, match="BENCHSUITE_DATA is not set"):
            read_corpus(name, None)
        with pytest.raises(MissingDataError, match=name):
            read_corpus(name, tmp_path)
    (tmp_path / "empty.txt").touch()
    with pytest.raises(MissingDataError, match="is empty: 0 documents"):
        read_corpus(f"folder:{tmp_path}", None)


def test_the_embedded_corpus_is_english_and_needs_no_file():
    corpus = read_corpus("cpython-docs", None)
    assert 300_000 < sum(map(len, corpus.documents)) < 900_000
    words = " ".join(corpus.documents).split()
    assert 0.04 < words.count("the") / len(words) < 0.12
    assert not set(corpus.documents) & set(corpus.held_out)
    assert corpus.digest == read_corpus("cpython-docs", None).digest


def test_smaller_passages_make_more_documents_of_the_same_text():
    fine, coarse = (read_corpus("cpython-docs", None, size) for size in (150, 1000))
    assert len(fine.documents) > 3 * len(coarse.documents)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "training", "held_out"),
    [
        # Of WikiText-2 the words of the validation and of the test articles are known: 213,886 and 241,211.
        ("wikitext-2", 213_886, 241_211),
        ("tinyshakespeare", 202_651 * 0.9, 202_651 * 0.1),
        ("gutenberg", 1_664_185 * 0.9, 1_664_185 * 0.1),
    ],
)
def test_real_corpora_have_the_words_they_should(data_root, name, training, held_out):
    if not (data_root / "text" / name).is_dir():
        pytest.skip(f"BENCHSUITE_DATA has no text/{name}")
    corpus = read_corpus(name, data_root)
    assert name in CORPORA
    words = [sum(len(text.split()) for text in part) for part in (corpus.documents, corpus.held_out)]
    assert words == pytest.approx([training, held_out], rel=0.02 if name == "wikitext-2" else 0.08)


def test_every_corpus_has_a_card_that_names_its_reader():
    targets = {card.name: card.target for card in DATASETS if card.name in CORPORA}
    readers = {name: f"{reader.__module__}:{reader.__name__}" for name, reader in CORPORA.items()}
    assert targets == readers


def test_what_is_wrong_with_a_corpus_is_told():
    corpus = Corpus("mine", ("one", "one", " ", "two"), ("two",), "0" * 64)
    assert corpus_problems(corpus) == [
        "1 training documents are empty",
        "1 training documents are there twice",
        "1 documents are both trained on and held out",
    ]
    assert corpus_problems(Corpus("mine", ("one",), (), "0" * 64)) == ["it has no held-out document"]
    assert corpus_problems(make_corpus("mine", ["one", "two"], ["three", "two"])) == []
