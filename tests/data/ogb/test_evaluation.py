"""OGB's metrics, against its own Evaluator and by hand."""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchsuite.data.ogb.evaluation import evaluate
from benchsuite.data.ogb.facts import FACTS
from benchsuite.errors import ProtocolError, UsageError

NAN = np.nan


@pytest.fixture(scope="module")
def theirs():
    """Return ogb's own evaluation: ``theirs(name, y_true, y_pred)``. Its two files are loaded without its packages."""
    package = importlib.util.find_spec("ogb")
    if package is None or package.origin is None:
        pytest.skip("ogb is not installed: pip install 'benchsuite[molecules]'")

    def load(part):
        path = Path(package.origin).parent / part / "evaluate.py"
        spec = importlib.util.spec_from_file_location(f"ogb_{part}_evaluate", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    nodes, graphs = load("nodeproppred"), load("graphproppred")

    def measure(name, y_true, y_pred):
        evaluator = (graphs if name.startswith("ogbg-") else nodes).Evaluator(name)
        return evaluator.eval({"y_true": y_true, "y_pred": y_pred})[evaluator.eval_metric]

    return measure


def tables(facts, items, seed):
    """Return labels of which some are missing, and outputs, of the kind that a data set has."""
    draw = np.random.RandomState(seed)
    shape = (items, facts.targets)
    if facts.target_type == "values":
        y, outputs = draw.randn(*shape), draw.randn(*shape)
    elif facts.target_type == "classes":
        return draw.randint(0, 4, shape), draw.randint(0, 4, shape)
    else:
        y, outputs = draw.randint(0, 2, shape).astype(float), draw.randn(*shape).round(1)  # rounded: ties
    y[draw.rand(*shape) < 0.3] = NAN
    y[0] = 0
    return y, outputs


def a_few(facts):
    """Hundreds of targets take seconds."""
    return pytest.param(facts, id=facts.name, marks=[pytest.mark.slow] if facts.targets > 100 else [])


@pytest.mark.parametrize("facts", [*map(a_few, FACTS.values())])
def test_equals_ogbs_evaluator(facts, theirs):
    y, outputs = tables(facts, 40, seed=1)
    assert evaluate(facts.metric, y, outputs) == pytest.approx(theirs(facts.name, y, outputs), rel=1e-12)


@pytest.mark.parametrize("name", ["ogbg-moltox21", "ogbg-molmuv", "ogbg-molesol"])
def test_equals_ogbs_evaluator_in_float32(name, theirs):
    facts = FACTS[name]
    y, outputs = (table.astype(np.float32) for table in tables(facts, 50, seed=2))
    assert evaluate(facts.metric, y, outputs) == pytest.approx(theirs(name, y, outputs), rel=1e-6)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data(), metric=st.sampled_from(["rocauc", "ap"]))
def test_equals_ogbs_evaluator_on_any_labels(data, metric, theirs):
    """Few items, many ties, targets that nobody can score: ogb raises where we do."""
    name, targets = ("ogbg-moltox21", 12) if metric == "rocauc" else ("ogbg-molmuv", 17)
    items = data.draw(st.integers(1, 6))
    row = st.lists(st.sampled_from([0.0, 1.0, NAN]), min_size=targets, max_size=targets)
    y = np.array(data.draw(st.lists(row, min_size=items, max_size=items)))
    outputs = np.random.RandomState(data.draw(st.integers(0, 9))).randint(0, 3, y.shape) / 2
    try:
        wanted = theirs(name, y, outputs)
    except RuntimeError:
        with pytest.raises(ProtocolError, match="no target has both answers"):
            evaluate(metric, y, outputs)
        return
    assert evaluate(metric, y, outputs) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.data
def test_equals_ogbs_evaluator_on_real_labels(data_root, theirs):
    path = data_root / "ogbg_molhiv/raw/graph-label.csv.gz"
    if not path.is_file():
        pytest.skip("ogbg_molhiv is not below BENCHSUITE_DATA")
    y = np.array(gzip.decompress(path.read_bytes()).split(), float)[:, None]
    outputs = np.random.RandomState(0).randn(*y.shape) + 0.5 * y
    ours = evaluate("rocauc", y, outputs)
    assert ours == pytest.approx(theirs("ogbg-molhiv", y, outputs), rel=1e-12)
    assert 0.6 < ours < 0.7  # two normal curves, half a deviation apart: 0.638


def test_by_hand():
    y = np.array([[0, 1, NAN], [1, NAN, 1], [1, 0, 1], [0, 0, NAN]])
    outputs = np.array([[0.1, 0.9, 5], [0.4, -9, 5], [0.2, 0.3, 5], [0.3, 0.95, 5]])
    # Target 0: of the four pairs (1 over 0) 0.4 beats both and 0.2 beats 0.1. Target 1: 0.9 beats 0.3, not 0.95.
    assert evaluate("rocauc", y, outputs) == pytest.approx((3 / 4 + 1 / 2) / 2)
    # Target 0: the ones rank first and third. Target 1: second of three.
    assert evaluate("ap", y, outputs) == pytest.approx(((1 + 2 / 3) / 2 + 1 / 2) / 2)


def test_rmse_and_accuracy_by_hand():
    y = np.array([[1.0, NAN], [2.0, 4.0], [NAN, 0.0]])
    outputs = np.array([[1.0, 9.0], [4.0, 1.0], [9.0, 0.0]])
    assert evaluate("rmse", y, outputs) == pytest.approx((np.sqrt(4 / 2) + np.sqrt(9 / 2)) / 2)
    assert evaluate("acc", np.array([[1], [2], [3], [0]]), np.array([[1], [2], [0], [0]])) == 0.75


WRONG = [
    ("rocauc", np.zeros((2, 1)), np.zeros((2, 2)), r"wants two tables of one shape, not \[2, 1\] and \[2, 2\]"),
    ("rocauc", np.zeros(2), np.zeros(2), r"not \[2\] and \[2\]"),
    ("ap", np.array([[0], [2.0]]), np.zeros((2, 1)), "targets that are 0, 1 or missing, and one is 2"),
    ("rocauc", np.array([[0], [1.0]]), np.array([[NAN], [0]]), "wants finite outputs, and 1 are not"),
    ("rmse", np.array([[0], [1.0]]), np.array([["a"], ["b"]]), "y_pred is <U1"),
    ("rmse", np.array([[0j], [1.0]]), np.zeros((2, 1)), "y_true is complex128"),
    ("rocauc", np.array([[1], [1.0]]), np.zeros((2, 1)), "rocauc: no target has both answers"),
    ("ap", np.array([[1], [NAN]]), np.zeros((2, 1)), "ap: no target has both answers"),
    ("rmse", np.array([[1, NAN], [1, NAN]]), np.zeros((2, 2)), "rmse: target 1 has no label"),
    ("acc", np.zeros((0, 1)), np.zeros((0, 1)), "acc: target 0 has no label"),
    ("rocauc", np.zeros((3, 0)), np.zeros((3, 0)), "no target has both answers"),
]


@pytest.mark.parametrize(("metric", "y", "outputs", "said"), WRONG)
def test_what_cannot_be_measured(metric, y, outputs, said):
    with pytest.raises(ProtocolError, match=said):
        evaluate(metric, y, outputs)


def test_an_unknown_metric():
    with pytest.raises(UsageError, match=r"OGB has no metric 'rocaux'\. Did you mean 'rocauc'\?"):
        evaluate("rocaux", np.zeros((2, 1)), np.zeros((2, 1)))
