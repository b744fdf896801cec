"""The union of small graphs, against one written out edge by edge; and the file that it is kept in."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from benchsuite.data import unions
from benchsuite.data.unions import Small, kept, union
from benchsuite.errors import StoreError


@st.composite
def graphs(draw):
    made = []
    for _ in range(draw(st.integers(1, 4))):
        size = draw(st.integers(1, 4))
        ends = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
        edges = np.array(draw(st.lists(ends, max_size=8)), np.int64).reshape(-1, 2)
        codes = np.array(draw(st.lists(st.integers(0, 9), min_size=len(edges), max_size=len(edges))), np.int64)
        made.append(Small(np.arange(size)[:, None], edges.T, codes[:, None]))
    return made


@given(graphs())
def test_a_union_is_every_graph_in_its_place(small):
    wanted, start = {}, 0
    for graph in small:
        for (source, target), code in zip(graph.edges.T.tolist(), graph.edge_attr[:, 0].tolist(), strict=True):
            if source != target:
                wanted.setdefault((target + start, source + start), code)
        start += len(graph.x)
    made = union(small)
    pairs = sorted(wanted)
    assert made.edge_index.flip(0).T.tolist() == [list(pair) for pair in pairs]
    assert made.edge_attr[:, 0].tolist() == [wanted[pair] for pair in pairs]
    assert made.batch.tolist() == [number for number, graph in enumerate(small) for _ in graph.x]
    assert made.x[:, 0].tolist() == [node for graph in small for node in range(len(graph.x))]
    assert made.edge_index.is_contiguous()


def test_what_is_kept_is_made_once_for_what_it_depends_on(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHSUITE_CACHE", str(tmp_path))
    calls = []

    def make():
        calls.append(1)
        return {"a": torch.tensor([len(calls), 2])}

    assert [kept("x", depends, make)["a"][0].item() for depends in (("1",), ("1",), ("2",), ("1",))] == [1, 1, 2, 1]
    [one, _] = sorted((tmp_path / "graphs").glob("*.safetensors"))
    assert unions.cache_root() == tmp_path
    one.write_bytes(b"")
    assert len(calls) == 2
    values = {kept("x", ("1",), make)["a"][0].item(), kept("x", ("2",), make)["a"][0].item()}
    assert 3 in values
    assert len(calls) == 3


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BENCHSUITE_CACHE", str(tmp_path / "file"))
    with pytest.raises(StoreError, match="Name another one in BENCHSUITE_CACHE"):
        kept("x", (), lambda: {"a": torch.zeros(1)})


def test_without_the_variable_the_users_cache_is_taken(monkeypatch):
    import platformdirs

    monkeypatch.delenv("BENCHSUITE_CACHE")
    assert unions.cache_root() == platformdirs.user_cache_path("benchsuite")
