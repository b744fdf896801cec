"""Node quantization end to end on a small graph, with quantizers of every temper."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from benchsuite.contracts.cards import DatasetCard
from benchsuite.contracts.task import CellOutput, Places, Prepared, Task
from benchsuite.errors import ProtocolError, UsageError
from benchsuite.tasks.quantization import NodeQuantization
from benchsuite.tasks.recipes import RECIPES
from benchsuite.tasks.training import TRAINING_VERSION

GCN_BYTES = 4 * (12 * 16 + 16 + 16 * 3 + 3)


def measured(output, *names):
    return tuple(output.measurements[name] for name in names)


def test_the_identity_agrees_with_the_reference(setting):
    toy = setting()
    assert isinstance(toy.task, Task)
    output = toy.run("Identity")
    assert measured(output, "agreement", "logit_mse") == (100.0, 0.0)
    assert measured(output, "stored_bytes", "reference_bytes") == (GCN_BYTES, GCN_BYTES)
    assert all(value > 0 for value in measured(output, "quantization_seconds", "cost_ratio", "drift"))
    assert output.notes["determinism"]["class"] == "bitwise"
    assert output.notes["timing"] == "timing/1"
    assert set(output.notes["execution"].values()) == {"float"}
    assert 1 <= output.notes["best_epoch"] <= 12
    predicted = output.predictions["test"]
    assert (predicted.dtype, predicted.shape) == (np.int64, (18,))


def test_samples_stand_behind_the_medians(setting):
    output = setting().run("Identity")
    calls, forwards = output.samples["quantization_seconds"], output.samples["reference_forward_seconds"]
    assert len(forwards) == len(calls) + 1 == 8
    assert output.measurements["quantization_seconds"] == np.median(calls)
    ratios = [2 * c / (a + b) for c, a, b in zip(calls, forwards, forwards[1:], strict=False)]
    assert output.samples["cost_ratio"] == pytest.approx(ratios)
    assert output.measurements["cost_ratio"] == pytest.approx(np.median(ratios))
    assert output.measurements["drift"] == forwards[-1] / forwards[0]


def test_fewer_bits_store_less_and_agree_less(setting):
    toy = setting()
    outputs = {bits: toy.run("Weights", bits=bits) for bits in (8, 2)}
    assert measured(outputs[8], "stored_bytes")[0] == 12 * 16 + 16 * 3 + 2 * 4 * (16 + 3)
    assert measured(outputs[2], "stored_bytes")[0] == (12 * 16 + 16 * 3) // 4 + 2 * 4 * (16 + 3)
    assert outputs[2].measurements["logit_mse"] > outputs[8].measurements["logit_mse"] > 0
    assert outputs[2].notes["diagnostics"] == {"bits": 2}
    assert outputs[2].notes["execution"]["layers.0.combination"] == "simulated"


def test_accuracy_is_the_share_of_right_classes(setting, dataset):
    toy = setting()
    prepared, output = toy.prepare(), toy.run("Weights")
    wanted = 100 * np.mean(output.predictions["test"] == dataset.y[dataset.test].numpy())
    assert toy.task.score(prepared, output) == {"accuracy": pytest.approx(wanted)}


def test_one_cell_gives_one_result(setting):
    toy = setting()
    one, again, other = toy.run("Weights"), toy.run("Weights"), toy.run("Weights", seed=1)
    assert one.measurements["logit_mse"] == again.measurements["logit_mse"] != other.measurements["logit_mse"]


def test_the_tasks_own_training_repeats_the_reference(setting):
    """Common random numbers: a method that retrains draws the same initial weights and the same dropout masks."""
    output = setting().run("Retrained")
    assert measured(output, "agreement", "logit_mse") == (100.0, 0.0)


@pytest.mark.parametrize(("source", "found"), [("generator", "bitwise"), ("global", "bitwise"), ("entropy", "differs")])
def test_repetitions_show_whether_a_method_is_deterministic(setting, source, found):
    toy = setting()
    assert toy.run("Noisy", source=source).notes["determinism"]["class"] == found
    if found == "bitwise":
        errors = [toy.run("Noisy", source=source).measurements["logit_mse"] for _ in range(2)]
        assert errors[0] == errors[1] > 0


@pytest.mark.parametrize("fail", [False, True])
def test_a_vandal_harms_nobody_else(setting, fail):
    toy = setting()
    before = toy.run("Identity")
    torch.manual_seed(0)
    state = torch.random.get_rng_state()
    if fail:
        with pytest.raises(RuntimeError, match="on purpose"):
            toy.run("Vandal", fail=True)
    else:  # its own model is ruined, and is handed clean data to predict
        assert toy.run("Vandal").measurements["agreement"] < 100
    assert torch.equal(torch.random.get_rng_state(), state)
    assert (torch.get_default_dtype(), torch.get_num_threads(), torch.is_grad_enabled()) == (torch.float32, 1, True)
    after = toy.run("Identity")
    assert measured(after, "agreement", "logit_mse") == (100.0, 0.0)
    assert np.array_equal(after.predictions["test"], before.predictions["test"])


def test_a_job_is_the_methods_own_and_holds_no_label(setting, jobs, dataset):
    setting().run("Identity")
    assert len(jobs) == 7
    assert len({id(job.model) for job in jobs}) == len({id(job.graph.x) for job in jobs}) == 7
    tensors = [job.graph.x for job in jobs] + [p for job in jobs for p in job.model.parameters()]
    assert len({tensor.data_ptr() for tensor in tensors}) == len(tensors)
    names = {field.name for field in dataclasses.fields(jobs[0])}
    assert names == {"model", "graph", "initial_model", "train", "generator"}
    parts = {field.name for field in dataclasses.fields(jobs[0].graph)}
    assert parts == {"x", "edge_index", "batch", "edge_attr", "cache"}
    assert set(jobs[0].graph.cache) == {"adjacency/gcn"}
    assert not jobs[0].model.training


def test_a_transductive_job_sees_every_node(setting, jobs, dataset):
    setting().run("Identity")
    assert torch.equal(jobs[0].graph.x, dataset.graph.x)
    assert torch.equal(jobs[0].graph.edge_index, dataset.graph.edge_index)


def test_an_inductive_job_sees_no_test_node_and_all_are_predicted(setting, jobs, dataset):
    toy = setting(setting="inductive")
    output = toy.run("Identity")
    assert torch.equal(jobs[0].graph.x, dataset.graph.x[~dataset.test])
    assert output.predictions["test"].shape == (18,)
    assert measured(output, "agreement", "logit_mse") == (100.0, 0.0)
    assert measured(toy.run("Retrained"), "agreement") == (100.0,)


def test_inductive_training_does_not_depend_on_the_test_nodes(setting, jobs, monkeypatch, dataset):
    import toy_data

    toy = setting(setting="inductive")
    weights = []
    for factor in (1.0, 5.0):
        x = torch.where(dataset.test[:, None], factor * dataset.graph.x, dataset.graph.x)
        changed = dataclasses.replace(dataset, graph=dataclasses.replace(dataset.graph, x=x, cache={}))
        monkeypatch.setattr(toy_data, "read", lambda root, changed=changed: changed)
        jobs.clear()
        toy.run("Identity")
        weights.append(jobs[0].model.layers[0].combination.weight)
    assert torch.equal(*weights)


def test_the_reference_is_trained_once_for_all_methods(setting, monkeypatch):
    from benchsuite.tasks import bench, scene

    trained = []
    monkeypatch.setattr(scene, "train", lambda *args, real=scene.train: trained.append(1) or real(*args))
    toy = setting()
    for method in ("Identity", "Weights", "Identity"):
        toy.run(method)
    assert len(trained) == 1
    toy.run("Identity", seed=1)
    assert len(trained) == 2
    monkeypatch.setattr(bench, "TRAINING_VERSION", TRAINING_VERSION + 1)
    toy.run("Identity")
    assert len(trained) == 3


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_every_backbone_runs(setting, name):
    recipe = {**RECIPES[name].model_dump(mode="json"), "epochs": 3}
    output = setting(**recipe).run("Weights", bits=8)
    assert output.measurements["stored_bytes"] < output.measurements["reference_bytes"]


@pytest.mark.parametrize(
    ("what", "line"),
    [("nothing", "returned NoneType, which has no predict, state"), ("nan", "NaN or infinity for 90 of 90 nodes")],
)
def test_a_broken_method_is_named(setting, what, line):
    with pytest.raises(ProtocolError, match=line):
        setting().run("Returns", what=what)


def test_preparing_twice_gives_the_same(setting, dataset):
    toy = setting()
    one, two = toy.prepare(), toy.prepare()
    assert (one.view, one.data_hash) == (two.view, two.data_hash)
    assert one.data_hash == dataset.content_hash()
    assert np.array_equal(one.held_out["test"], dataset.y[dataset.test].numpy())


def test_an_unknown_data_set_is_named_with_the_near_one(setting):
    card = setting().task.card.model_copy(update={"dataset": "corra"})
    with pytest.raises(UsageError, match=r"'corra'.*'cora'"):
        NodeQuantization(card).prepare(Places(None, setting().places.cache))


def test_a_plugin_may_bring_its_own_data_set(setting):
    own = DatasetCard(name="mine", target="toy_data:read", summary="s", licence="l", source="s")
    card = setting().task.card.model_copy(update={"dataset": "mine"})
    prepared = NodeQuantization(card).prepare(Places(None, setting().places.cache, {"mine": own}))
    assert prepared.held_out["test"].shape == (18,)


@pytest.mark.parametrize(
    "predicted",
    [
        None,
        [0] * 18,
        np.zeros(17, np.int64),
        np.zeros((18, 1), np.int64),
        np.zeros(18, np.float32),
        np.full(18, 3),
        np.full(18, -1),
    ],
)
def test_predictions_that_are_no_classes_are_refused(setting, predicted):
    toy = setting()
    with pytest.raises(ProtocolError, match=r"not int64 of shape \[18\], one for each test node|outside 0\.\.2"):
        toy.task.score(toy.prepare(), CellOutput({"test": predicted}))


def test_scores_by_hand(setting):
    toy = setting()
    prepared = Prepared(toy.prepare().view, "", {"test": np.array([0, 1, 2, 2])})
    assert toy.task.score(prepared, CellOutput({"test": np.array([0, 1, 1, 2])})) == {"accuracy": 75.0}
