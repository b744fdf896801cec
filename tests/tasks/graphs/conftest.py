"""Small graph-quantization tasks and everything to run a cell of them."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchsuite.contracts.cards import DatasetCard, TaskCard
from benchsuite.contracts.task import CellInput, MethodSpec, Places
from benchsuite.tasks.graphs.cards import PROTOCOL
from benchsuite.tasks.graphs.task import GraphQuantization
from benchsuite.tasks.metrics import METRICS
from benchsuite.tasks.recipes import graph_recipe

READERS = {"toy-graphs": "read", "toy-binary": "read_binary", "toy-values": "read_values"}
CARDS = {
    name: DatasetCard(name=name, target=f"toy_graph_data:{function}", summary="Toy.", licence="none", source="tests")
    for name, function in READERS.items()
}


def toy_card(dataset, backbone, metric, **fields):
    """Return a task card on a toy data set, with the recipe changed by ``fields``."""
    small = {"hidden": 8, "layers": 2, "dropout": 0.0}
    config = {
        **graph_recipe(backbone, dataset, metric).model_dump(mode="json"),
        "options": small,
        "epochs": 6,
        **fields,
    }
    return TaskCard(
        name=f"{dataset}-{backbone}",
        target="benchsuite.tasks.graphs.task:GraphQuantization",
        summary="Toy.",
        factors=("quantizer",),
        dataset=dataset,
        protocol=PROTOCOL,
        metrics=(METRICS[metric],),
        config=config,
    )


@dataclass
class Setting:
    """One task in one cache folder."""

    task: GraphQuantization
    places: Places

    def prepare(self):
        return self.task.prepare(self.places)

    def cell(self, target, seed=0, **params):
        ready = self.prepare().of(seed)
        method = MethodSpec("method", target, params)
        return CellInput(ready.view, self.places.cache, seed, {"quantizer": method}, "cpu", ready.shown)

    def run(self, target="benchsuite_fp32.reference:Reference", seed=0, **params):
        return self.task.run(self.cell(target, seed, **params))

    def score(self, output, seed=0):
        return self.task.score(self.prepare().of(seed), output)


@pytest.fixture
def data(monkeypatch):
    """Return the module of toy data sets."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "modules")
    return importlib.import_module("toy_graph_data")


@pytest.fixture
def setting(data, tmp_path):
    """Return a function that makes a :class:`Setting`."""

    def make(dataset="toy-graphs", backbone="gin", metric="accuracy", **fields):
        card = toy_card(dataset, backbone, metric, **fields)
        return Setting(GraphQuantization(card), Places(None, tmp_path / "cache", CARDS))

    return make
