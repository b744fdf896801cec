"""What a quantizer returns is checked line by line."""

from __future__ import annotations

import pytest
import torch

from benchsuite.errors import ProtocolError
from benchsuite.tasks.checks import check_diagnostics, check_execution, check_logits, check_model, stored_bytes


def test_good_logits_pass_detached():
    logits = torch.zeros(4, 3, requires_grad=True)
    assert not check_logits(logits, 4, 3).requires_grad


@pytest.mark.parametrize(
    ("logits", "line"),
    [
        ([[0.0]], "returned list, not a tensor"),
        (torch.zeros(3, 4), r"shape \(3, 4\), not \(4, 3\)"),
        (torch.zeros(12), r"shape \(12,\), not \(4, 3\)"),
        (torch.zeros(4, 3, dtype=torch.float64), "torch.float64, not torch.float32"),
        (torch.zeros(4, 3).fill_diagonal_(torch.nan), "NaN or infinity for 3 of 4 nodes"),
        (torch.tensor([[0.0, 0, 0]] * 3 + [[0, torch.inf, 0]]), "NaN or infinity for 1 of 4 nodes"),
    ],
)
def test_bad_logits_are_named(logits, line):
    with pytest.raises(ProtocolError, match=line):
        check_logits(logits, 4, 3)


def test_bytes_are_counted_by_hand():
    state = {"codes": torch.zeros(5, dtype=torch.uint8), "scale": torch.zeros(2, 3), "empty": torch.zeros(0)}
    assert stored_bytes(state) == 5 + 24


@pytest.mark.parametrize(
    ("state", "line"),
    [
        ([torch.zeros(1)], "returned list, not a mapping"),
        ({"bits": 4}, r"state\(\)\['bits'\] is int, not a tensor"),
        ({3: torch.zeros(1)}, r"state\(\)\[3\] is Tensor, not a tensor under a name"),
        ({"a": torch.eye(3).to_sparse()}, r"state\(\)\['a'\] is no plain dense tensor"),
    ],
)
def test_a_state_that_cannot_be_counted_is_named(state, line):
    with pytest.raises(ProtocolError, match=line):
        stored_bytes(state)


def test_a_model_without_a_method_is_named():
    class Half:
        def predict(self, graph):
            return graph.x

        def state(self):
            return {}

    with pytest.raises(ProtocolError, match="returned Half, which has no execution, diagnostics"):
        check_model(Half())


@pytest.mark.parametrize(
    ("execution", "line"),
    [(None, "returned NoneType"), ({"layers.0": "int"}, r"\['layers.0'\] is 'int', not one of integer, packed")],
)
def test_execution_uses_the_contracts_words(execution, line):
    assert check_execution({"layers.0": "simulated"}) == {"layers.0": "simulated"}
    with pytest.raises(ProtocolError, match=line):
        check_execution(execution)


@pytest.mark.parametrize("diagnostics", [{"a": torch.zeros(1)}, {"a": float("nan")}, {"a": {1, 2}}, [1]])
def test_diagnostics_must_fit_in_a_record(diagnostics):
    with pytest.raises(ProtocolError, match=r"diagnostics\(\)"):
        check_diagnostics(diagnostics)


def test_diagnostics_are_told_as_json():
    assert check_diagnostics({"groups": 3, "picked": ("dual", "column")}) == {"groups": 3, "picked": ["dual", "column"]}
