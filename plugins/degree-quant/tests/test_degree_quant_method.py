"""Degree-Quant as a whole: training, evaluation, storage, and what holds for every backbone and width."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cache

import benchsuite_degree_quant
import pytest
import torch
from benchsuite_degree_quant.filler import ProtectiveFiller
from benchsuite_degree_quant.method import DegreeQuant

from benchsuite.models.backbones import build_backbone
from benchsuite.models.sites import Role
from benchsuite.plugin import MethodSpec
from benchsuite.testing.toys import permute, toy_graph, toy_job, union

BACKBONES = ("gcn", "sage", "gin", "gat")
(CARD,) = benchsuite_degree_quant.benchsuite_methods()


def make(**params):
    return MethodSpec(CARD.name, CARD.target, CARD.resolve(params)).make()


@cache
def job_of(backbone):
    """One job for tests that do not look at the method's random stream."""
    return toy_job(backbone)


@cache
def quantized(backbone, bits):
    return make(bits=bits).quantize(job_of(backbone))


@pytest.mark.parametrize(
    ("bits", "given_tail", "expected"), [(8, 0.0, 0.001), (4, 0.0, 0.01), (6, 0.0, 0.01), (4, 0.2, 0.2)]
)
def test_the_tail_goes_by_bits_unless_given(bits, given_tail, expected):
    assert make(bits=bits, tail=given_tail).tail == expected


@pytest.mark.parametrize("backbone", BACKBONES)
def test_each_site_but_the_output_is_filled_and_the_hook_is_gone(backbone):
    model = quantized(backbone, 8).model
    *others, output = (site for _, site in model.sites() if site.role is not Role.UPDATE or site.layer == 1)
    assert output.role is Role.UPDATE
    assert output.filler is None
    assert all(isinstance(site.filler, ProtectiveFiller) for site in others)
    assert isinstance(model.update_sites[0].filler, ProtectiveFiller)
    assert not model._forward_pre_hooks


def test_training_protects_nodes_and_evaluation_rounds_all():
    """With certain protection no node's row is rounded in training, and each is afterwards."""
    job = toy_job("gcn")
    passed = []

    def train(model):
        site = model.layers[0].combination.input_site

        def compare(_, args, output):
            passed.append((model.training, torch.equal(args[0], output)))

        site.register_forward_hook(compare)
        return job.train(model)

    model = make(bits=2, p_low=1.0, p_change=0.0).quantize(replace(job, train=train))
    model.predict(job.graph)
    assert passed == [(True, True)] * 20 + [(False, False)]


def test_no_protection_rounds_in_training_too():
    job, passed = toy_job("gcn"), []

    def train(model):
        model.layers[0].combination.input_site.register_forward_hook(
            lambda _, args, output: passed.append(torch.equal(args[0], output))
        )
        return job.train(model)

    make(bits=2, p_low=0.0, p_change=0.0).quantize(replace(job, train=train))
    assert passed == [False] * 20


@pytest.mark.parametrize("backbone", BACKBONES)
def test_eight_bits_stay_close_to_fp32(backbone):
    job = job_of(backbone)
    expected = job.model(job.graph).argmax(1)
    assert (quantized(backbone, 8).predict(job.graph).argmax(1) == expected).float().mean() >= 0.85


@pytest.mark.parametrize("backbone", BACKBONES)
def test_every_width_trains_and_stores_less_than_fp32(backbone):
    full = 4 * sum(p.numel() for p in job_of(backbone).model.parameters())
    sizes = []
    for bits in range(2, 9):
        model = quantized(backbone, bits)
        assert model.predict(job_of(backbone).graph).isfinite().all()
        assert set(model.execution().values()) == {"simulated"}
        sizes.append(sum(tensor.nbytes for tensor in model.state().values()))
    assert sizes == sorted(set(sizes))
    assert sizes[-1] < full


@pytest.mark.parametrize("ranges", ["percentile", "minmax", "ema"])
@pytest.mark.parametrize("gradient", ["gc", "ste"])
def test_every_kind_of_range_and_gradient_trains(ranges, gradient):
    model = make(bits=4, ranges=ranges, gradient=gradient).quantize(toy_job("gcn"))
    assert model.predict(job_of("gcn").graph).isfinite().all()
    assert model.diagnostics()["mean_protection"] == pytest.approx(0.06, abs=0.03)


def test_the_same_seed_gives_the_same_model_and_the_stream_matters():
    first, second = (make(bits=4, p_change=0.9).quantize(toy_job("gat")).state() for _ in range(2))
    assert all(torch.equal(first[key], second[key]) for key in first)
    job = replace(toy_job("gat"), generator=torch.Generator().manual_seed(99))
    other = make(bits=4, p_change=0.9).quantize(job).state()
    assert any(not torch.equal(first[key], other[key]) for key in first)


def test_prediction_changes_no_range():
    model = quantized("gcn", 8)
    before = {key: tensor.clone() for key, tensor in model.state().items()}
    model.predict(toy_graph(nodes=90, seed=4))
    assert all(torch.equal(before[key], tensor) for key, tensor in model.state().items())


def test_the_state_loads_into_a_fresh_model():
    job, method = toy_job("gcn"), make(bits=4)
    trained = method.quantize(job)
    fresh = build_backbone("gcn", 12, 3, seed=5, hidden=8)
    guard = trained.model.layers[0].combination.input_site.filler.protection
    method.fill(fresh, guard)
    fresh.load_state_dict(trained.model.state_dict())
    assert torch.equal(fresh.eval()(job.graph), trained.predict(job.graph))


def test_a_filled_model_predicts_before_any_training_step():
    job = toy_job("gcn")
    model = make(bits=4).quantize(replace(job, train=lambda model: model.eval()))
    assert model.predict(job.graph).isfinite().all()


def test_the_trained_model_is_left_alone():
    job = toy_job("gcn")
    before = copy.deepcopy(job.model.state_dict())
    make(bits=4).quantize(job)
    assert all(torch.equal(before[key], tensor) for key, tensor in job.model.state_dict().items())


@pytest.mark.parametrize("backbone", BACKBONES)
def test_batched_graphs_train_and_predict_as_one_by_one(backbone):
    graphs = [toy_graph(nodes=20, seed=1), toy_graph(nodes=1), toy_graph(nodes=30, seed=2)]
    both = union(*graphs)
    model = make(bits=8).quantize(toy_job(backbone, graph=both))
    apart = torch.cat([model.predict(graph) for graph in graphs])
    torch.testing.assert_close(model.predict(both), apart, atol=0.05, rtol=0.05)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_predictions_follow_a_permutation_of_the_nodes(backbone):
    graph = job_of(backbone).graph
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(3))
    model = quantized(backbone, 8)
    torch.testing.assert_close(model.predict(permute(graph, order)), model.predict(graph)[order], atol=0.05, rtol=0.05)


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("nodes", [0, 1])
def test_empty_and_single_node_graphs(nodes, backbone):
    tiny = toy_graph(nodes=nodes)
    assert quantized(backbone, 4).predict(tiny).shape == (nodes, 3)
    trained_on_it = make(bits=4).quantize(toy_job(backbone, graph=tiny))
    assert trained_on_it.predict(job_of(backbone).graph).isfinite().all()


def test_reported_figures_are_drops_from_the_same_table():
    rows = {(row.task, row.params["bits"]): row for row in CARD.reported}
    assert len(rows) == 18
    assert rows["citeseer-gcn", 4].value == 23.54
    assert rows["collab-gin", 4].value == 77.61
    assert all(0 < row.reference - row.value < 55 and "rerun" in row.note for row in rows.values())


def test_collapsed_percentiles_are_told():
    graph = toy_graph()
    sparse = replace(graph, x=graph.x * (torch.arange(12) == 0), cache={})
    found = make(tail=0.2).quantize(toy_job("gcn", graph=sparse)).diagnostics()
    assert found["collapsed_percentiles"]["layers.0.combination.input_site"] == 20
    assert DegreeQuant(8, 0.0, 0.1, "ema", 0.2, "gc").quantize(toy_job("gcn")).diagnostics().keys() == {
        "mean_protection"
    }
