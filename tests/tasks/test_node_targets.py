"""Node tasks whose targets are questions, not classes; and training on samples of neighbours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from benchsuite.contracts.cards import DatasetCard
from benchsuite.contracts.task import CellOutput
from benchsuite.errors import ProtocolError
from benchsuite.models.backbones import build_backbone
from benchsuite.tasks.metrics import measure
from benchsuite.tasks.recipes import SAGE, Sampling
from benchsuite.tasks.training import Labels, train
from benchsuite.tasks.view import read_view, write_view

BINARY = DatasetCard(name="toy", target="toy_data:read_binary", summary="Toy.", licence="none", source="tests")


@pytest.fixture
def questions(setting):
    toy = setting(metric="rocauc")
    return replace(toy, places=replace(toy.places, datasets={"toy": BINARY}))


def test_questions_are_answered_with_outputs_and_scored_by_their_metric(questions):
    output = questions.run("Identity")
    held = questions.prepare().held_out["test"]
    predicted = output.predictions["test"]
    assert (predicted.dtype, predicted.shape) == (np.float32, held.shape)
    score = questions.task.score(questions.prepare(), output)
    assert score == {"rocauc": measure("rocauc", held, predicted)}
    assert score["rocauc"] > 50
    assert output.measurements["agreement"] == 100.0


def test_hidden_answers_are_missing_ones(modules, tmp_path):
    import toy_data

    dataset = toy_data.read_binary()
    view = read_view(write_view(dataset, tmp_path))
    assert view.target_type == "binary"
    assert view.labels.y[dataset.test].isnan().all()
    known = dataset.train | dataset.val
    assert torch.equal(view.labels.y[known].nan_to_num(9), dataset.y[known].nan_to_num(9))
    flipped = replace(dataset, y=torch.where(dataset.test.unsqueeze(1), 1 - dataset.y, dataset.y))
    assert write_view(flipped, tmp_path) == write_view(dataset, tmp_path)


def test_classes_in_place_of_outputs_are_no_answer(questions):
    held = questions.prepare().held_out["test"]
    with pytest.raises(ProtocolError, match="not float32 of shape"):
        questions.task.score(questions.prepare(), CellOutput(predictions={"test": np.zeros(len(held), np.int64)}))


def test_edge_attributes_go_through_the_view(dataset, tmp_path):
    attr = torch.rand(dataset.graph.num_edges, 2)
    with_attr = replace(dataset, graph=replace(dataset.graph, edge_attr=attr, cache={}))
    view = read_view(write_view(with_attr, tmp_path))
    assert torch.equal(view.graph.edge_attr, attr)
    inside = ~(dataset.test[dataset.graph.edge_index]).any(0)
    assert torch.equal(view.without_test.graph.edge_attr, attr[inside])


def sampled(dataset, fan_out, batch_size, seed=0):
    recipe = SAGE.model_copy(
        update={"epochs": 8, "sampling": Sampling(fan_out=fan_out, batch_size=batch_size), "options": {"dropout": 0.0}}
    )
    labels = Labels(dataset.y.where(dataset.train | dataset.val, -1), dataset.train, dataset.val)
    model = build_backbone("sage", 12, 3, seed, dropout=0.0)
    selection = train(model, dataset.graph.fresh(), labels, recipe, seed)
    return model.state_dict(), selection


def test_training_on_samples_learns_and_depends_on_its_seed_alone(dataset):
    (one, selection), (other, again) = sampled(dataset, (2, 2), 8), sampled(dataset, (2, 2), 8)
    assert selection == again
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert selection.score > 100 / 3


def test_one_batch_with_all_neighbours_is_full_batch_training(dataset):
    """Where everything is drawn, the sample is the graph as far as the training nodes can see."""
    sample, _ = sampled(dataset, (1000, 1000), 1000)
    recipe = SAGE.model_copy(update={"epochs": 8, "options": {"dropout": 0.0}})
    labels = Labels(dataset.y.where(dataset.train | dataset.val, -1), dataset.train, dataset.val)
    model = build_backbone("sage", 12, 3, 0, dropout=0.0)
    train(model, dataset.graph.fresh(), labels, recipe, 0)
    whole = model.state_dict()
    assert all(torch.allclose(whole[name], sample[name], atol=1e-4) for name in whole)


def test_a_task_card_s_config_says_nothing_of_what_is_not_set(setting):
    assert {"sampling", "metric"}.isdisjoint(SAGE.as_config())
    assert setting(sampling={"fan_out": [2, 2], "batch_size": 8}).task.recipe.sampling.fan_out == (2, 2)
