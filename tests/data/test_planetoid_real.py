"""The real files, against PyTorch Geometric's own reader."""

from __future__ import annotations

import shutil

import pytest
import torch

from benchsuite.data import read
from benchsuite.data.cards import DATASETS
from benchsuite.data.planetoid import FACTS, file_names, find
from benchsuite.errors import MissingDataError

pytestmark = [pytest.mark.data, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

CARDS = {card.name: card for card in DATASETS}


def same(ours, theirs) -> None:
    """Hold our data set against PyTorch Geometric's, tensor by tensor."""
    from torch_geometric.transforms import NormalizeFeatures
    from torch_geometric.utils import remove_self_loops, to_undirected

    normalised = NormalizeFeatures()(theirs.clone())
    assert torch.equal(ours.graph.x, normalised.x)
    assert torch.equal(ours.y, theirs.y)
    for name, chosen in ours.splits().items():
        assert torch.equal(chosen, theirs[f"{name}_mask"])
    edges = to_undirected(remove_self_loops(theirs.edge_index)[0], num_nodes=theirs.num_nodes)
    by_target = torch.argsort(edges[1] * theirs.num_nodes + edges[0])
    assert torch.equal(ours.graph.edge_index, edges[:, by_target])


@pytest.mark.parametrize("name", FACTS)
def test_equals_pyg_on_the_raw_files(name, data_root):
    from torch_geometric.io import read_planetoid_data

    theirs = read_planetoid_data(str(find(FACTS[name], data_root)), name)
    same(read(CARDS[name], data_root), theirs)


def test_a_folder_that_pyg_made_works(data_root, tmp_path):
    from torch_geometric.datasets import Planetoid

    raw = tmp_path / "Cora" / "raw"
    raw.mkdir(parents=True)
    for file in file_names(FACTS["cora"]):
        shutil.copy(find(FACTS["cora"], data_root) / file, raw)
    theirs = Planetoid(str(tmp_path), "Cora")[0]
    same(read(CARDS["cora"], tmp_path), theirs)


@pytest.mark.parametrize("name", FACTS)
def test_counts(name, data_root):
    facts, dataset = FACTS[name], read(CARDS[name], data_root)
    assert (dataset.graph.num_nodes, dataset.graph.num_edges) == (facts.nodes, facts.edges)
    assert (dataset.graph.num_features, dataset.num_classes) == (facts.features, facts.classes)
    assert [int(split.sum()) for split in dataset.splits().values()] == [facts.train, 500, 1000]
    assert torch.bincount(dataset.y[dataset.train]).tolist() == [20] * facts.classes


def test_another_data_sets_files_under_this_ones_names(data_root, tmp_path):
    source = find(FACTS["citeseer"], data_root)
    for file in file_names(FACTS["citeseer"]):
        shutil.copy(source / file, tmp_path / file.replace("citeseer", "cora"))
    with pytest.raises(MissingDataError) as caught:
        read(CARDS["cora"], tmp_path)
    assert f"{tmp_path / 'ind.cora.test.index'} has 3,326 as its last id in place of 2,707" in str(caught.value)
    assert "another data set than 'cora'. Run: benchsuite data fetch cora" in str(caught.value)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_a_truncated_file(share, data_root, tmp_path):
    source = find(FACTS["cora"], data_root)
    for file in file_names(FACTS["cora"]):
        shutil.copy(source / file, tmp_path)
    cut = tmp_path / "ind.cora.allx"
    whole = cut.read_bytes()
    cut.chmod(0o644)
    cut.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(MissingDataError, match=r"ind\.cora\.allx is refused as a sparse matrix"):
        read(CARDS["cora"], tmp_path)
