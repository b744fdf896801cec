"""The baseline finds what is dead by measuring it; the shams claim what is not."""

from __future__ import annotations

import benchsuite_probe_controls
import pytest
import torch
from torch import nn

from benchsuite.models.norms import find_final_norm, outputs_at
from benchsuite.models.zoo.build import build, feed, perturb
from benchsuite.models.zoo.families import family_of
from benchsuite.models.zoo.family import Size
from benchsuite.plugin import MethodSpec, NotApplicableError, Subject

CARDS = {card.name: card for card in benchsuite_probe_controls.benchsuite_methods()}
SHAMS = sorted(name for name, card in CARDS.items() if card.sham)
SIZE = Size()


def make(name):
    return MethodSpec(name, CARDS[name].target, CARDS[name].resolve({})).make()


def subject_of(model, batches, seed=0):
    def final_norm():
        return find_final_norm(model, batches[0]).norm

    return Subject(model, lambda: iter(batches), torch.float32, final_norm, torch.Generator().manual_seed(seed))


def subject(name, items=16, seed=0):
    family = family_of(name)
    model = build(family, SIZE, 0)
    perturb(model, family, SIZE, torch.Generator().manual_seed(1))
    return subject_of(model, [feed(family, SIZE, items, torch.Generator().manual_seed(2))], seed)


def test_one_baseline_and_three_shams():
    assert SHAMS == ["gamma-direction", "ones-direction", "random-direction"]
    assert sorted(CARDS) == ["covariance-svd", *SHAMS]


def test_the_baseline_measures_the_inverse_of_a_layer_norm_s_scale():
    given = subject("gpt2")
    reading = make("covariance-svd").probe(given)
    assert (reading.access, reading.present) == ("forward", True)
    u = 1 / given.model.transformer.ln_f.weight.detach().double()
    assert abs(float(reading.values["transformer.ln_f"][0] @ u / u.norm())) > 0.9999
    assert 0 < reading.noise_floor < 1e-3


def test_the_baseline_refutes_the_least_direction_after_an_rms_norm():
    given = subject("llama")
    reading = make("covariance-svd").probe(given)
    assert reading.present is False
    y = outputs_at(given.model, "model.norm", given.batches()).double()
    v = torch.linalg.eigh(torch.cov(y.T)).eigenvectors[:, 0]
    assert abs(float(reading.values["model.norm"][0] @ v)) > 0.999


def test_the_baseline_finds_every_dead_direction():
    given = subject("gpt2")
    with torch.no_grad():
        given.model.transformer.ln_f.weight[[4, 9]] = 0
    basis = make("covariance-svd").probe(given).values["transformer.ln_f"]
    assert basis.shape == (2, 32)
    assert basis[:, [4, 9]].square().sum() == pytest.approx(2)


def test_the_baseline_wants_as_many_tokens_as_features():
    assert make("covariance-svd").probe(subject("gpt2", items=2)).present is not None
    with pytest.raises(NotApplicableError, match="16 tokens leave some of 32"):
        make("covariance-svd").probe(subject("gpt2", items=1))


@pytest.mark.parametrize("name", SHAMS)
@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_a_sham_always_claims_something_that_varies(name, family):
    given = subject(family)
    reading = make(name).probe(given)
    ((path, basis),) = reading.values.items()
    assert (reading.access, reading.present, path) == ("parameters", True, family_of(family).path(SIZE))
    y = outputs_at(given.model, path, given.batches()).double()
    y = y - y.mean(0)
    assert float((y @ basis[0] / basis[0].norm()).square().mean() / y.square().mean()) > 0.01


def test_what_the_shams_claim():
    given = subject("gpt2")
    path = "transformer.ln_f"
    weight = given.model.transformer.ln_f.weight.detach().double()
    torch.testing.assert_close(make("gamma-direction").probe(given).values[path], weight[None], atol=1e-5, rtol=0)
    assert torch.equal(make("ones-direction").probe(given).values[path], torch.ones(1, 32).double())
    one, same, other = (make("random-direction").probe(subject("gpt2", seed=s)).values[path] for s in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


@pytest.mark.parametrize("name", CARDS)
def test_a_model_without_a_norm_is_not_applicable(name):
    given = subject_of(nn.Sequential(nn.Linear(8, 8), nn.Tanh()), [{"input": torch.randn(40, 8)}])
    with pytest.raises(NotApplicableError, match="could be a norm"):
        make(name).probe(given)
