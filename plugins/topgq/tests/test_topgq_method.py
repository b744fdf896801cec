"""The whole method on all backbones."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest
import torch
from benchsuite_topgq.method import TopGQ

from benchsuite.plugin import QuantizedModel, Quantizer
from benchsuite.testing.toys import permute, toy_graph, toy_job

BACKBONES = ["gcn", "sage", "gin", "gat"]


def predict(backbone: str, seed: int = 0, **params) -> tuple[torch.Tensor, torch.Tensor]:
    """Return logits of the float model and of the quantized one on the calibration graph."""
    job = toy_job(backbone, seed=seed)
    with torch.no_grad():
        wanted = job.model(job.graph)
    return wanted, TopGQ(**params).quantize(job).predict(job.graph)


def error(backbone: str, seed: int = 0, **params) -> float:
    wanted, found = predict(backbone, seed, **params)
    return float((found - wanted).norm() / wanted.norm())


def test_it_keeps_the_contract():
    assert isinstance(TopGQ(), Quantizer)
    assert isinstance(TopGQ().quantize(toy_job()), QuantizedModel)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_eight_bits_are_near_float(backbone):
    assert max(error(backbone, seed) for seed in range(3)) < 0.03


@pytest.mark.parametrize("backbone", BACKBONES)
def test_more_bits_err_less(backbone):
    errors = [sum(error(backbone, seed, bits=bits) for seed in range(3)) for bits in (2, 4, 8)]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


@pytest.mark.parametrize("bits", range(2, 9))
def test_every_width_works(bits):
    wanted, found = predict("gcn", bits=bits)
    assert found.shape == wanted.shape
    assert torch.isfinite(found).all()


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("bits", [8, 4])
def test_the_whole_model_moves_with_the_nodes(backbone, bits):
    job = toy_job(backbone, seed=1)
    order = torch.randperm(60, generator=torch.Generator().manual_seed(5))
    moved = replace(job, model=copy.deepcopy(job.model), graph=permute(job.graph, order))
    one = TopGQ(bits=bits).quantize(job)
    other = TopGQ(bits=bits).quantize(moved)
    wanted = one.predict(job.graph)
    close = {"rtol": 1e-5, "atol": 1e-5 * float(wanted.abs().max())}
    assert torch.allclose(other.predict(moved.graph), wanted[order], **close)
    assert torch.allclose(one.predict(moved.graph), wanted[order], **close)  # unseen, and every node an exact hit
    assert one.diagnostics()["unseen_exact_hits"] == 1.0


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("nodes", [0, 1, 2, 90])
def test_any_unseen_graph_works(backbone, nodes):
    graph = toy_graph(nodes, seed=8)
    model = TopGQ().quantize(toy_job(backbone))
    logits = model.predict(graph)
    assert logits.shape == (nodes, 3)
    assert torch.isfinite(logits).all()
    assert torch.equal(model.predict(graph.fresh()), logits)


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("nodes", [0, 1])
def test_it_calibrates_on_an_empty_graph_and_on_one_node(backbone, nodes):
    job = toy_job(backbone, graph=toy_graph(nodes))
    model = TopGQ().quantize(job)
    assert model.predict(job.graph).shape == (nodes, 3)
    assert torch.isfinite(model.predict(toy_graph(20))).all()
    json.dumps(model.diagnostics(), allow_nan=False)


def test_unseen_nodes_stay_near_float():
    job = toy_job("gcn", graph=toy_graph(300, seed=1))
    other = toy_graph(300, seed=2)
    with torch.no_grad():
        wanted = job.model(other)
    model = TopGQ().quantize(job)
    found = model.predict(other)
    assert 0.0 < model.diagnostics()["unseen_exact_hits"] < 1.0
    assert float((found - wanted).norm() / wanted.norm()) < 0.2


@pytest.mark.parametrize("grouping", ["toppin", "degree", "none", "random"])
def test_same_job_same_result(grouping):
    first, again = (predict("gcn", grouping=grouping)[1] for _ in range(2))
    assert torch.equal(first, again)


def test_only_random_grouping_draws_from_the_generator():
    for grouping, draws in (("toppin", False), ("random", True)):
        job = toy_job()
        before = job.generator.get_state()
        TopGQ(grouping=grouping).quantize(job)
        assert torch.equal(before, job.generator.get_state()) is not draws


def test_nothing_of_the_callers_is_touched():
    job = toy_job()
    x, edges, state = job.graph.x.clone(), job.graph.edge_index.clone(), torch.random.get_rng_state()
    model = TopGQ().quantize(job)
    model.predict(job.graph)
    assert torch.equal(job.graph.x, x)
    assert torch.equal(job.graph.edge_index, edges)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in job.model.modules())


def test_training_is_never_called():
    def refuse(*_: object) -> None:
        raise AssertionError("post-training quantization trains nothing")

    TopGQ().quantize(replace(toy_job(), train=refuse, initial_model=refuse))


def test_the_forward_runs_once():
    job, calls = toy_job(), []
    job.model.register_forward_pre_hook(lambda *_: calls.append(1))
    TopGQ().quantize(job)
    assert len(calls) == 1


def test_every_product_is_quantized():
    for backbone in BACKBONES:
        model = TopGQ().quantize(toy_job(backbone))
        assert set(model.execution().values()) == {"simulated"}
        for name, module in model.model.weights():
            assert module.weight_site.filler is not None, name


def test_both_combinations_of_graphsage_share_the_grid_of_their_input():
    model = TopGQ().quantize(toy_job("sage")).model
    sites = {name: c.input_site.filler for name, c in model.combinations()}
    assert sites["layers.0.neighbour"] is sites["layers.0.root"]
    assert sites["layers.0.root"] is not sites["layers.1.root"]


def test_state_holds_packed_weights_and_one_row_per_group():
    job = toy_job("gcn")
    model = TopGQ(bits=4).quantize(job)
    state = model.state()
    groups = model.diagnostics()["groups"]
    assert state["layers.0.combination.weight.codes"].numel() == 8 * 12 // 2  # two codes a byte
    assert state["layers.0.combination.weight.scale"].shape == (8,)
    prefix = "layers.0.combination.input_site.filler"
    assert state[f"{prefix}.step"].shape == (groups,)
    assert f"{prefix}.offset" not in state  # the features are not negative
    assert state[f"{prefix}.groups.key"].shape == (groups,)
    assert sum(name.endswith(".key") for name in state) == 1  # shared by all layers, stored once
    own = [t for name, t in state.items() if not name.endswith((".codes", ".weight.scale", ".bias"))]
    assert model.diagnostics()["parameter_bytes"] == sum(t.numel() * t.element_size() for t in own)


@pytest.mark.parametrize("selection", ["activation", "output"])
def test_diagnostics_tell_the_picks_with_both_errors(selection):
    told = TopGQ(bits=4, selection=selection).quantize(toy_job("gcn")).diagnostics()
    json.dumps(told, allow_nan=False)
    assert list(told["picks"]) == ["layers.0.aggregation", "layers.1.aggregation"]
    for pick in told["picks"].values():
        assert (pick["pick"] == "dual-axis") == (pick["dual_axis_mse"] < pick["column_mse"])
    assert told["groups_per_node"] == told["groups"] / 60
    assert told["singleton_groups"] <= told["groups"]
    assert told["unseen_exact_hits"] is None


def test_phases_tell_where_the_time_went():
    method = TopGQ()
    method.quantize(toy_job())
    phases = {"toppin", "grouping", "adjacency", "calibration forward", "statistics", "selection", "weights"}
    assert set(method.seconds) == phases
    assert all(seconds >= 0 for seconds in method.seconds.values())


def test_topology_groups_pay_where_activations_grow_with_the_degree():
    # GIN sums over neighbours: one grid for all nodes must reach to the hubs, and is too coarse for the others.
    errors = {}
    for grouping in ("toppin", "none"):
        job = toy_job("gin", graph=toy_graph(300))
        with torch.no_grad():
            wanted = job.model(job.graph)
        found = TopGQ(grouping=grouping).quantize(job).predict(job.graph)
        errors[grouping] = float(((found - wanted).norm(dim=1) / wanted.norm(dim=1)).mean())
    assert errors["toppin"] < errors["none"] / 2
