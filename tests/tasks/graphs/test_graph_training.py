"""Losses, metrics and training on batches of graphs."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from benchsuite.errors import ProtocolError
from benchsuite.models.backbones.pooled import Shape, build_pooled
from benchsuite.models.batches import GraphPool
from benchsuite.tasks.graphs.training import train_graphs
from benchsuite.tasks.graphs.view import Targets
from benchsuite.tasks.losses import loss_of
from benchsuite.tasks.metrics import agreement, better, measure, worst
from benchsuite.tasks.recipes import TU_GIN


def test_losses_by_hand():
    two = torch.tensor([[0.0, 0.0], [0.0, math.log(3.0)]])
    assert loss_of(two, torch.tensor([0, 0]), "classes", "accuracy").item() == pytest.approx(
        (math.log(2) + math.log(4)) / 2
    )
    y = torch.tensor([[1.0, torch.nan], [torch.nan, 0.0]])
    assert loss_of(two, y, "binary", "rocauc").item() == pytest.approx((math.log(2) + math.log(4)) / 2)
    values = torch.tensor([[1.0], [4.0]])
    assert loss_of(values, torch.tensor([[3.0], [torch.nan]]), "values", "rmse").item() == 4.0
    assert loss_of(values, torch.tensor([[3.0], [5.0]]), "values", "mae").item() == 1.5


def test_a_batch_without_any_known_target_teaches_nothing():
    outputs = torch.ones(2, 1, requires_grad=True)
    loss_of(outputs, torch.full((2, 1), torch.nan), "binary", "rocauc").backward()
    assert outputs.grad.tolist() == [[0.0], [0.0]]


def test_metrics_by_hand():
    assert measure("accuracy", np.array([0, 1, 2, 2]), np.array([0, 1, 2, 0])) == 75.0
    y, outputs = np.array([[1.0], [3.0], [np.nan]], np.float32), np.array([[2.0], [6.0], [99.0]], np.float32)
    assert measure("mae", y, outputs) == 2.0
    assert measure("rmse", y, outputs) == pytest.approx(math.sqrt(5.0))
    binary = np.array([[0.0], [1.0], [1.0], [np.nan]], np.float32)
    ranked = np.array([[0.1], [0.05], [0.9], [5.0]], np.float32)
    assert measure("rocauc", binary, ranked) == pytest.approx(50.0)
    assert measure("ap", binary, ranked) == pytest.approx(100 * (1 + 2 / 3) / 2)


def test_lower_errors_and_higher_accuracies_are_better():
    assert better("accuracy", 2.0, 1.0)
    assert better("rmse", 1.0, 2.0)
    assert better("rmse", 1e9, worst("rmse"))
    assert better("ap", 0.0, worst("ap"))
    assert not better("mae", float("nan"), 1.0)


def test_agreement_is_of_answers():
    one, other = torch.tensor([[1.0, -1.0], [2.0, 3.0]]), torch.tensor([[5.0, 4.0], [-1.0, 3.0]])
    assert agreement(one, other, "classes") == 100.0
    assert agreement(one, other, "binary") == 50.0
    assert agreement(one, other, "values") is None


def lesson(data, fold=0):
    dataset = data.read()
    split = dataset.folds[fold]
    places = [mask.nonzero().flatten() for mask in split]
    y = dataset.y.where(~split.test, -1)
    return GraphPool(dataset.graph), Targets(y, *places)


def recipe(**fields):
    return TU_GIN.model_copy(update={"epochs": 12, "batch_size": 16, **fields})


def network():
    return build_pooled("gin", Shape(5, 2), 0, hidden=8, layers=2, dropout=0.2)


def test_planted_classes_are_learned(data):
    pool, targets = lesson(data)
    selection = train_graphs(network(), pool, targets, "classes", recipe(epochs=40), seed=0)
    assert selection.score > 80.0


def test_one_seed_gives_one_model_and_the_caller_s_stream_is_put_back(data):
    pool, targets = lesson(data)
    models = [network(), network()]
    torch.manual_seed(7)
    before = torch.get_rng_state()
    for model in models:
        train_graphs(model, pool, targets, "classes", recipe(), seed=3)
    assert torch.equal(before, torch.get_rng_state())
    one, other = (model.state_dict() for model in models)
    assert all(torch.equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize("select", ["loss", "metric"])
def test_the_kept_model_is_that_of_the_best_validation_epoch(data, select):
    pool, targets = lesson(data)
    shots = []
    for epochs in range(1, 9):
        model = network()
        train_graphs(model, pool, targets, "classes", recipe(epochs=epochs, select=select), seed=0)
        with torch.no_grad():
            outputs = model(pool.take(targets.val))
        loss = loss_of(outputs, targets.y[targets.val], "classes", "accuracy").item()
        hits = (outputs.argmax(1) == targets.y[targets.val]).float().mean().item()
        shots.append(-loss if select == "loss" else hits)
    # More epochs cannot make the kept model worse by what it is selected by.
    assert shots == sorted(shots)
    assert shots[-1] > shots[0]


def test_the_rate_is_halved(data):
    pool, targets = lesson(data)
    steady, halved = network(), network()
    train_graphs(steady, pool, targets, "classes", recipe(epochs=2, select="loss"), seed=0)
    train_graphs(halved, pool, targets, "classes", recipe(epochs=2, select="loss", halve_every=1), seed=0)
    assert not torch.equal(steady.head[0].weight, halved.head[0].weight)


def test_a_loss_that_is_not_finite_ends_training(data):
    pool, targets = lesson(data)
    model = network()
    with torch.no_grad():
        model.head[0].weight.fill_(torch.inf)
    with pytest.raises(ProtocolError, match="training diverged: the loss is nan in epoch 1"):
        train_graphs(model, pool, targets, "classes", recipe(), seed=0)
