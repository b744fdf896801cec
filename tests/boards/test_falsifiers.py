"""What cards named as refuting a method, worked out from records."""

from __future__ import annotations

import pytest

from benchsuite.boards.board import make_board
from benchsuite.boards.page import page_text
from benchsuite.boards.screen import render_screen
from benchsuite.contracts.cards import Falsifier, Metric


class Trial:
    """A method, its reference and one arm on one task."""

    def __init__(self, desk, claim="beats", lower=False):
        self.desk = desk
        metric = Metric(name="accuracy", unit="%", higher_is_better=not lower)
        changes = {"factors": ("norm_placement",), "reference": {"norm_placement": "plain"}, "metrics": (metric,)}
        self.task = desk.task(**changes)
        falsifier = Falsifier(name="another place", arm="arm", claim=claim, source="a paper")
        self.plain, self.arm = self.placement("plain"), self.placement("arm", sham=True)
        self.method = self.placement("method", falsifiers=(falsifier,))

    def placement(self, name, **changes):
        return self.desk.method(name, bits=False, kind="norm_placement", **changes)

    def store(self, plain, method, arm):
        rows = ((self.plain, plain), (self.method, method), (self.arm, arm))
        return self.desk.store(*(self.desk.runs(self.task, card, values) for card, values in rows))

    @property
    def catalogue(self):
        return self.desk.catalogue(self.task, self.plain, self.method, self.arm)

    def board(self, plain, method, arm):
        return make_board(self.store(plain, method, arm), self.catalogue, "norm_placement").tasks[0]

    def verdict(self, plain, method, arm):
        """Return the verdict of the one falsifier; the claim itself comes before it."""
        claim, verdict = self.board(plain, method, arm).verdicts
        assert (claim.name, claim.rule) == ("no gain", "g(method)")
        return verdict


@pytest.mark.parametrize(
    ("claim", "rule", "arm", "margins"),
    [
        # The method gains 3, 4 and 5 on the reference.
        ("beats", "g(method) - g(arm)", [81.0, 82.0, 83.0], [2.0, 2.0, 2.0]),
        ("bounds", "2 g(method) - g(arm)", [85.0, 86.0, 87.0], [1.0, 2.0, 3.0]),
        ("persists", "g(arm)", [81.0, 79.0, 84.0], [1.0, -1.0, 4.0]),
    ],
)
def test_the_margin_of_each_claim(desk, claim, rule, arm, margins):
    verdict = Trial(desk, claim).verdict([80.0] * 3, [83.0, 84.0, 85.0], arm)
    assert verdict.rule == rule
    assert verdict.margin.mean == pytest.approx(sum(margins) / 3)
    assert (verdict.above, verdict.margin.n) == (sum(m > 0 for m in margins), 3)
    assert (verdict.method, verdict.name, verdict.arm, verdict.source) == ("method", "another place", "arm", "a paper")


@pytest.mark.parametrize(
    ("arm", "fires"),
    [
        ([80.0, 80.1, 79.9], "no"),  # far behind, each time by about 5
        ([85.0, 85.1, 85.0], "yes"),  # as good or better
        ([82.0, 88.0, 80.0], "open"),  # behind on average, but by no more than it scatters
    ],
)
def test_a_falsifier_fires_is_open_or_does_not(desk, arm, fires):
    assert Trial(desk).verdict([80.0] * 3, [85.0, 85.1, 84.9], arm).fires == fires


def test_one_seed_decides_nothing(desk):
    verdict = Trial(desk).verdict([80.0], [85.0], [90.0])
    assert (verdict.fires, verdict.margin.half) == ("open", None)


def test_where_lower_is_better_a_gain_is_a_smaller_value(desk):
    trial = Trial(desk, lower=True)
    verdict = trial.verdict([80.0] * 3, [75.0, 75.1, 74.9], [79.0, 79.1, 78.9])
    assert verdict.margin.mean == pytest.approx(4.0)
    assert verdict.fires == "no"
    rows = {row.entry.method: row for row in trial.board([80.0] * 3, [75.0, 81.0, 74.0], [79.0] * 3).rows}
    assert rows["method"].won == 2
    assert rows["plain"].won is None


def test_only_shared_seeds_count(desk):
    verdict = Trial(desk).verdict([80.0, 80.0, 80.0, 80.0], [83.0, None, 83.0, 83.0], [81.0, 81.0, 82.0])
    assert verdict.margin.n == 2
    assert verdict.margin.mean == pytest.approx(1.5)


def test_without_the_arm_or_the_reference_nothing_is_said_of_them(desk):
    trial = Trial(desk)
    assert [v.name for v in trial.board([80.0], [83.0], []).verdicts] == ["no gain"]
    assert trial.board([], [83.0], [81.0]).verdicts == ()


def test_other_parameters_are_another_method(desk):
    trial = Trial(desk)
    trial.arm = trial.placement("arm", parameters=(desk.knob(),))
    store = desk.store(
        desk.runs(trial.task, trial.plain, [80.0]),
        desk.runs(trial.task, trial.method, [83.0]),
        desk.runs(trial.task, trial.arm, [81.0], params={"clip": "other"}),
    )
    board = make_board(store, trial.catalogue, "norm_placement").tasks[0]
    assert [v.name for v in board.verdicts] == ["no gain"]


def test_the_page_has_a_table_of_verdicts_and_a_column_of_wins(desk):
    trial = Trial(desk)
    values = ([80.0] * 3, [85.0, 85.1, 84.9], [80.0, 79.0, 82.0])
    store = trial.store(*values)
    text = page_text(make_board(store, trial.catalogue, "norm_placement"), store, trial.catalogue)
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line]
    assert ["method: no gain", "g(method)", "+5.00 ± 0.25 (3)", "3/3", "no", "the claim itself"] in lines
    rule = "g(method) - g(arm)"
    assert ["method: another place", rule, "+4.67 ± 4.04 (3)", "3/3", "no", "a paper"] in lines
    heading = next(line for line in lines if "Wins" in line)
    wins = {line[0]: line[heading.index("Wins")] for line in lines if len(line) == len(heading)}
    assert (wins["method"], wins["arm (sham)"], wins["plain"]) == ("3/3", "1/3", "-")


def test_quantizers_do_not_set_out_to_win(scene):
    text = page_text(make_board(scene.store, scene.catalogue, "quantizer"), scene.store, scene.catalogue)
    assert "Wins" not in text
    assert "would refute" not in text


def test_the_screen_has_one_line_for_each_method(desk):
    import io

    from rich.console import Console

    trial = Trial(desk)
    out = io.StringIO()
    render_screen(trial.store([80.0] * 3, [85.0, 85.1, 84.9], [86.0, 86.0, 87.0]), trial.catalogue, Console(file=out))
    assert "Falsifiers of method: fires: another place; does not fire: no gain\n" in out.getvalue()
