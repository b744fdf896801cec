"""No target of a test graph reaches a worker, through the view or through what comes with the cell."""

from __future__ import annotations

from dataclasses import replace

import pytest
import safetensors.torch
import torch

from benchsuite.errors import MissingDataError
from benchsuite.tasks.graphs.view import read_graphs_view, read_header, shown, write_graphs


def flipped(dataset, fold):
    """Return the data set with other targets for the test graphs of a fold."""
    test = fold.test if dataset.y.dim() == 1 else fold.test.unsqueeze(1)
    return replace(dataset, y=torch.where(test, 1 - dataset.y, dataset.y))


@pytest.mark.parametrize("reader", ["read", "read_binary"])
def test_what_a_worker_is_handed_is_the_same_whatever_the_test_targets_are(data, tmp_path, reader):
    dataset = getattr(data, reader)()
    for fold in dataset.folds:
        other = flipped(dataset, fold)
        assert not torch.equal(other.y.nan_to_num(-7), dataset.y.nan_to_num(-7))
        assert shown(other, fold) == shown(dataset, fold)
        assert write_graphs(other, tmp_path) == write_graphs(dataset, tmp_path)
        assert other.content_hash() != dataset.content_hash()


def test_the_file_of_all_folds_holds_no_target_at_all(data, tmp_path):
    path = write_graphs(data.read(), tmp_path)
    assert set(safetensors.torch.load(path.read_bytes())) == {"x", "edge_index", "batch"}


def test_shown_are_the_targets_of_training_and_validation_graphs(data, tmp_path):
    dataset = data.read()
    view = read_graphs_view(write_graphs(dataset, tmp_path), shown(dataset, dataset.folds[2]))
    known, hidden = torch.cat([view.targets.train, view.targets.val]), view.targets.test
    assert torch.equal(view.targets.y[known], dataset.y[known])
    assert set(view.targets.y[hidden].tolist()) == {-1}
    assert hidden.tolist() == list(range(2, 60, 5))
    assert sorted([*known.tolist(), *hidden.tolist()]) == list(range(60))


def test_missing_targets_look_like_hidden_ones(data, tmp_path):
    dataset = data.read_binary()
    view = read_graphs_view(write_graphs(dataset, tmp_path), shown(dataset, dataset.folds[0]))
    assert view.targets.y[view.targets.test].isnan().all()
    assert view.targets.y[0].tolist()[1] == 1.0
    assert view.targets.y[0].isnan().tolist() == [True, False]
    assert (view.shape.node_categories, view.shape.edge_categories) == ((6, 3), (4,))
    assert view.target_type == "binary"


def test_folds_have_different_names_for_what_training_depends_on(data, tmp_path):
    dataset = data.read()
    path = write_graphs(dataset, tmp_path)
    digests = {read_graphs_view(path, shown(dataset, fold)).digest for fold in dataset.folds}
    assert len(digests) == len(dataset.folds)


def test_a_damaged_file_costs_one_line(data, tmp_path):
    path = write_graphs(data.read(), tmp_path)
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(MissingDataError):
        read_graphs_view(path, shown(data.read(), data.read().folds[0]))
    (tmp_path / "x.safetensors").write_bytes(b"no view")
    with pytest.raises(MissingDataError, match="no prepared view of graphs"):
        read_header(tmp_path / "x.safetensors")
