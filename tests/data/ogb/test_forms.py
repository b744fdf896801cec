"""Both forms, in every place, give one and the same data set: what ogb's own readers read."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest
import torch

from benchsuite.contracts.dataset import GraphDataset
from benchsuite.data.molecules.features import ATOM_CATEGORIES, BOND_CATEGORIES
from benchsuite.data.ogb.facts import FACTS
from benchsuite.data.ogb.readers import parsed, read_graphs, read_nodes
from benchsuite.data.validate import problems


def read(made):
    """Return the data set of a specimen, found valid."""
    dataset = (read_graphs if made.facts.of_graphs else read_nodes)(made.facts, made.root)
    assert problems(dataset) == []
    return dataset


def wanted_edges(graphs) -> dict[tuple[int, int], list[float]]:
    """Return edge to features, of what ogb's reader returned, by target then source."""
    found, start = {}, 0
    for graph in graphs:
        features = graph["edge_feat"] if graph["edge_feat"] is not None else [[]] * graph["edge_index"].shape[1]
        for (source, target), row in zip(graph["edge_index"].T.tolist(), features, strict=True):
            found.setdefault((start + target, start + source), list(row))
        start += graph["num_nodes"]
    return {(source, target): found[target, source] for target, source in sorted(found)}


def same(dataset, graphs) -> None:
    """Hold a data set against what ogb's reader returned, bit by bit."""
    edges = wanted_edges(graphs)
    assert list(zip(*dataset.graph.edge_index.tolist(), strict=True)) == list(edges)
    if graphs[0]["edge_feat"] is not None:
        wanted = np.array(list(edges.values())).reshape(len(edges), -1)
        assert np.array_equal(dataset.graph.edge_attr.numpy(), wanted.astype(dataset.graph.edge_attr.numpy().dtype))
    if graphs[0]["node_feat"] is not None:
        wanted = np.concatenate([graph["node_feat"] for graph in graphs])
        assert dataset.graph.x.numpy().dtype == wanted.dtype
        assert np.array_equal(dataset.graph.x.numpy(), wanted)
    sizes = [graph["num_nodes"] for graph in graphs]
    if isinstance(dataset, GraphDataset):
        assert dataset.graph.batch.tolist() == np.repeat(np.arange(len(sizes)), sizes).tolist()


@pytest.mark.parametrize("name", FACTS)
def test_the_text_form_is_read_as_ogb_reads_it(name, specimen, ogb):
    made = specimen(name)
    folder = made.csv()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        graphs = ogb("io.read_graph_raw").read_csv_graph_raw(str(folder / "raw"), add_inverse_edge=True)
    dataset = read(made)
    same(dataset, graphs)
    assert np.array_equal(dataset.y.numpy(), targets(made), equal_nan=True)


def targets(made) -> np.ndarray:
    return made.targets[:, 0] if made.facts.target_type == "classes" else made.targets.astype(np.float32)


@pytest.mark.parametrize("name", ["ogbg-molesol", "ogbg-molpcba", "ogbn-products", "ogbn-proteins"])
def test_the_binary_form_is_read_as_ogb_reads_it(name, specimen, ogb):
    made = specimen(name)
    if made.x is not None and made.x.dtype == np.float64:
        made.x = made.x.astype(np.float32)
    if made.edge_attr is not None and made.edge_attr.dtype == np.float64:
        made.edge_attr = made.edge_attr.astype(np.float32)
    text = read(_csv_of(made))
    folder = made.npz("other/" + made.facts.folder)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        graphs = ogb("io.read_graph_raw").read_binary_graph_raw(str(folder / "raw"))
    for graph in graphs:  # which leaves out the other direction in this form
        graph["edge_index"] = np.concatenate([graph["edge_index"], graph["edge_index"][::-1]], 1)
        if graph["edge_feat"] is not None:
            graph["edge_feat"] = np.concatenate([graph["edge_feat"], graph["edge_feat"]])
    made.root = made.root / "other"
    dataset = read(made)
    same(dataset, graphs)
    assert dataset.content_hash() == text.content_hash()


def _csv_of(made):
    made.csv()
    return made


def test_a_binary_form_that_has_both_directions_is_the_same_data_set(specimen):
    made = specimen("ogbn-proteins")
    made.csv()
    once = read(made)
    made.edges = [[*made.edges[0], *((j, i) for i, j in made.edges[0])]]
    made.edge_attr = np.concatenate([made.edge_attr, made.edge_attr])
    made.npz("dataset/x")
    made.root = made.root / "dataset"
    (made.root / "x").rename(made.root / made.facts.folder)
    assert read(made).content_hash() == once.content_hash()
    assert parsed(made.facts, made.root).notes["duplicates"] == str(len(made.edges[0]) // 2)


@pytest.mark.parametrize("place", ["ogbg_moltox21", "ogb/ogbg_moltox21", "dataset/ogbg_moltox21"])
@pytest.mark.parametrize("suffix", [".csv.gz", ".csv"])
def test_every_place_and_both_suffixes(place, suffix, specimen):
    made = specimen("ogbg-moltox21")
    made.csv(place, suffix)
    dataset = read(made)
    assert dataset.num_graphs == 30
    for name, mask in zip(("train", "valid", "test"), dataset.folds[0], strict=True):
        assert mask.nonzero().flatten().tolist() == sorted(made.split[name])
    assert (dataset.node_categories, dataset.edge_categories) == (ATOM_CATEGORIES, BOND_CATEGORIES)
    assert (dataset.target_type, dataset.num_classes, dataset.undirected) == ("binary", 12, True)


def test_the_first_place_is_read(specimen):
    made = specimen("ogbg-molesol", seed=1)
    made.csv("ogb/ogbg_molesol")
    read(made)
    first = specimen("ogbg-molesol", seed=2)
    first.csv()
    assert np.array_equal(read(made).y.numpy(), targets(first), equal_nan=True)


def test_edges_by_hand(specimen):
    """A self loop, an edge twice, and both directions of one with features of their own."""
    made = specimen("ogbg-molesol", graphs=2)
    made.sizes = [3, 2]
    made.edges = [[(0, 1), (1, 0), (2, 2), (0, 2), (0, 2)], [(1, 0)]]
    made.x = np.zeros((5, 9), int)
    made.edge_attr = np.array([[0, 0, 0], [1, 0, 0], [4, 0, 0], [2, 0, 0], [3, 0, 0], [0, 5, 1]])
    made.targets = np.array([[0.5], [1.5]])
    made.split = {"train": [0], "valid": [1], "test": []}
    made.csv()
    dataset = read_graphs(made.facts, made.root)
    assert dataset.graph.edge_index.tolist() == [[1, 2, 0, 0, 4, 3], [0, 0, 1, 2, 3, 4]]
    assert dataset.graph.edge_attr.tolist() == [[1, 0, 0], [2, 0, 0], [0, 0, 0], [2, 0, 0], [0, 5, 1], [0, 5, 1]]
    assert dataset.graph.batch.tolist() == [0, 0, 0, 1, 1]
    assert parsed(made.facts, made.root).notes == {"self_loops": "1", "duplicates": "2"}


def test_proteins_get_the_mean_of_their_edges_features(specimen):
    made = specimen("ogbn-proteins", nodes=60)
    made.edges, made.edge_attr = [[(0, 1), (2, 0)]], np.array([[0.5] * 8, [0.25] * 8])
    made.csv()
    x = read(made).graph.x
    assert x[:3].tolist() == [[0.375] * 8, [0.5] * 8, [0.25] * 8]
    assert not x[3:].any()
    assert x.shape == (60, 8)


def test_each_protein_gets_the_mean_of_its_own_edges(specimen):
    made = specimen("ogbn-proteins", seed=3)
    made.csv()
    graph = read(made).graph
    source, target = graph.edge_index
    for node in range(60):
        both = graph.edge_attr[target == node].double()
        wanted = both.mean(0).float() if len(both) else torch.zeros(8)
        torch.testing.assert_close(graph.x[node], wanted)
        assert {*map(tuple, both.tolist())} == {*map(tuple, graph.edge_attr[source == node].double().tolist())}


def test_floats_are_those_of_ogb_to_the_last_bit(specimen, ogb):
    made = specimen("ogbn-arxiv")
    draw = np.random.RandomState(5)
    made.x = draw.randn(60, 128) * 10.0 ** draw.randint(-20, 20, (60, 128))
    folder = made.csv()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        graphs = ogb("io.read_graph_raw").read_csv_graph_raw(str(folder / "raw"), add_inverse_edge=True)
    same(read(made), graphs)


def test_a_row_of_one_missing_target(specimen):
    made = specimen("ogbg-molhiv")
    made.targets[:3, 0] = [np.nan, 1, 0]
    made.csv()
    assert '\n""\n' in "\n" + made.tables()["raw/graph-label"]
    assert read(made).y[:3].flatten().tolist()[1:] == [1, 0]
    assert torch.isnan(read(made).y[0, 0])


def test_labels_that_are_written_as_floats(specimen):
    made = specimen("ogbn-arxiv")
    before = read(_csv_of(made)).y
    made.targets = made.targets.astype(float)
    made.csv()
    assert torch.equal(read(made).y, before)
