"""The real files: TUDataset's counts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchsuite.data.cards import DATASETS
from benchsuite.data.tu.cards import DATASETS as CARDS
from benchsuite.data.tu.facts import FACTS
from benchsuite.data.tu.readers import archive_folds, find, read_tu
from benchsuite.errors import MissingDataError

pytestmark = pytest.mark.data

#: Graphs per class, directed edges without self loops, largest degree or number of tags.
KNOWN = {
    "mutag": ([63, 125], 7442, (7,)),
    "proteins": ([663, 450], 162_088, (3,)),
    "nci1": ([2053, 2057], 265_506, (37,)),
    "imdb-binary": ([500, 500], 193_062, (136,)),
    "dd": ([691, 487], 1_686_092, (82,)),
    "reddit-binary": ([1000, 1000], 1_991_016, ()),
}


def real(name, data_root):
    try:
        find(FACTS[name], data_root)
    except MissingDataError as error:
        pytest.skip(str(error))
    return read_tu(FACTS[name], data_root)


@pytest.mark.parametrize("name", KNOWN)
def test_counts(name, data_root):
    dataset = real(name, data_root)
    counts, edges, categories = KNOWN[name]
    assert dataset.y.bincount().tolist() == counts
    assert dataset.graph.num_edges == edges
    assert dataset.node_categories == categories
    assert dataset.graph.num_nodes == FACTS[name].nodes
    source, target = dataset.graph.edge_index
    assert torch.equal(dataset.graph.batch[source], dataset.graph.batch[target])
    assert (torch.diff(target * dataset.graph.num_nodes + source) > 0).all()
    assert (torch.diff(dataset.graph.batch) >= 0).all()


def test_degrees_of_reddit_are_standardised(data_root):
    x = real("reddit-binary", data_root).graph.x.double()
    assert x.shape == (859_254, 1)
    assert (float(x.mean()), float(x.std())) == pytest.approx((0, 1), abs=1e-5)


@pytest.mark.slow
def test_collab_drops_its_self_loops(data_root):
    dataset = real("collab", data_root)
    assert dataset.graph.num_edges == 24_574_995 - 2837
    assert dataset.y.bincount().tolist() == [2600, 775, 1625]
    assert (dataset.graph.num_nodes, dataset.node_categories) == (372_474, (492,))


def test_folds_that_the_archives_bring(data_root):
    real("imdb-binary", data_root)
    folds = archive_folds(FACTS["imdb-binary"], data_root)
    tested = np.stack([fold.test.numpy() for fold in folds])
    assert tested.sum(1).tolist() == [100] * 10
    assert tested.sum(0).tolist() == [1] * 1000


def test_archives_whose_folds_leave_graphs_out_say_so(data_root):
    real("mutag", data_root)
    with pytest.raises(
        MissingDataError, match=r"graph 0 is tested 0 times over the folds, not once\. Use the standard"
    ):
        archive_folds(FACTS["mutag"], data_root)


def test_each_collection_has_a_card():
    assert [card.name for card in CARDS] == list(FACTS)
    assert {card.name for card in CARDS} <= {card.name for card in DATASETS}
