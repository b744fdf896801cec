"""FP32 accuracy on the public Planetoid split is the field's."""

from __future__ import annotations

import statistics

import pytest

from benchsuite.contracts.task import CellInput, MethodSpec, Places
from benchsuite.tasks.cards import TASKS
from benchsuite.tasks.quantization import NodeQuantization

IDENTITY = MethodSpec("identity", "toy_quantizers:Identity", {})


def accuracies(name, data_root, cache, seeds):
    (card,) = (task for task in TASKS if task.name == name)
    task = NodeQuantization(card)
    prepared = task.prepare(Places(data_root, cache))
    cells = [CellInput(prepared.view, cache, seed, {"quantizer": IDENTITY}) for seed in range(seeds)]
    return [task.score(prepared, task.run(cell))["accuracy"] for cell in cells]


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("name", "wanted", "within"), [("cora-gcn", 81.5, 1.0), ("citeseer-gcn", 70.5, 1.5)])
def test_gcn_over_ten_seeds(modules, data_root, tmp_path, name, wanted, within):
    values = accuracies(name, data_root, tmp_path, seeds=10)
    assert statistics.mean(values) == pytest.approx(wanted, abs=within), values


@pytest.mark.data
def test_one_seed_of_cora_is_near(modules, data_root, tmp_path):
    (value,) = accuracies("cora-gcn", data_root, tmp_path, seeds=1)
    assert 79 < value < 84
