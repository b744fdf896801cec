"""Which documents each step sees, what every arm costs, and where the learning rate stands."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.contracts.curriculum import Budget, Phase
from benchsuite.errors import ProtocolError
from benchsuite.tasks.distillation.accounting import account
from benchsuite.tasks.distillation.phases import Stream, check_phases, make_legs

BATCH = 4


def documents(number=400, seed=0):
    return np.random.default_rng(seed).integers(2, 20, number)


def joint(depth, budget, **changes):
    blocks = tuple(range(depth))
    return [Phase(blocks, blocks, budget, **changes)]


def grow(depth, budget, **changes):
    return [Phase(tuple(range(p + 1)), tuple(range(p + 1)), budget, **changes) for p in range(depth)]


def freeze(depth, budget):
    return [replace(phase, trainable=phase.active[-1:]) for phase in grow(depth, budget)]


def costs(phases, budget, layers_per_block=2, seed=0, lengths=None):
    lengths = documents() if lengths is None else lengths
    legs = make_legs(phases, Stream(lengths, BATCH, budget, seed), layers_per_block)
    return account(legs, lengths, layers_per_block)


@settings(deadline=None)
@given(depth=st.integers(1, 5), steps=st.integers(1, 8), per_block=st.integers(1, 3), seed=st.integers(0, 99))
def test_identities_of_the_arms(depth, steps, per_block, seed):
    budget = Budget(steps, "steps")
    b = costs(joint(depth, budget), budget, per_block, seed)
    layers = depth * per_block
    assert (b.steps, b.active_layer_tokens, b.unique_tokens) == (steps, layers * b.total_tokens, b.total_tokens)
    grown = costs(grow(depth, budget), budget, per_block, seed)
    assert grown.steps == depth * steps
    assert grown.total_tokens == depth * b.total_tokens
    assert grown.unique_tokens == b.total_tokens
    assert 2 * grown.active_layer_tokens == layers * (depth + 1) * b.total_tokens
    assert grown.trained_layer_tokens == grown.active_layer_tokens
    frozen = costs(freeze(depth, budget), budget, per_block, seed)
    assert frozen.active_layer_tokens == grown.active_layer_tokens
    assert frozen.trained_layer_tokens == per_block * depth * b.total_tokens


@pytest.mark.parametrize("depth", [1, 3, 5])
def test_a_joint_arm_of_half_as_many_phases_and_a_half_matches_grow(depth):
    budget = Budget(6, "steps")
    matched = costs(joint(depth, budget) * ((depth + 1) // 2), budget)
    assert matched.active_layer_tokens == costs(grow(depth, budget), budget).active_layer_tokens


def test_the_figures_of_the_paper():
    """50,000 steps of 64 documents of 972 tokens: 3.11 B tokens a phase, 56.0 B layer-tokens of grow."""
    steps, tokens = 50_000, 50_000 * 64 * 972
    arms = {"joint": [9], "grow": [3, 6, 9], "joint-long": [9, 9]}
    layer_tokens = {name: sum(layers) * tokens for name, layers in arms.items()}
    assert round(tokens / 1e9, 2) == 3.11
    assert round(layer_tokens["grow"] / 1e9, 1) == 56.0
    assert layer_tokens["grow"] == layer_tokens["joint-long"]
    # The same arms at a ten-thousandth of the length, through the code.
    budget, lengths = Budget(steps // 10_000, "steps"), np.full(100, 972)
    small = costs(grow(3, budget), budget, 3, lengths=lengths)
    assert small.active_layer_tokens == 18 * 5 * BATCH * 972


def test_a_shard_is_replayed_in_another_order_and_whole():
    lengths, budget = documents(), Budget(5, "steps")
    stream = Stream(lengths, BATCH, budget, 0)
    first = np.concatenate([stream.next() for _ in range(5)])
    again = np.concatenate([stream.next() for _ in range(5)])
    assert len(set(first)) == 20
    assert sorted(first) == sorted(again)
    assert not np.array_equal(first, again)


def test_rewinding_goes_back_to_the_first_order_and_fresh_to_other_documents():
    lengths, budget = documents(), Budget(5, "steps")
    stream = Stream(lengths, BATCH, budget, 0)
    stream.fresh()  # nothing was taken yet: this is the first shard
    first = [stream.next() for _ in range(7)]
    stream.rewind()
    assert all(np.array_equal(stream.next(), first[i]) for i in range(5))
    stream.fresh()
    other = np.concatenate([stream.next() for _ in range(5)])
    assert not set(other) & set(np.concatenate(first))
    plain = Stream(lengths, BATCH, budget, 0)
    assert np.array_equal(plain.next(), first[0])


def test_arms_of_a_seed_see_the_same_documents_and_seeds_others():
    lengths, budget = documents(), Budget(5, "steps")

    def batches(phases, seed):
        return [b for leg in make_legs(phases, Stream(lengths, BATCH, budget, seed), 1) for b in leg.batches]

    one, other = batches(joint(3, budget), 0), batches(grow(3, budget), 0)
    assert all(np.array_equal(a, b) for a, b in zip(one, other[:5], strict=True))
    assert not np.array_equal(one[0], batches(joint(3, budget), 1)[0])


@pytest.mark.parametrize("amount", [1, 137, 500])
def test_a_budget_in_tokens_ends_with_the_step_that_uses_it_up(amount):
    lengths, budget = documents(), Budget(amount, "total_tokens")
    [leg] = make_legs(joint(2, budget), Stream(lengths, BATCH, budget, 0), 1)
    assert sum(leg.tokens[:-1]) < amount <= sum(leg.tokens)
    assert leg.tokens == tuple(int(lengths[batch].sum()) for batch in leg.batches)


def test_a_budget_in_layer_tokens_is_spent_sooner_by_more_blocks():
    lengths, budget = documents(), Budget(20, "steps")
    stream = Stream(lengths, BATCH, budget, 0)
    phases = grow(3, Budget(900, "active_layer_tokens"))
    one, _, three = make_legs(phases, stream, 2)
    assert one.steps > three.steps
    assert 2 * sum(one.tokens[:-1]) < 900 <= 2 * sum(one.tokens)
    assert 6 * sum(three.tokens[:-1]) < 900 <= 6 * sum(three.tokens)


def test_a_corpus_that_is_too_small_says_so():
    with pytest.raises(ProtocolError, match="19 training documents, 16 of them are left for data shard 1"):
        Stream(documents(19), BATCH, Budget(5, "steps"), 0)
    stream = Stream(documents(39), BATCH, Budget(5, "steps"), 0)
    stream.next()
    with pytest.raises(ProtocolError, match="data shard 2, which takes 5 steps"):
        stream.fresh()


def test_the_rate_rises_in_a_line_and_falls_as_a_cosine_to_its_end():
    budget = Budget(100, "steps")
    [leg] = make_legs(joint(1, budget), Stream(documents(), BATCH, budget, 0), 1)
    rates = [leg.rate(step, 0.04, 0.01) for step in range(100)]
    assert rates[:4] == [0.25, 0.5, 0.75, 1.0]
    assert rates[4] == 1.0
    assert rates[-1] == pytest.approx(0.01)
    assert all(a > b for a, b in pairwise(rates[4:]))
    half = 4 + 95 / 2
    assert leg.rate(51, 0.04, 0.01) == pytest.approx(0.505 + 0.495 * math.cos(math.pi * (51 - 4) / 95))
    assert leg.rate(51, 0.04, 0.01) > 0.505 > leg.rate(52, 0.04, 0.01)
    assert 51 < half < 52


def test_a_schedule_that_is_not_restarted_runs_on_over_both_phases():
    budget = Budget(10, "steps")
    apart = make_legs(grow(2, budget), Stream(documents(), BATCH, budget, 0), 1)
    assert [(leg.begun, leg.span) for leg in apart] == [(0, 10), (0, 10)]
    together = make_legs(grow(2, budget, restart_schedule=False), Stream(documents(), BATCH, budget, 0), 1)
    assert [(leg.begun, leg.span) for leg in together] == [(0, 20), (10, 20)]
    assert together[1].rate(9, 0.1, 0.01) == pytest.approx(0.01)


B = Budget(1, "steps")


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "phases\\(\\) returned NoneType"),
        ([], "phases\\(\\) returned nothing"),
        (["phase"], "phase 0 is str, not a Phase"),
        ([Phase((), (), B)], "phase 0 has no block of 2"),
        ([Phase((0, 2), (0,), B)], "phase 0 has no block of 2 in \\(0, 2\\)"),
        ([Phase((1, 0), (0,), B)], "out of order or twice"),
        ([Phase((0, 0), (0,), B)], "out of order or twice"),
        ([Phase((0,), (1,), B)], "trains a block that is not active"),
        ([Phase((0, 1), (), B, train_boundary_norm=False, train_head=False)], "trains nothing"),
        ([Phase((0, 1), (0,), Budget(0, "steps"))], "has a budget of 0 steps"),
        ([Phase((0, 1), (0,), B, insertion="copy")], "phase 0 copies a block though none below it"),
        ([Phase((0, 1), (0,), B), Phase((0,), (0,), B)], "the last phase leaves out block 1 of 2"),
    ],
)
def test_phases_that_cannot_be_trained_are_refused(returned, message):
    with pytest.raises(ProtocolError, match=message):
        check_phases(returned, 2)


def test_phases_in_any_order_of_insertion_are_taken():
    top_first = [Phase((1,), (1,), B), Phase((0, 1), (0,), B)]
    assert check_phases(top_first, 2) == top_first
