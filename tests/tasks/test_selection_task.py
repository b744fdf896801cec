"""One cell of node selection from the recipe to the metrics."""

from __future__ import annotations

import dataclasses
import importlib
import json

import numpy as np
import pytest
import torch

from benchsuite.contracts.cards import Metric, TaskCard
from benchsuite.contracts.task import CellInput, CellOutput, MethodSpec, Places, Task
from benchsuite.errors import MissingDataError, ProtocolError
from benchsuite.models.selection import build_model, greedy_degree
from benchsuite.tasks.seeds import derive
from benchsuite.tasks.selection.recipe import GraphRecipe, SelectionRecipe
from benchsuite.tasks.selection.task import NodeSelection
from benchsuite.tasks.selection.view import read_view

GRAPHS = GraphRecipe(counts={"train": 2, "val": 1, "test": 2}, nodes=(15, 20), test_nodes=(20, 25))
MODEL = {"width": 8, "heads": 2, "blocks": 2, "convolution": "gat"}


def card(**changes):
    recipe = SelectionRecipe(**{"goal": "influence", "graphs": GRAPHS, "model": MODEL, "epochs": 2, **changes})
    return TaskCard(
        name="toy-selection",
        target="benchsuite.tasks.selection.task:NodeSelection",
        summary="Toy",
        factors=("norm_placement",),
        dataset="random-graphs",
        protocol="node-selection/1",
        metrics=(Metric(name="relative", unit="%"), Metric(name="plain", unit="%")),
        config=json.loads(recipe.model_dump_json()),
    )


class Setting:
    """One task in one cache folder."""

    def __init__(self, folder, **changes):
        self.task = NodeSelection(card(**changes))
        self.prepared = self.task.prepare(Places(None, folder))
        self.folder = folder

    def run(self, name, seed=0, **params):
        spec = MethodSpec(name.lower(), f"toy_placements:{name}", params)
        return self.task.run(CellInput(self.prepared.view, self.folder, seed, {"norm_placement": spec}))

    def score(self, scores):
        return self.task.score(self.prepared, CellOutput({"scores": scores}))


@pytest.fixture
def make(modules, tmp_path):
    def make(**changes):
        return Setting(tmp_path / "cache", **changes)

    return make


def test_it_is_a_task(make):
    assert isinstance(make().task, Task)


@pytest.mark.parametrize("goal", ["influence", "dismantling", "independence"])
def test_a_cell_leaves_scores_costs_and_what_it_learnt(make, goal):
    setting = make(goal=goal)
    output = setting.run("Bare")
    assert output.predictions["scores"].shape == (setting.prepared.held_out["nodes"].sum(),)
    assert {"cost_ratio", "drift", "training_seconds", "validation_loss", "degree_exponent"} <= set(output.measurements)
    assert output.measurements["cost_ratio"] > 0
    assert output.measurements["parameters"] == output.measurements["reference_parameters"]
    assert (output.notes["steps"], output.notes["slot"]) == (2, None)
    scores = setting.task.score(setting.prepared, output)
    assert set(scores) == {"relative", "plain"}
    assert 0 < scores["plain"] <= 100


def test_a_seed_decides_the_result_and_the_global_state_does_not(make):
    setting = make()
    first = setting.run("Bare").predictions["scores"]
    torch.manual_seed(99)
    second, other = setting.run("Bare").predictions["scores"], setting.run("Bare", seed=1).predictions["scores"]
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_a_scale_of_ones_gives_what_no_scale_gives(make):
    """Placements share initial weights and the order of the lessons, so that their differences can be paired."""
    setting = make()
    bare, ones = setting.run("Bare"), setting.run("Constant")
    assert np.array_equal(bare.predictions["scores"], ones.predictions["scores"])
    scaled = setting.run("Constant", value=0.5)
    assert not np.array_equal(bare.predictions["scores"], scaled.predictions["scores"])


def test_the_method_has_a_random_stream_of_its_own(make):
    setting = make()
    seen = importlib.import_module("toy_placements").SEEN
    seen.clear()
    setting.run("Constant", seed=3)
    once = [(0, 8, derive(3, "method")), (1, 8, derive(3, "method"))]
    assert seen == 3 * once  # the model, and two more that show whether training repeats
    assert derive(3, "method") != derive(3, "initial")


def test_the_greedy_rule_scores_a_hundred(make):
    setting = make()
    held, scores = setting.prepared.held_out, []
    for nodes, edges in zip(
        held["nodes"], np.split(held["edges"], np.cumsum(held["edge_counts"])[:-1], 1), strict=True
    ):
        places = np.empty(nodes)
        places[greedy_degree(edges, nodes, "influence")] = -np.arange(nodes)
        scores.append(places)
    assert setting.score(np.concatenate(scores))["relative"] == 100.0


def test_a_ranking_is_scored_and_timed_without_training(make):
    output = make().run("Indices")
    assert output.predictions["scores"].tolist() == list(range(len(output.predictions["scores"])))
    assert set(output.measurements) == {"cost_ratio", "forward_seconds", "reference_forward_seconds", "drift"}


def test_a_method_that_writes_into_its_graph_harms_no_other_cell(make):
    setting = make()
    before = setting.run("Bare").predictions["scores"]
    setting.run("Writer")
    assert np.array_equal(setting.run("Bare").predictions["scores"], before)


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        (
            "Wrong",
            {"how": "column"},
            r"the scale at blocks.0.slots.filled.S3 is \(\d+, 1\) torch.float32, not \(\d+,\)",
        ),
        ("Wrong", {"how": "type"}, r"is \(\d+,\) torch.float64, not \(\d+,\) torch.float32"),
        ("Wrong", {"how": "list"}, "is list, not"),
        ("Constant", {"value": 0.0}, r"is not finite and positive for (\d+) of \1 nodes"),
        ("Constant", {"value": -1.0}, "is not finite and positive"),
        ("Constant", {"value": float("nan")}, "is not finite and positive"),
        ("Constant", {"slot": "S9"}, "slot 'S9' is not one of S0, S1"),
        ("Exploding", {}, "training diverged: the loss is (nan|inf) in step 1"),
        ("Halves", {}, r"rank\(\) returned shape"),
        ("Nonsense", {}, r"rank\(\) returned NaN or infinity for (\d+) of \1 nodes"),
        ("Stack", {}, "Stack is no placement for node selection.*Placements in transformers are for distillation"),
    ],
)
def test_what_breaks_the_contract_is_named(make, method, params, message):
    with pytest.raises(ProtocolError, match=message):
        make().run(method, **params)


def test_predictions_of_a_wrong_shape_or_value_are_refused(make):
    setting = make()
    count = int(setting.prepared.held_out["nodes"].sum())
    for wrong in (np.zeros(count - 1), np.zeros(count, dtype=np.float32), [0.0] * count):
        with pytest.raises(ProtocolError, match=f"not one float64 score for each of the {count} test nodes"):
            setting.score(wrong)
    with pytest.raises(ProtocolError, match="a predicted score is not finite"):
        setting.score(np.full(count, np.inf))
    with pytest.raises(ProtocolError, match="not one float64 score"):
        setting.task.score(setting.prepared, CellOutput())


def test_preparing_twice_writes_the_same_view_and_another_recipe_another(make, tmp_path):
    one, other = make(), make()
    assert (one.prepared.view, one.prepared.data_hash) == (other.prepared.view, other.prepared.data_hash)
    assert make(goal="dismantling").prepared.data_hash != one.prepared.data_hash
    with pytest.raises(MissingDataError, match="cannot be read"):
        read_view(tmp_path / "nothing.safetensors")
    damaged = tmp_path / one.prepared.view.name
    damaged.write_bytes(one.prepared.view.read_bytes()[:-1] + b"x")
    with pytest.raises(MissingDataError, match="is damaged"):
        read_view(damaged)


def test_the_view_has_no_target_of_a_test_graph(make):
    view = read_view(make().prepared.view)
    assert not hasattr(view.test, "target")
    assert view.test.num_graphs == 6
    from safetensors import safe_open

    with safe_open(make().prepared.view, "np") as file:
        names = list(file.keys())
    assert {name for name in names if name.startswith("test.")} == {"test.x", "test.edge_index", "test.batch"}


@pytest.mark.parametrize("group", [1, 4, 6, 99])
def test_lessons_are_the_training_graphs_in_order(make, group):
    view = read_view(make().prepared.view)
    made = view.lessons(group)
    assert [lesson.graph.num_graphs for lesson in made] == [min(group, 6 - i) for i in range(0, 6, group)]
    assert torch.equal(torch.cat([lesson.target for lesson in made]), view.train.target)
    assert torch.equal(torch.cat([lesson.graph.x for lesson in made]), view.train.graph.x)
    assert sum(lesson.graph.num_edges for lesson in made) == view.train.graph.num_edges
    model = build_model(2, 0)
    with torch.no_grad():
        apart, whole = torch.cat([model(lesson.graph) for lesson in made]), model(view.train.graph)
    torch.testing.assert_close(apart, whole, rtol=1e-4, atol=1e-4)


def test_a_card_with_another_number_of_metrics_is_refused(make):
    made = make().task.card
    with pytest.raises(ProtocolError, match="has 1 metrics; node selection has two"):
        NodeSelection(made.model_copy(update={"metrics": made.metrics[:1]}))


def test_labels_that_the_host_keeps_are_copies_of_what_the_worker_sees(make):
    setting = make()
    view, held = read_view(setting.prepared.view), setting.prepared.held_out
    assert view.test.num_edges == held["edges"].shape[1]
    assert torch.bincount(view.test.batch).tolist() == held["nodes"].tolist()
    assert dataclasses.is_dataclass(view)
