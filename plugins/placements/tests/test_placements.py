"""The placements by hand, as students, and against the figures on their cards."""

from __future__ import annotations

import benchsuite_placements
import pytest
import torch

from benchsuite.models.student import StudentShape, build_student
from benchsuite.plugin import LayerNorms, MethodSpec, NormPlacement

CARDS = {card.name: card for card in benchsuite_placements.benchsuite_methods()}
SHAPE = StudentShape(vocab=29, width=16, heads=2, kv_heads=1, mlp=24, blocks=3, layers_per_block=1, context=8)


def make(name, **params):
    card = CARDS[name]
    return MethodSpec(card.name, card.target, card.resolve(params)).make()


def student(name, seed=0, **params):
    draws = torch.Generator().manual_seed(1)
    embedding, head = (torch.randn(29, 16, generator=draws) for _ in range(2))
    norm = torch.rand(16, generator=draws) + 0.5
    return build_student(SHAPE, make(name, **params).stack(SHAPE.layers), embedding, head, norm, seed)


def norm_parameters(model):
    return sum(p.numel() for name, p in model.named_parameters() if p.ndim == 1)


@pytest.mark.parametrize(
    ("name", "params", "branch", "entry", "final"),
    [
        ("pre", {}, LayerNorms(norm_in=True), False, True),
        ("post", {}, LayerNorms(norm_res=True), True, False),
        ("sandwich", {}, LayerNorms(norm_in=True, norm_out=True), False, True),
        ("sandwich", {"entry": True}, LayerNorms(norm_in=True, norm_out=True), True, True),
        # Two layers: alpha = 4^(1/4), gain = 16^(-1/4).
        ("deepnorm", {}, LayerNorms(norm_res=True, alpha=2**0.5, gain=0.5), False, False),
        ("deepnorm", {"entry": True}, LayerNorms(norm_res=True, alpha=2**0.5, gain=0.5), True, False),
    ],
)
def test_two_layers_by_hand(name, params, branch, entry, final):
    stack = make(name, **params).stack(2)
    assert (stack.entry, stack.final) == (entry, final)
    assert len(stack.layers) == 2
    for one in (each for layer in stack.layers for each in layer):
        assert (one.norm_in, one.norm_out, one.norm_res) == (branch.norm_in, branch.norm_out, branch.norm_res)
        assert (one.alpha, one.beta, one.gain) == pytest.approx((branch.alpha, branch.beta, branch.gain))


@pytest.mark.parametrize("depth", [1, 6, 18, 1000])
def test_deepnorm_takes_its_scales_from_the_depth(depth):
    """Table of arXiv 2203.00555 for decoders alone: alpha^4 = 2 M and beta^-4 = 8 M, so alpha gain = 4^(-1/4)."""
    (layer, *_) = make("deepnorm").stack(depth).layers
    assert layer[0].alpha ** 4 == pytest.approx(2 * depth)
    assert layer[1].gain ** -4 == pytest.approx(8 * depth)
    assert layer[0].alpha * layer[0].gain == pytest.approx(4**-0.25)


@pytest.mark.parametrize("name", CARDS)
def test_every_placement_keeps_the_contract_and_makes_a_student(name):
    assert isinstance(make(name), NormPlacement)
    logits = student(name)(torch.arange(6)[None])
    assert logits.shape == (1, 6, 29)
    assert bool(torch.isfinite(logits).all())


def test_pre_and_post_have_equally_many_norm_parameters_and_the_same_draws():
    pre, post = student("pre"), student("post")
    assert norm_parameters(pre) == norm_parameters(post) == (2 * SHAPE.layers + 1) * 16
    assert norm_parameters(student("sandwich")) == (4 * SHAPE.layers + 1) * 16
    assert torch.equal(pre.boundary_parameters()[0], post.boundary_parameters()[0])
    for (_, one), (_, two) in zip(projections(pre), projections(post), strict=True):
        assert torch.equal(one, two)


def projections(model):
    return [(name, weight) for name, weight in model.named_parameters() if weight.ndim == 2]


@pytest.mark.parametrize(
    ("name", "identity"), [("pre", True), ("sandwich", True), ("post", False), ("deepnorm", False)]
)
def test_appending_a_silent_block_changes_nothing_only_where_no_norm_follows_the_sum(name, identity):
    model, ids = student(name), torch.arange(6)[None]
    with torch.no_grad():
        for weight in model.block_parameters(1):
            weight.mul_(1.5)  # as training would: a norm's scale is one no more
    before = model(ids, active=(0, 1))
    model.reset_block(2, "zero_output", torch.Generator(), source=1)
    assert torch.equal(model(ids), before) is identity


def test_the_published_interaction_follows_from_the_cards():
    """Post less pre, under grow less under joint: -0.0332 (arXiv 2608.13156); the same under freeze: -0.0336."""
    value = {
        (name, reported.partners["curriculum"]): reported.value
        for name in ("pre", "post")
        for reported in CARDS[name].reported
        if reported.task == "distill-qwen3-8b"
    }
    effect = {curriculum: value["post", curriculum] - value["pre", curriculum] for _, curriculum in value}
    assert effect == pytest.approx({"joint": 0.0004, "grow": -0.0328, "freeze": -0.0332})
    assert effect["grow"] - effect["joint"] == pytest.approx(-0.0332)
    assert all(reported.reference == value["pre", "joint"] for card in CARDS.values() for reported in card.reported)


def test_placements_of_transformers_are_not_offered_to_graph_tasks():
    assert {card.protocols for card in CARDS.values()} == {("distillation",)}
