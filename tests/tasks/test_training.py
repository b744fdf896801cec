"""Training against a plain loop, and what it leaves behind."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from benchsuite.errors import ProtocolError
from benchsuite.models.backbones import BACKBONES, build_backbone
from benchsuite.tasks.recipes import GCN, RECIPES
from benchsuite.tasks.training import Labels, parameter_groups, train

SHORT = GCN.model_copy(update={"epochs": 15})


@pytest.fixture
def labels(dataset):
    return Labels(dataset.y.where(dataset.train | dataset.val, -1), dataset.train, dataset.val)


def plain_loop(model, graph, labels, recipe, seed):
    """Return ``(validation accuracy, state)`` after each epoch, written without anything of the suite's training."""
    torch.manual_seed(seed)
    decays = [{"params": [p], "weight_decay": recipe.weight_decay[i]} for i in (0, 1) for p in _layer(model, i)]
    adam = torch.optim.Adam(decays, lr=recipe.lr)
    epochs = []
    for _ in range(recipe.epochs):
        model.train()
        adam.zero_grad()
        functional.cross_entropy(model(graph)[labels.train], labels.y[labels.train]).backward()
        adam.step()
        predicted = model.eval()(graph).argmax(1)
        accuracy = (predicted[labels.val] == labels.y[labels.val]).double().mean().item()
        epochs.append((100 * accuracy, copy.deepcopy(model.state_dict())))
    return epochs


def _layer(model, index):
    return list(model.layers[index].parameters())


@pytest.mark.parametrize("seed", [0, 1])
def test_the_first_epoch_with_the_best_validation_accuracy_is_kept(dataset, labels, seed):
    model = build_backbone("gcn", 12, 3, seed)
    epochs = plain_loop(copy.deepcopy(model), dataset.graph, labels, SHORT, seed=5)
    accuracies = [accuracy for accuracy, _ in epochs]
    best = accuracies.index(max(accuracies))
    assert accuracies.count(max(accuracies)) > 1 or best < len(epochs) - 1  # the rule has something to decide
    selection = train(model, dataset.graph, labels, SHORT, seed=5)
    assert selection.epoch == best + 1
    assert selection.score == pytest.approx(accuracies[best])
    torch.testing.assert_close(model.state_dict(), epochs[best][1], rtol=0, atol=0)


def test_the_model_is_left_in_eval_mode_without_gradients(dataset, labels):
    model = build_backbone("gcn", 12, 3, 0)
    train(model, dataset.graph, labels, SHORT, seed=0)
    assert not any(module.training for module in model.modules())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_the_result_depends_on_the_seed_and_not_on_the_caller(dataset, labels):
    states = []
    for outside, seed in ((1, 0), (2, 0), (1, 1)):
        torch.manual_seed(outside)
        model = build_backbone("gcn", 12, 3, 0)
        train(model, dataset.graph.fresh(), labels, SHORT, seed)
        states.append(model.layers[0].combination.weight.detach())
    assert torch.equal(states[0], states[1])
    assert not torch.equal(states[0], states[2])


def test_the_callers_random_state_and_grad_mode_are_put_back(dataset, labels):
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    with torch.no_grad():
        train(build_backbone("gcn", 12, 3, 0), dataset.graph, labels, SHORT, seed=0)
        assert not torch.is_grad_enabled()
    assert torch.equal(torch.random.get_rng_state(), before)


def test_hidden_classes_are_not_read(dataset, labels):
    states = []
    for y in (labels.y, dataset.y):
        model = build_backbone("gcn", 12, 3, 0)
        train(model, dataset.graph, Labels(y, labels.train, labels.val), SHORT, seed=0)
        states.append(model.state_dict())
    torch.testing.assert_close(*states, rtol=0, atol=0)


def test_buffers_are_those_of_the_kept_epoch(dataset, labels):
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("steps", torch.zeros((), dtype=torch.long))

        def forward(self, tensor, adjacency):
            self.steps += int(self.training)
            return tensor

    model = build_backbone("gcn", 12, 3, 0)
    counter = Counter()
    model.update_sites[0].fill(counter)
    selection = train(model, dataset.graph, labels, SHORT, seed=0)
    assert selection.epoch < SHORT.epochs
    assert counter.steps == selection.epoch


@pytest.mark.parametrize("epoch", [1, 4])
def test_a_loss_that_is_not_finite_names_its_epoch(dataset, labels, epoch):
    class Poison(nn.Module):
        calls = 0

        def forward(self, tensor, adjacency):
            self.calls += int(self.training)
            return tensor * torch.nan if self.training and self.calls == epoch else tensor

    model = build_backbone("gcn", 12, 3, 0)
    model.update_sites[1].fill(Poison())
    with pytest.raises(ProtocolError, match=f"nan in epoch {epoch}$"):
        train(model, dataset.graph, labels, SHORT, seed=0)


@pytest.mark.parametrize("name", sorted(BACKBONES))
def test_every_parameter_has_the_decay_of_its_layer(name):
    model = build_backbone(name, 12, 3, 0)
    groups = parameter_groups(model, (0.5, 0.25))
    decays = {id(p): group["weight_decay"] for group in groups for p in group["params"]}
    named = dict(model.named_parameters())
    assert len(decays) == len(named) == sum(len(group["params"]) for group in groups)
    for key, parameter in named.items():
        assert decays[id(parameter)] == {"0": 0.5, "1": 0.25}[key.split(".")[1]], key


def test_what_a_quantizer_adds_is_learned_without_decay():
    class Step(nn.Module):
        def __init__(self):
            super().__init__()
            self.step = nn.Parameter(torch.ones(1))

    model = build_backbone("gcn", 12, 3, 0)
    model.layers[0].combination.input_site.fill(Step())
    model.layers[0].aggregation.replace(Step())
    decays = {id(p): group["weight_decay"] for group in parameter_groups(model, (0.5,)) for p in group["params"]}
    added = [p for key, p in model.named_parameters() if key.endswith("step")]
    assert [decays[id(p)] for p in added] == [0.0, 0.0]


def test_the_last_decay_holds_for_further_layers():
    model = build_backbone("gcn", 12, 3, 0, layers=4)
    decays = {g["weight_decay"]: len(g["params"]) for g in parameter_groups(model, (0.5, 0.0))}
    assert decays == {0.5: 2, 0.0: 6}


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_every_recipe_learns_the_toy_task(dataset, labels, name):
    recipe = RECIPES[name].model_copy(update={"epochs": 60})
    model = build_backbone(name, 12, 3, 0, **recipe.options)
    counts = dataset.y[dataset.val].bincount()
    chance = 100 * (counts.max() / counts.sum()).item()
    assert train(model, dataset.graph, labels, recipe, seed=0).score > chance
