"""Batches: a document a row, cut at the context, padded on the right, in an order that the generator decides."""

from __future__ import annotations

from itertools import islice

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from benchsuite.data.text import TokenisedText, batches, stream
from benchsuite.errors import UsageError

DOCUMENTS = [[1, 5], [1, 6, 7, 8], [1, 9, 10], [1], [1, 11, 12, 13, 14]]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def rows(parts):
    return [row[keep].tolist() for tokens, mask in parts for row, keep in zip(tokens, mask, strict=True)]


def test_rows_by_hand():
    first, second = batches(DOCUMENTS[:3], context=3, batch=2, pad=0, generator=None)
    assert first[0].tolist() == [[1, 5, 0], [1, 6, 7]]
    assert first[1].tolist() == [[True, True, False], [True, True, True]]
    assert second[0].tolist() == [[1, 9, 10]]
    assert (first[0].dtype, first[1].dtype) == (torch.int64, torch.bool)


@given(
    st.lists(st.lists(st.integers(1, 50), min_size=1, max_size=12), min_size=1, max_size=15),
    st.integers(1, 10),
    st.integers(1, 6),
)
def test_every_document_comes_once_and_is_cut_and_not_packed(documents, context, batch):
    parts = list(batches(documents, context, batch, 0, generator()))
    assert sorted(rows(parts)) == sorted(document[:context] for document in documents)
    for tokens, mask in parts:
        assert tokens.shape == mask.shape
        assert int(mask.sum(1).max()) == tokens.shape[1] <= context
        assert bool((tokens[~mask] == 0).all())
        assert not bool((mask[:, 1:] & ~mask[:, :-1]).any())


def test_the_generator_alone_decides_the_order():
    one, two, other = (rows(batches(DOCUMENTS, 9, 2, 0, generator(seed))) for seed in (1, 1, 2))
    assert one == two != other
    assert rows(batches(DOCUMENTS, 9, 2, 0, None)) == DOCUMENTS


def test_a_stream_is_pass_after_pass_each_in_its_own_order():
    parts = list(islice(stream(DOCUMENTS, 9, 2, 0, generator()), 6))
    one, two = rows(parts[:3]), rows(parts[3:])
    assert sorted(one) == sorted(two) == sorted(DOCUMENTS)
    assert one != two


def test_tensors_and_lists_are_documents_alike():
    tensors = [torch.tensor(document) for document in DOCUMENTS]
    for one, two in zip(batches(DOCUMENTS, 4, 2, 0, None), batches(tensors, 4, 2, 0, None), strict=True):
        assert torch.equal(one[0], two[0])
        assert torch.equal(one[1], two[1])
    assert TokenisedText(tensors, 20, 0).digest == TokenisedText(DOCUMENTS, 20, 0).digest


def test_the_digest_knows_where_documents_end():
    digests = {
        TokenisedText(documents, vocab, pad).digest
        for documents, vocab, pad in (
            ([[1, 2], [3]], 9, 0),
            ([[1], [2, 3]], 9, 0),
            ([[1, 2, 3]], 9, 0),
            ([[3], [1, 2]], 9, 0),
            ([[1, 2], [3]], 8, 0),
            ([[1, 2], [3]], 9, 1),
        )
    }
    assert len(digests) == 6


def test_nothing_to_make_batches_of_costs_one_line():
    with pytest.raises(UsageError, match="there are no documents"):
        next(batches([], 4, 2, 0, None))
    for context, batch in ((0, 2), (4, 0)):
        with pytest.raises(UsageError, match="holds nothing"):
            next(batches(DOCUMENTS, context, batch, 0, None))
