"""The suite's own tasks and their recipes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchsuite.data.cards import DATASETS
from benchsuite.errors import ProtocolError, UsageError
from benchsuite.models.backbones import build_backbone
from benchsuite.tasks.builtin import benchsuite_datasets, benchsuite_tasks
from benchsuite.tasks.cards import BUNDLED, PLANETOID, QUICK, SHCHUR, TASKS
from benchsuite.tasks.config import read_config
from benchsuite.tasks.graphs.cards import TASKS as GRAPH_TASKS
from benchsuite.tasks.recipes import LARGE, RECIPES, Recipe, recipe

HEAVY = ("torch", "numpy", "scipy", "pandas", "sklearn", "torch_geometric", "safetensors", "matplotlib")


def test_every_small_data_set_meets_every_backbone():
    small = {f"{name}-{backbone}" for name in {**BUNDLED, **PLANETOID, **SHCHUR} for backbone in RECIPES}
    inductive = {f"{name}-inductive-{backbone}" for name in PLANETOID for backbone in RECIPES}
    large = {f"{name}-{backbone}" for backbone, name in LARGE}
    assert {task.name for task in TASKS} == small | inductive | large


def test_every_task_s_data_set_has_a_card():
    known = {dataset.name for dataset in DATASETS}
    assert {task.dataset for task in (*TASKS, *GRAPH_TASKS)} <= known


def test_records_that_are_published_stay_those_of_their_tasks():
    """What came to recipes later must not be in the config of a task that does not use it."""
    [cora] = [task for task in TASKS if task.name == "cora-gcn"]
    assert cora.config == {
        "backbone": "gcn",
        "options": {"hidden": 16, "layers": 2, "dropout": 0.5},
        "lr": 0.01,
        "weight_decay": [5e-4, 0.0],
        "epochs": 200,
        "setting": "transductive",
    }


def test_suites():
    def suite(name):
        return {task.name for task in TASKS if name in task.suites}

    assert suite("quick") == QUICK == {"digits-knn-gcn", "digits-knn-gat", "powerlaw-sbm-gcn", "powerlaw-sbm-gin"}
    assert suite("standard") == {f"{d}-{b}" for d in ("cora", "citeseer", "pubmed") for b in RECIPES}
    assert suite("full") == {task.name for task in TASKS}


def test_the_quick_suite_needs_no_files():
    bundled = {dataset.name for dataset in DATASETS if dataset.bundled}
    assert {task.dataset for task in TASKS if "quick" in task.suites} <= bundled


def test_the_builtin_plugin_offers_tasks_and_data_sets():
    assert all(task in benchsuite_tasks() for task in TASKS)
    assert all(dataset in benchsuite_datasets() for dataset in DATASETS)


def test_offering_them_imports_nothing_heavy():
    code = f"import sys, benchsuite.tasks.builtin; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_config_survives_json_and_builds_its_backbone(task):
    read = read_config(task.name, json.loads(task.model_dump_json())["config"], Recipe)
    assert read == recipe(read.backbone, task.dataset).model_copy(update={"setting": read.setting})
    assert task.name.endswith(f"-{read.backbone}")
    assert task.name.endswith(f"-inductive-{read.backbone}") <= (read.setting == "inductive")
    assert [metric.name for metric in task.metrics] == [read.metric or "accuracy"]
    model = build_backbone(read.backbone, 5, 3, seed=0, **read.options)
    assert (
        len(model.layers)
        == read.options["layers"]
        == (len(read.sampling.fan_out) if read.sampling else len(model.layers))
    )


def test_published_recipes():
    gcn, gat = recipe("gcn", "cora"), recipe("gat", "cora")
    assert (gcn.lr, gcn.weight_decay, gcn.epochs, gcn.options) == (
        0.01,
        (5e-4, 0.0),
        200,
        {"hidden": 16, "layers": 2, "dropout": 0.5},
    )
    assert (gat.lr, gat.weight_decay, gat.epochs) == (0.005, (5e-4,), 200)
    assert gat.options == {"hidden": 8, "layers": 2, "heads": 8, "out_heads": 1, "dropout": 0.6}
    assert recipe("gat", "pubmed").options["out_heads"] == 8


def test_an_unknown_backbone_has_no_recipe():
    with pytest.raises(UsageError, match=r"'gcm'.*'gcn'"):
        recipe("gcm", "cora")


@pytest.mark.parametrize(
    ("change", "named"),
    [({"epoch": 3}, "epoch: extra"), ({"lr": 0}, "lr: "), ({"setting": "both"}, "setting: "), ({"lr": None}, "lr: ")],
)
def test_a_wrong_config_is_refused_by_field(change, named):
    with pytest.raises(ProtocolError, match=f"task 'mine': {named}"):
        read_config("mine", {**RECIPES["gcn"].model_dump(), **change}, Recipe)
