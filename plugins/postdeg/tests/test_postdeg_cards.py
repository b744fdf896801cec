"""The cards: what is claimed, what could refute it, what is a control."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import benchsuite_postdeg
import pytest

from benchsuite.testing.checks import PluginFolder, Specimen, check_name, folder_checks, method_checks

PLUGIN = PluginFolder(Path(__file__).parents[1])
CARDS = {card.name: card for card in benchsuite_postdeg.benchsuite_methods()}


@pytest.mark.parametrize("check", folder_checks(), ids=check_name)
def test_folder(check):
    check(PLUGIN)


@pytest.mark.parametrize("card", CARDS.values(), ids=lambda card: card.name)
@pytest.mark.parametrize("check", method_checks("norm_placement"), ids=check_name)
def test_method(check, card):
    check(Specimen(card))


def test_controls_that_must_not_win_are_shams_and_rivals_are_not():
    shams = {name for name, card in CARDS.items() if card.sham}
    assert shams == {"postdeg-erased", "postdeg-graphwise", "postdeg-extra-norm", "postdeg-shuffled"}


def test_every_falsifier_has_its_arm_and_every_arm_its_falsifier():
    found = {falsifier.arm for falsifier in CARDS["postdeg"].falsifiers}
    assert found == set(CARDS) - {"postdeg", "layernorm", "greedy-degree"}
    from_paper = [f.name for f in CARDS["postdeg"].falsifiers if "arXiv" in f.source]
    assert len(from_paper) == 4


def test_the_published_gains_are_those_of_the_abstract():
    gains = {figure.task: round(figure.value - figure.reference, 1) for figure in CARDS["postdeg"].reported}
    assert gains == {
        f"{task}{inputs}": gain
        for inputs in ("", "-blind")
        for task, gain in (
            ("influence-maximisation", 3.5),
            ("network-dismantling", -2.5),  # an area: less is better
            ("maximum-independent-set", 5.6),
        )
    }


def test_the_column_is_a_mean_over_good_records_and_says_nothing_without_one():
    record = SimpleNamespace
    columns = benchsuite_postdeg.benchsuite_columns("norm_placement")
    [column] = columns.values()
    records = [
        record(status="ok", measurements={"degree_exponent": -0.5}),
        record(status="ok", measurements={"degree_exponent": -0.4}),
        record(status="ok", measurements={"degree_exponent": None}),
        record(status="failed", measurements={"degree_exponent": 9.0}),
    ]
    assert column(records) == "-0.45"
    assert column([record(status="ok", measurements={})]) == ""
    assert benchsuite_postdeg.benchsuite_columns("quantizer") == {}
