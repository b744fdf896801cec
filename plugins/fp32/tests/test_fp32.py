"""The reference changes nothing and counts as floats."""

from __future__ import annotations

import copy

import benchsuite_fp32
import pytest
import torch

from benchsuite.plugin import MethodSpec
from benchsuite.testing.toys import toy_job

BACKBONES = ("gcn", "sage", "gin", "gat")


def method():
    (card,) = benchsuite_fp32.benchsuite_methods()
    return MethodSpec(card.name, card.target, card.resolve({})).make()


@pytest.mark.parametrize("backbone", BACKBONES)
def test_predictions_are_those_of_the_trained_model(backbone):
    job = toy_job(backbone)
    expected = copy.deepcopy(job.model)(job.graph)
    assert torch.equal(method().quantize(job).predict(job.graph), expected)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_it_stores_every_parameter_in_four_bytes_and_runs_in_floats(backbone):
    job = toy_job(backbone)
    quantized = method().quantize(job)
    stored = sum(tensor.nbytes for tensor in quantized.state().values())
    assert stored == 4 * sum(p.numel() for p in job.model.parameters())
    assert set(quantized.execution().values()) == {"float"}
