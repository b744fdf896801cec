"""A small node-quantization task and everything to run a cell of it."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchsuite.contracts.cards import DatasetCard, TaskCard
from benchsuite.contracts.task import CellInput, MethodSpec, Places
from benchsuite.tasks.cards import ACCURACY, PROTOCOL
from benchsuite.tasks.quantization import NodeQuantization
from benchsuite.tasks.recipes import GCN

TOY = DatasetCard(name="toy", target="toy_data:read", summary="Toy.", licence="none", source="tests")


def toy_card(**recipe):
    """Return a task card on the toy data, with the GCN recipe changed by ``recipe``."""
    config = {**GCN.model_dump(mode="json"), "epochs": 12, **recipe}
    target = "benchsuite.tasks.quantization:NodeQuantization"
    return TaskCard(
        name="toy-gcn",
        target=target,
        summary="Toy.",
        factors=("quantizer",),
        dataset="toy",
        protocol=PROTOCOL,
        metrics=(ACCURACY,),
        config=config,
    )


@dataclass
class Setting:
    """One task in one cache folder."""

    task: NodeQuantization
    places: Places

    def prepare(self):
        return self.task.prepare(self.places)

    def cell(self, method, seed=0, **params):
        spec = MethodSpec(method.lower(), f"toy_quantizers:{method}", params)
        return CellInput(self.prepare().view, self.places.cache, seed, {"quantizer": spec})

    def run(self, method, seed=0, **params):
        return self.task.run(self.cell(method, seed, **params))

    def score(self, method, seed=0, **params):
        return self.task.score(self.prepare(), self.run(method, seed, **params))["accuracy"]


@pytest.fixture
def modules(monkeypatch):
    """Make the toy modules importable."""
    monkeypatch.syspath_prepend(Path(__file__).parent / "modules")


@pytest.fixture
def setting(modules, tmp_path):
    """Return a function that makes a :class:`Setting`; its keyword arguments change the recipe."""

    def make(**recipe):
        return Setting(NodeQuantization(toy_card(**recipe)), Places(None, tmp_path / "cache", {"toy": TOY}))

    return make


@pytest.fixture
def jobs(modules):
    """Return the list of jobs that toy quantizers are given from now on."""
    jobs = importlib.import_module("toy_quantizers").JOBS
    jobs.clear()
    return jobs


@pytest.fixture
def dataset(modules):
    """Return the toy data set."""
    return importlib.import_module("toy_data").read(None)
