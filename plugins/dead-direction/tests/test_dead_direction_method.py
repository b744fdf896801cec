"""The probe on whole models: what it reads, what it says, and that it never runs them."""

from __future__ import annotations

import benchsuite_dead_direction
import pytest
import torch

from benchsuite.models.norms import find_final_norm, outputs_at
from benchsuite.models.zoo.build import build, feed, perturb
from benchsuite.models.zoo.families import FAMILIES, family_of
from benchsuite.models.zoo.family import Size
from benchsuite.plugin import MethodSpec, NotApplicableError, Subject

(CARD,) = benchsuite_dead_direction.benchsuite_methods()
SIZE = Size()


def make(**params):
    return MethodSpec(CARD.name, CARD.target, CARD.resolve(params)).make()


def subject_of(model, batches):
    def final_norm():
        return find_final_norm(model, batches[0]).norm

    return Subject(model, lambda: iter(batches), torch.float32, final_norm, torch.Generator().manual_seed(0))


def subject(name):
    family = family_of(name)
    model = build(family, SIZE, 0)
    perturb(model, family, SIZE, torch.Generator().manual_seed(1))
    return subject_of(model, [feed(family, SIZE, 16, torch.Generator().manual_seed(2))])


def test_the_card_reports_the_paper_on_each_group():
    figures = [(figure.task, figure.metric, figure.value) for figure in CARD.reported]
    assert figures == [
        ("init-layernorm", "verdict", 100.0),
        ("init-layernorm", "cosine", 0.99999),
        ("init-rmsnorm", "verdict", 100.0),
        ("init-rmsnorm", "cosine", 0.015),
    ]


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_it_is_dead_after_layer_norm_and_alive_after_rms_norm(name):
    family, given = family_of(name), subject(name)
    reading = make().probe(given)
    ((path, basis),) = reading.values.items()
    assert path == family.path(SIZE)
    assert reading.present is (family.kind == "layer")
    assert reading.access == "parameters"
    assert reading.diagnostics["kind"] == family.kind
    # Two families have a norm without a scale, which nothing could perturb.
    assert (reading.diagnostics["negative"] > 0) is (family.offset is not None)
    y = outputs_at(given.model, path, given.batches()).double()
    y = y - y.mean(0)
    variance = float((y @ basis[0]).square().mean() / y.square().mean())
    assert (variance < 1e-9) is reading.present
    assert (variance > 0.1) is not reading.present


def test_it_never_runs_the_model():
    given = subject("gpt2")
    site = given.final_norm()
    given.model.register_forward_pre_hook(lambda *_: pytest.fail("the model ran"))
    quiet = Subject(
        given.model, lambda: pytest.fail("tokens were asked for"), given.dtype, lambda: site, given.generator
    )
    assert make().probe(quiet).present


def test_a_norm_may_be_named():
    given = subject("gpt2")
    reading = make(norm="transformer.h.0.ln_1").probe(given)
    assert list(reading.values) == ["transformer.h.0.ln_1"]
    assert reading.diagnostics["found_by"] == "given"
    # Not perturbed, so its scale is one everywhere.
    torch.testing.assert_close(reading.values["transformer.h.0.ln_1"].abs(), torch.full((1, 32), 32**-0.5).double())


@pytest.mark.parametrize(
    ("name", "path", "reason"),
    [
        ("gpt2", "nowhere", "no module 'nowhere'"),
        ("gpt2", "transformer.drop", "has no parameters"),
        ("llama", "lm_head", "is no norm"),
    ],
)
def test_a_wrong_name_is_not_applicable(name, path, reason):
    with pytest.raises(NotApplicableError, match=reason):
        make(norm=path).probe(subject(name))


def test_a_model_without_a_norm_is_not_applicable():
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh())
    with pytest.raises(NotApplicableError, match="could be a norm"):
        make().probe(subject_of(model, [{"input": torch.randn(4, 8)}]))


def test_a_norm_without_parameters_kills_the_all_ones_vector():
    reading = make().probe(subject("olmo"))
    assert reading.present
    (basis,) = reading.values.values()
    torch.testing.assert_close(basis, torch.full((1, 32), 32**-0.5).double(), atol=1e-6, rtol=0)


def test_several_zeros_give_a_basis():
    given = subject("gpt2")
    with torch.no_grad():
        given.model.transformer.ln_f.weight[[4, 9]] = 0
    reading = make().probe(given)
    assert reading.diagnostics["zeros"] == 2
    assert torch.equal(reading.values["transformer.ln_f"], torch.eye(32).double()[[4, 9]])
