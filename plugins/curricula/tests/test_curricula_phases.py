"""What each curriculum asks the host to train, counted by hand."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import benchsuite_curricula
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchsuite.plugin import Budget, Curriculum, MethodSpec
from benchsuite.testing.checks import PluginFolder, Specimen, check_name, folder_checks, method_checks

CARDS = {card.name: card for card in benchsuite_curricula.benchsuite_methods()}
BUDGET = Budget(100, "steps")


def phases(name, depth=3, budget=BUDGET, **params):
    card = CARDS[name]
    method = MethodSpec(name, card.target, card.resolve(params)).make()
    assert isinstance(method, Curriculum)
    return method.phases(depth, budget)


def layer_steps(found):
    return sum(len(phase.active) * phase.budget.amount for phase in found)


@pytest.mark.parametrize("check", folder_checks(), ids=check_name)
def test_folder(check):
    check(PluginFolder(Path(__file__).parents[1]))


@pytest.mark.parametrize("method", [Specimen(card) for card in CARDS.values()], ids=str)
@pytest.mark.parametrize("check", method_checks("curriculum"), ids=check_name)
def test_method(check, method):
    check(method)


def test_joint_is_one_phase_of_everything():
    [phase] = phases("joint")
    assert (phase.active, phase.trainable, phase.budget) == ((0, 1, 2), (0, 1, 2), BUDGET)
    assert phase.train_head
    assert phase.train_boundary_norm


def test_grow_appends_a_random_block_and_starts_the_optimiser_anew():
    found = phases("grow")
    assert [phase.active for phase in found] == [(0,), (0, 1), (0, 1, 2)]
    assert all(phase.trainable == phase.active for phase in found)
    assert {(p.insertion, p.reset_optimizer, p.restart_schedule, p.data, p.budget) for p in found} == {
        ("random", True, True, "continue", BUDGET)
    }


def test_freeze_trains_the_newest_block_alone():
    assert [phase.trainable for phase in phases("freeze")] == [(0,), (1,), (2,)]
    assert [phase.active for phase in phases("freeze")] == [phase.active for phase in phases("grow")]


def test_freeze_can_freeze_the_rest_once_it_has_learnt():
    found = phases("freeze", train_head=False, train_boundary_norm=False)
    assert [(phase.train_head, phase.train_boundary_norm) for phase in found] == [
        (True, True),
        (False, False),
        (False, False),
    ]


@pytest.mark.parametrize("name", ["grow", "freeze"])
def test_there_is_nothing_to_copy_below_the_first_block(name):
    assert [phase.insertion for phase in phases(name, insertion="copy")] == ["random", "copy", "copy"]


@given(depth=st.integers(1, 12), amount=st.integers(1, 500).map(lambda n: 2 * n))
def test_the_matched_joint_arm_costs_what_grow_costs(depth, amount):
    """(K + 1) / 2 phases: both sides in block-steps, from the definition of each."""
    budget = Budget(amount, "steps")
    matched = phases("joint-matched", depth, budget)
    assert layer_steps(matched) == layer_steps(phases("grow", depth, budget))
    assert sum(Fraction(phase.budget.amount, amount) for phase in matched) == Fraction(depth + 1, 2)


@pytest.mark.parametrize(
    ("match", "amounts"),
    [
        ("active_layer_tokens", [100, 100]),
        ("total_tokens", [100, 100, 100]),
        ("steps", [100, 100, 100]),
        ("unique_tokens", [100]),
    ],
)
def test_what_the_matched_arm_has_in_common_with_grow(match, amounts):
    found = phases("joint-matched", match=match)
    assert [phase.budget.amount for phase in found] == amounts
    assert {phase.active for phase in found} == {(0, 1, 2)}
    assert {phase.data for phase in found} == {"fresh"}


def test_two_blocks_are_matched_by_a_phase_and_a_half():
    assert [phase.budget.amount for phase in phases("joint-matched", 2)] == [100, 50]


def test_figures_make_the_interaction_of_the_paper():
    value = {
        (name, reported.partners["norm_placement"]): reported.value
        for name in ("joint", "grow")
        for reported in CARDS[name].reported
        if reported.task == "distill-qwen3-8b"
    }
    grown = value["grow", "post"] - value["grow", "pre"]
    joint = value["joint", "post"] - value["joint", "pre"]
    assert grown - joint == pytest.approx(-0.0332)
