"""A sealed callable works, and says who looked behind it."""

from __future__ import annotations

import copy

import pytest
import torch

from benchsuite.testing.sealed import looks, seal
from benchsuite.testing.toys import toy_job


def test_a_sealed_job_trains_as_the_open_one():
    job = toy_job()
    sealed = seal(job)
    open_model, sealed_model = job.train(job.initial_model()), sealed.train(sealed.initial_model())
    assert torch.equal(open_model(job.graph), sealed_model(job.graph))
    assert looks(sealed) == []


@pytest.mark.parametrize("name", ["__closure__", "__code__", "__globals__", "__self__", "func"])
def test_a_look_inside_is_refused_and_noted(name):
    job = seal(toy_job())
    with pytest.raises(AttributeError, match="not for methods"):
        getattr(job.train, name)
    assert looks(job) == [f"job.train.{name}"]


def test_harmless_questions_are_answered():
    job = seal(toy_job())
    assert callable(job.train)
    assert "Sealed" in repr(job.train)
    assert copy.deepcopy(job.train) is job.train
    assert looks(job) == []
