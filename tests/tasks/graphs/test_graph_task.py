"""Graph quantization end to end on small graphs, with the suite's own quantizers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchsuite.contracts.task import CellOutput, Task
from benchsuite.errors import ProtocolError
from benchsuite.tasks.graphs.cards import TASKS

FP32 = "benchsuite_fp32.reference:Reference"
TOPGQ = "benchsuite_topgq.method:TopGQ"
MINMAX = "benchsuite_ptq.static:MinMax"
DEGREE_QUANT = "benchsuite_degree_quant.method:DegreeQuant"
PROTECT = {"p_low": 0.0, "p_change": 0.1, "ranges": "percentile", "tail": 0.0, "gradient": "gc"}
KINDS = [("toy-graphs", "gcn", "accuracy"), ("toy-graphs", "gin", "accuracy"), ("toy-binary", "gine", "rocauc")]
KINDS += [("toy-values", "gine", "rmse")]


@pytest.fixture(autouse=True)
def plugins(monkeypatch):
    """Make the plugins importable."""
    for folder in (Path(__file__).parents[3] / "plugins").iterdir():
        monkeypatch.syspath_prepend(folder)


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_the_reference_is_itself_and_every_method_is_scored(setting, kind):
    toy = setting(*kind)
    assert isinstance(toy.task, Task)
    output = toy.run(FP32)
    assert output.measurements["logit_mse"] == 0.0
    assert output.measurements["agreement"] == (None if kind[2] == "rmse" else 100.0)
    assert output.measurements["stored_bytes"] == output.measurements["reference_bytes"]
    assert output.notes["determinism"]["class"] == "bitwise"
    reference = toy.score(output)
    assert set(reference) == {kind[2]}
    for target, params in ((TOPGQ, {}), (MINMAX, {}), (DEGREE_QUANT, PROTECT)):
        eight, two = (toy.run(target, bits=bits, **params) for bits in (8, 2))
        assert eight.measurements["logit_mse"] > 0
        if target == MINMAX:  # TopGQ's tables of so small a model outweigh it
            assert eight.measurements["stored_bytes"] > two.measurements["stored_bytes"]
        assert set(eight.notes["execution"].values()) == {"simulated"}
        assert np.isfinite(list(toy.score(eight).values())).all()
        if target != DEGREE_QUANT:
            assert two.measurements["logit_mse"] > eight.measurements["logit_mse"]


def test_seeds_take_their_folds_in_turn(setting, data):
    toy = setting()
    prepared = toy.prepare()
    y, folds = data.read().y, data.read().folds
    for seed in (0, 3, 7):
        assert prepared.of(seed).held_out["test"].tolist() == y[folds[seed % 5].test].tolist()
    one, other = toy.run(seed=1), toy.run(seed=6)
    assert len(one.predictions["test"]) == len(other.predictions["test"]) == 12
    assert one.notes["validation_score"] <= 100.0


def test_a_worker_finds_no_target_of_a_test_graph(setting, data):
    """The same cell with every test target changed is the same cell to the worker."""
    toy = setting()
    cell = toy.cell(FP32, seed=2)
    known = data.read()
    changed = replace(known, y=known.y.where(~known.folds[2].test, 1 - known.y))
    data.read = lambda root=None: changed
    again = toy.cell(FP32, seed=2)
    assert (again.view, again.shown) == (cell.view, cell.shown)
    assert toy.prepare().data_hash != setting("toy-binary", "gine", "rocauc").prepare().data_hash


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda p: p.astype(np.int32), "not int64 of shape \\[12\\]"),
        (lambda p: p[:-1], "not int64 of shape \\[12\\]"),
        (lambda p: p + 5, "outside 0..1"),
    ],
)
def test_answers_that_are_no_answers_cost_one_line(setting, change, match):
    toy = setting()
    output = CellOutput(predictions={"test": change(toy.prepare().of(0).held_out["test"])})
    with pytest.raises(ProtocolError, match=match):
        toy.score(output)


def test_outputs_that_are_not_finite_are_no_answers(setting):
    toy = setting("toy-values", "gine", "rmse")
    wrong = np.full_like(toy.prepare().of(0).held_out["test"], np.nan)
    with pytest.raises(ProtocolError, match="not finite"):
        toy.score(CellOutput(predictions={"test": wrong}))


def test_calibration_stops_at_the_recipe_s_number_of_nodes(setting):
    whole, part = setting().run(TOPGQ, bits=4), setting(calibration_nodes=40).run(TOPGQ, bits=4)
    assert whole.notes["diagnostics"]["groups"] > part.notes["diagnostics"]["groups"] > 0


def test_the_cards_name_metrics_that_their_tasks_score():
    for card in TASKS:
        assert [metric.name for metric in card.metrics] == [card.config["metric"]]
        assert card.reference == {"quantizer": "fp32"}
