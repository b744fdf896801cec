"""Quantization-aware training: ranges by hand, frozen at evaluation, and what holds for every backbone."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cache

import benchsuite_qat
import pytest
import torch
from benchsuite_qat.training import MinMax

from benchsuite.models.ranges import OPERANDS, extremes
from benchsuite.models.sites import Role
from benchsuite.plugin import MethodSpec
from benchsuite.testing.toys import permute, toy_graph, toy_job

BACKBONES = ("gcn", "sage", "gin", "gat")
METHODS = ("qat-minmax", "qat-ema")


def make(name, **params):
    (card,) = (card for card in benchsuite_qat.benchsuite_methods() if card.name == name)
    return MethodSpec(card.name, card.target, card.resolve(params)).make()


@cache
def job_of(backbone):
    """One job for all: training makes its own model from the seed."""
    return toy_job(backbone)


@cache
def quantized(name, backbone, bits):
    return make(name, bits=bits).quantize(job_of(backbone))


def values_seen(name):
    """Run a method and return what passed one input site, step by step, with the filler after it."""
    seen = []
    job = toy_job("gcn")

    def train(model):
        site = model.layers[1].combination.input_site
        site.register_forward_pre_hook(
            lambda _, args: seen.append(args[0].detach().clone()) if model.training else None
        )
        return job.train(model)

    site = make(name).quantize(replace(job, train=train)).model.layers[1].combination.input_site
    return seen, site.filler


def test_minmax_keeps_the_extremes_of_all_steps():
    seen, filler = values_seen("qat-minmax")
    assert len(seen) == 20
    low, high = extremes(torch.cat(seen))
    assert (filler.low, filler.high) == (low, high)


def test_ema_averages_the_extremes_of_the_steps():
    seen, filler = values_seen("qat-ema")
    high = seen[0].max().item()
    for values in seen[1:]:
        high += 0.01 * (values.max().item() - high)
    assert filler.high.item() == pytest.approx(high, rel=1e-5)


@pytest.mark.parametrize("name", METHODS)
def test_training_starts_from_the_initial_model_and_leaves_the_trained_one_alone(name):
    job = toy_job("gcn")
    trained, started = copy.deepcopy(job.model.state_dict()), []

    def train(model):
        started.append(copy.deepcopy(model.layers[0].combination.weight))
        return job.train(model)

    make(name).quantize(replace(job, train=train))
    assert torch.equal(started[0], job.initial_model().layers[0].combination.weight)
    assert all(torch.equal(a, b) for a, b in zip(trained.values(), job.model.state_dict().values(), strict=True))


@pytest.mark.parametrize("name", METHODS)
def test_prediction_changes_no_range(name):
    model = quantized(name, "gcn", 8)
    before = {key: tensor.clone() for key, tensor in model.state().items()}
    model.predict(replace_features(job_of("gcn").graph, 100.0))
    assert all(torch.equal(before[key], tensor) for key, tensor in model.state().items())


def replace_features(graph, factor):
    return replace(graph, x=graph.x * factor, cache={})


@pytest.mark.parametrize("name", METHODS)
def test_only_operands_are_rounded(name):
    for site_name, site in quantized(name, "gat", 8).model.sites():
        assert (site.filler is not None) == (site.role in OPERANDS | {Role.WEIGHT}), site_name


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("name", METHODS)
def test_eight_bits_stay_close_to_fp32(name, backbone):
    job = job_of(backbone)
    expected = job.model(job.graph).argmax(1)
    found = quantized(name, backbone, 8).predict(job.graph).argmax(1)
    assert (found == expected).float().mean() >= 0.85


@pytest.mark.parametrize("backbone", BACKBONES)
def test_every_width_trains_and_stores_less_than_fp32(backbone):
    full = 4 * sum(p.numel() for p in job_of(backbone).model.parameters())
    for bits in range(2, 9):
        model = quantized("qat-minmax", backbone, bits)
        assert model.predict(job_of(backbone).graph).isfinite().all()
        assert sum(tensor.nbytes for tensor in model.state().values()) < full
        assert set(model.execution().values()) == {"simulated"}


@pytest.mark.parametrize("name", METHODS)
def test_the_same_seed_gives_the_same_model(name):
    first, second = (make(name, bits=4).quantize(toy_job("gat")).state() for _ in range(2))
    assert all(torch.equal(first[key], second[key]) for key in first)


def test_the_weights_have_learned():
    job = job_of("gcn")
    labels = job.model(job.graph).argmax(1)
    untrained = (job.initial_model().eval()(job.graph).argmax(1) == labels).float().mean()
    assert (quantized("qat-minmax", "gcn", 4).predict(job.graph).argmax(1) == labels).float().mean() > untrained


@pytest.mark.parametrize("backbone", BACKBONES)
def test_predictions_follow_a_permutation_of_the_nodes(backbone):
    graph = job_of(backbone).graph
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(3))
    model = quantized("qat-ema", backbone, 8)
    torch.testing.assert_close(model.predict(permute(graph, order)), model.predict(graph)[order], atol=0.05, rtol=0.05)


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("nodes", [0, 1])
def test_empty_and_single_node_graphs(nodes, backbone):
    tiny = toy_graph(nodes=nodes)
    assert quantized("qat-minmax", backbone, 4).predict(tiny).shape == (nodes, 3)
    trained_on_it = MinMax(4).quantize(toy_job(backbone, graph=tiny))
    assert trained_on_it.predict(job_of(backbone).graph).isfinite().all()
