"""The view hides what it must, is what its name says, and heals."""

from __future__ import annotations

import networkx as nx
import pytest
import safetensors.torch
import torch

from benchsuite.contracts.graph import Graph
from benchsuite.data import NodeDataset
from benchsuite.errors import MissingDataError
from benchsuite.tasks.view import own_copy, read_outputs, read_view, write_view
from benchsuite.testing.toys import toy_graph


def test_no_test_label_is_in_the_view(dataset, tmp_path):
    tensors = safetensors.torch.load_file(write_view(dataset, tmp_path))
    assert set(tensors) == {"x", "edge_index", "y", "train", "val", "test"}
    known = dataset.train | dataset.val
    assert torch.equal(tensors["y"][known], dataset.y[known])
    assert (tensors["y"][~known] == -1).all()
    assert int((~known).sum()) > int(dataset.test.sum())


def test_two_data_sets_that_differ_in_test_labels_have_one_view(dataset, tmp_path, monkeypatch):
    import toy_data

    monkeypatch.setenv("TOY_TEST_LABELS", "other")
    other = toy_data.read(None)
    assert not (other.y == dataset.y)[dataset.test].any()
    assert other.content_hash() != dataset.content_hash()
    one, two = write_view(dataset, tmp_path / "one"), write_view(other, tmp_path / "two")
    assert one.name == two.name
    assert one.read_bytes() == two.read_bytes()


def test_reading_gives_back_what_a_worker_may_know(dataset, tmp_path):
    path = write_view(dataset, tmp_path)
    view = read_view(path)
    assert torch.equal(view.graph.x, dataset.graph.x)
    assert torch.equal(view.graph.edge_index, dataset.graph.edge_index)
    assert torch.equal(view.labels.train, dataset.train)
    assert torch.equal(view.test, dataset.test)
    assert (view.classes, view.digest, read_outputs(path)) == (3, path.stem, ("classes", 3))


def test_a_warm_worker_reads_it_once(dataset, tmp_path):
    path = write_view(dataset, tmp_path)
    assert read_view(path) is read_view(path)


def test_a_batch_is_kept(dataset, tmp_path):
    graph = Graph(dataset.graph.x, dataset.graph.edge_index, torch.arange(90) // 45)
    batched = NodeDataset("b", graph, dataset.y, dataset.train, dataset.val, dataset.test, 3)
    view = read_view(write_view(batched, tmp_path))
    assert torch.equal(view.graph.batch, graph.batch)
    assert torch.equal(view.without_test.graph.batch, graph.batch[~dataset.test])
    assert torch.equal(own_copy(view.graph).batch, graph.batch)


def _truncate(payload):
    return payload[:-7]


def _flip(payload):
    return payload[:-7] + bytes([payload[-7] ^ 1]) + payload[-6:]


def _empty(payload):
    return b""


@pytest.mark.parametrize("damage", [_truncate, _flip, _empty])
def test_a_damaged_view_is_refused_by_the_worker_and_mended_by_the_host(dataset, tmp_path, damage):
    path = write_view(dataset, tmp_path)
    payload = path.read_bytes()
    path.write_bytes(damage(payload))
    read_view.cache_clear()
    with pytest.raises(MissingDataError, match=r"damaged\. Start the run again"):
        read_view(path)
    assert write_view(dataset, tmp_path) == path
    assert path.read_bytes() == payload
    assert read_view(path).classes == 3


def test_an_absent_view_is_refused(tmp_path):
    with pytest.raises(MissingDataError, match="cannot be read"):
        read_view(tmp_path / "none.safetensors")
    with pytest.raises(MissingDataError, match="not a prepared view"):
        read_outputs(tmp_path / "none.safetensors")


def test_a_view_that_is_right_is_not_written_again(dataset, tmp_path):
    path = write_view(dataset, tmp_path)
    before = path.stat().st_mtime_ns
    write_view(dataset, tmp_path)
    assert path.stat().st_mtime_ns == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("seed", range(3))
def test_the_inductive_view_is_the_subgraph_without_test_nodes(dataset, tmp_path, seed):
    graph = toy_graph(90, seed=seed)
    test = torch.rand(90, generator=torch.Generator().manual_seed(seed)) < 0.3
    moved = NodeDataset("t", graph, dataset.y, dataset.train & ~test, dataset.val & ~test, test, 3)
    part = read_view(write_view(moved, tmp_path)).without_test
    keep = (~test).nonzero().flatten().tolist()
    oracle = nx.DiGraph()
    oracle.add_nodes_from(range(90))
    oracle.add_edges_from(graph.edge_index.T.tolist())
    renamed = nx.relabel_nodes(oracle.subgraph(keep), {node: i for i, node in enumerate(keep)})
    assert sorted(map(tuple, part.graph.edge_index.T.tolist())) == sorted(renamed.edges())
    source, target = part.graph.edge_index
    assert bool(((target * 90 + source).diff() > 0).all())
    assert torch.equal(part.graph.x, graph.x[keep])
    assert torch.equal(part.labels.train, moved.train[keep])
    assert not part.test.any()


def test_an_own_copy_shares_no_memory(dataset):
    copy = own_copy(dataset.graph)
    before = dataset.graph.x.clone()
    copy.x.zero_()
    copy.edge_index.zero_()
    assert torch.equal(dataset.graph.x, before)
    assert dataset.graph.edge_index.any()
