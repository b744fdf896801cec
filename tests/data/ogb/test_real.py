"""The real ogbg-molhiv: its counts, ogb's own reading of it, and which of its files are the official ones."""

from __future__ import annotations

import contextlib
import io
import shutil

import numpy as np
import pytest
import torch

from benchsuite.data import read_graphs
from benchsuite.data.cards import DATASETS
from benchsuite.data.ogb.facts import FACTS
from benchsuite.data.ogb.folder import find
from benchsuite.data.ogb.official import SHA256, notes, official
from benchsuite.data.ogb.readers import ogbg_molhiv
from benchsuite.errors import MissingDataError

pytestmark = pytest.mark.data

CARD = next(card for card in DATASETS if card.name == "ogbg-molhiv")
HIV = FACTS["ogbg-molhiv"]


@pytest.fixture
def folder(data_root):
    try:
        return find(HIV, data_root)
    except MissingDataError as error:
        pytest.skip(str(error))


def test_counts(folder, data_root):
    dataset = read_graphs(CARD, data_root)
    graph = dataset.graph
    assert (dataset.num_graphs, graph.num_nodes, graph.num_edges) == (41_127, 1_049_163, 2_259_376)
    assert [int(mask.sum()) for mask in dataset.folds[0]] == [32_901, 4_113, 4_113]
    assert [int(dataset.y[mask].sum()) for mask in dataset.folds[0]] == [1_232, 81, 130]
    assert (graph.x.dtype, graph.edge_attr.dtype, dataset.y.dtype) == (torch.int64, torch.int64, torch.float32)
    assert len(dataset.folds) == 1


def test_says_which_files_are_official(folder, data_root, tmp_path):
    copy = tmp_path / "ogbg_molhiv"
    shutil.copytree(folder.path, copy)
    found = official(find(HIV, tmp_path))
    assert set(found) == set(SHA256["ogbg-molhiv"])
    assert found["raw/edge.csv.gz"] is True
    path = copy / "raw/edge.csv.gz"
    path.chmod(0o644)
    path.write_bytes(path.read_bytes() + b"\0")
    assert official(find(HIV, tmp_path)) == found | {"raw/edge.csv.gz": False}


def test_a_rebuilt_folder_is_not_said_to_be_official(folder, data_root):
    features = {f"raw/{kind}-feat.csv.gz" for kind in ("node", "edge")}
    found = official(folder)
    if all(found.values()):
        pytest.skip("this is the official data set")
    assert {file for file, same in found.items() if not same} <= features
    said = dict(notes(HIV, data_root))
    assert said["not OGB's"] == "raw/node-feat.csv.gz, raw/edge-feat.csv.gz (not the official files by sha256)"
    assert said["left out"] == "0 self loops, 0 edges again"
    assert "unknown" not in said


@pytest.mark.slow
def test_every_molecule_is_read_as_ogb_reads_it(folder, data_root, ogb):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        theirs = ogb("io.read_graph_raw").read_csv_graph_raw(str(folder.path / "raw"), add_inverse_edge=True)
    graph = ogbg_molhiv(data_root).graph
    sizes = np.array([each["num_nodes"] for each in theirs])
    counts = np.array([each["edge_index"].shape[1] for each in theirs])
    assert np.array_equal(graph.x.numpy(), np.concatenate([each["node_feat"] for each in theirs]))
    assert np.array_equal(graph.batch.numpy(), np.repeat(np.arange(len(sizes)), sizes))
    edges = np.concatenate([each["edge_index"] for each in theirs], 1)
    edges = edges + np.repeat(sizes.cumsum() - sizes, counts)
    order = np.lexsort(edges)
    assert np.array_equal(graph.edge_index.numpy(), edges[:, order])
    assert np.array_equal(graph.edge_attr.numpy(), np.concatenate([each["edge_feat"] for each in theirs])[order])
