"""A stretch of work done twice: the same bits, others, or nothing that can be said."""

from __future__ import annotations

import random

import pytest
import torch

from benchsuite.tasks.determinism import class_of, determinism

NAN = float("nan")


def test_the_same_stretch_twice_is_bitwise():
    def segment():
        return [torch.randn(3, generator=torch.Generator().manual_seed(0)), torch.tensor([1, 2])]

    assert determinism(segment, "3 numbers") == {"class": "bitwise", "segment": "3 numbers"}


def test_one_that_draws_from_nowhere_differs():
    assert determinism(lambda: [torch.tensor(random.SystemRandom().random())], "a number")["class"] == "differs"


def test_one_that_cannot_be_run_is_unknown():
    def segment():
        raise ValueError("three epochs are too few for me")

    assert determinism(segment, "3 epochs") == {"class": "unknown", "segment": "3 epochs"}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ([1.0, NAN], [1.0, NAN], True),
        ([1.0, NAN], [NAN, 1.0], False),
        ([1.0], [1.0 + 2**-23], False),
        ([1.0], [1.0, 1.0], False),
        ([0.0], [float("inf")], False),
    ],
)
def test_bits_are_compared_and_nan_is_itself(one, other, same):
    results = [[torch.tensor(one)], [torch.tensor(other)]]
    assert class_of(results) == ("bitwise" if same else "differs")


def test_types_and_numbers_of_results_count():
    assert class_of([[torch.ones(2)], [torch.ones(2).double()]]) == "differs"
    assert class_of([[torch.ones(2)], [torch.ones(2), torch.ones(2)]]) == "differs"
    assert class_of([[torch.ones(2)]]) == "bitwise"
