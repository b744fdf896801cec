"""A two-factor task: arms, effects and the interaction, computed by hand; its page, its screen and its picture."""

from __future__ import annotations

import pytest

from benchsuite.boards import check_boards, write_boards
from benchsuite.boards.board import make_board
from benchsuite.boards.curves import curves, has_curves
from benchsuite.boards.curves_picture import draw_curves
from benchsuite.boards.matrix import make_matrix
from benchsuite.boards.matrix_page import contrast_lines, matrix_text
from benchsuite.boards.screen import render_screen
from benchsuite.contracts.cards import MethodCard, Metric, Reported
from benchsuite.store.records import digest

VALUES = {
    ("pre", "joint"): [2.0, 2.2],
    ("pre", "grow"): [1.9, 2.0],
    ("post", "joint"): [2.1, 2.5],
    ("post", "grow"): [1.8, 2.2],
}
#: Effects of post: joint +0.1, +0.3; grow -0.1, +0.2. Interaction: -0.2, -0.1.
PUBLISHED = {("pre", "joint"): 2.7603, ("post", "joint"): 2.7607, ("pre", "grow"): 2.7658, ("post", "grow"): 2.7330}


class Factors:
    """Placements and curricula on one task."""

    def __init__(self, desk, values=VALUES, published=PUBLISHED, **measured):
        self.desk = desk
        self.task = desk.task(
            "distill",
            factors=("norm_placement", "curriculum"),
            metrics=(Metric(name="cross_entropy", unit="nats", higher_is_better=False, digits=4),),
            reference={"norm_placement": "pre", "curriculum": "joint"},
            protocol="distillation/1",
            seeds=2,
        )
        names = sorted({name for arm in values for name in arm})
        self.cards = {name: self._card(name, published) for name in names}
        self.records = [
            self.record(arm, seed, value, **measured)
            for arm, found in values.items()
            for seed, value in enumerate(found)
            if value is not None
        ]

    def _card(self, name, published):
        kind = "norm_placement" if name in ("pre", "post") else "curriculum"
        reported = [
            Reported(task="distill", metric="cross_entropy", value=v, source="T", partners={"norm_placement": a})
            for (a, b), v in published.items()
            if b == name
        ]
        return MethodCard(name=name, kind=kind, target="m:C", summary="About.", reported=reported)

    def record(self, arm, seed, value, samples=None, notes=None, **measured):
        methods = {
            kind: {"name": name, "version": "1", "params": {}}
            for kind, name in zip(("norm_placement", "curriculum"), arm, strict=True)
        }
        card = self.cards[arm[1]]
        changes = {"key": {"methods": methods}, "measured": {"cost_ratio": None, **measured}}
        changes["cell"] = digest([*arm, seed])
        return self.desk.record(self.task, card, seed, value, samples=samples or {}, notes=notes or {}, **changes)

    @property
    def catalogue(self):
        return self.desk.catalogue(self.task, *self.cards.values())

    @property
    def store(self):
        return self.desk.store(self.records)

    def board(self, kind="curriculum"):
        return make_board(self.store, self.catalogue, kind)

    def matrix(self):
        [task] = self.board().tasks
        return make_matrix(task, self.catalogue)


@pytest.fixture
def factors(desk):
    return Factors(desk)


def test_effects_and_interaction_are_paired_by_seed(factors):
    matrix = factors.matrix()
    assert matrix.levels == (("pre", "post"), ("joint", "grow"))
    effects = {(e.first, e.second): list(e.values.values()) for e in matrix.effects()}
    assert effects["post", "joint"] == pytest.approx([0.1, 0.3])
    assert effects["post", "grow"] == pytest.approx([-0.1, 0.2])
    [interaction] = matrix.interactions()
    assert list(interaction.values.values()) == pytest.approx([-0.2, -0.1])
    assert (interaction.below, interaction.above) == (2, 0)
    # t interval of two values: 12.706 * sd / sqrt(2), sd = 0.1 / sqrt(2)
    assert interaction.estimate.half == pytest.approx(12.7062 * 0.1 / 2, rel=1e-4)


@pytest.mark.parametrize("shift", [-3.0, 0.5, 7.0])
def test_what_moves_both_placements_alike_is_no_interaction(desk, shift):
    moved = {arm: [v + shift * (arm[1] == "grow") + seed for seed, v in enumerate(f)] for arm, f in VALUES.items()}
    [plain], [other] = Factors(desk).matrix().interactions(), Factors(desk, moved).matrix().interactions()
    assert list(other.values.values()) == pytest.approx(list(plain.values.values()))


def test_a_seed_without_all_four_arms_is_left_out(desk):
    matrix = Factors(desk, {**VALUES, ("post", "grow"): [1.8, None]}).matrix()
    [interaction] = matrix.interactions()
    assert list(interaction.values) == [0]
    assert interaction.estimate.half is None


def test_without_an_arm_there_is_no_interaction(desk):
    values = {arm: found for arm, found in VALUES.items() if arm != ("pre", "joint")}
    factors = Factors(desk, values)
    assert factors.matrix().interactions() == []
    [task] = factors.board().tasks
    assert "Interaction" not in matrix_text(task, "curriculum", factors.catalogue)


def test_the_published_interaction_is_of_the_published_figures(factors):
    matrix = factors.matrix()
    assert matrix.published_interaction("post", "grow") == pytest.approx(-0.0332)
    assert matrix.published_interaction("sandwich", "grow") is None


def test_a_row_shows_the_figure_of_its_own_partner(factors):
    [task] = factors.board().tasks
    shown = {row.entry.label: [p.reported.value for p in row.published] for row in task.rows}
    assert shown["grow, with post"] == [2.7330]
    assert shown["grow, with pre"] == [2.7658]


def test_a_task_of_one_factor_has_no_matrix(scene):
    [task] = make_board(scene.store, scene.catalogue, "quantizer").tasks
    assert make_matrix(task, scene.catalogue) is None
    assert matrix_text(task, "quantizer", scene.catalogue) == ""


def cells(text, start):
    line = next(line for line in text.splitlines() if line.startswith(f"| {start} "))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_page_says_it_all(desk):
    factors = Factors(
        desk,
        steps=40.0,
        unique_tokens=1000.0,
        total_tokens=2000.0,
        active_layer_tokens=6000.0,
        trained_layer_tokens=5000.0,
        teacher_cross_entropy=1.5,
        block0_removal=0.5,
        block0_angle=0.25,
        block0_rms_std=0.00123,
        append1_jump=0.2,
        append1_excess_short=0.1,
        append1_excess_long=-0.1,
        append1_recovery_steps=17.0,
    )
    [task] = factors.board().tasks
    text = matrix_text(task, "curriculum", factors.catalogue)
    assert cells(text, "pre ")[:3] == ["pre", "2.1000 ± 1.2706 (2)", "1.9500 ± 0.6353 (2)"]
    assert cells(text, "post - pre ")[1:] == ["+0.2000 ± 1.2706 (2)", "+0.0500 ± 1.9059 (2)"]
    assert cells(text, "post, grow ")[1:] == ["-0.1500 ± 0.6353 (2)", "2/2", "0/2", "-0.0332", "0: -0.2000, 1: -0.1000"]
    assert "The teacher itself reaches 1.5000." in text
    assert cells(text, "grow ")[1:] == ["40", "1,000", "2,000", "6,000", "5,000"]
    assert "0.500 / 0.250 / 0.0012" in text
    assert "+0.200 | +0.100 | -0.100 | 17 (2/2)" in " ".join(text.split())
    assert "2.7603" in text
    assert "2.7330" in text


def test_the_matrix_stands_on_one_page_and_the_other_points_to_it(factors, tmp_path):
    write_boards(factors.store, factors.catalogue, tmp_path)
    curriculum, placement = (tmp_path / f"{kind}.md" for kind in ("curriculum", "norm_placement"))
    assert "Interaction I(a, b)" in curriculum.read_text()
    assert "Interaction" not in placement.read_text()
    assert "(curriculum.md)" in placement.read_text()


def test_a_screen_shows_the_task_once_with_its_interaction(factors):
    import io

    from rich.console import Console

    console = Console(file=io.StringIO(), width=100)
    render_screen(factors.store, factors.catalogue, console)
    text = console.file.getvalue()
    assert text.count("distill: About distill") == 1
    assert "I(post, grow) = -0.1500 ± 0.6353 (2), 2 of 2 seeds below zero" in text
    [task] = factors.board().tasks
    assert len(contrast_lines(task, factors.catalogue)) == 1


def with_curves(desk):
    factors = Factors(desk)
    grown = {"phases": [{"active": [0], "steps": 20}, {"active": [0, 1], "steps": 20}]}
    series = {"curve_step": [10.0, 20.0, 30.0, 40.0], "curve_layer_tokens": [1.0, 2.0, 4.0, 6.0]}
    factors.records = [
        factors.record(
            arm,
            seed,
            value,
            samples={**series, "curve_loss": [4.0 + seed, 3.0, 2.5, 2.0]},
            notes=grown if "grow" in arm else {},
        )
        for arm, found in VALUES.items()
        for seed, value in enumerate(found)
    ]
    return factors


def test_curves_are_means_over_seeds_with_the_append_marked(desk):
    factors = with_curves(desk)
    [task] = factors.board().tasks
    found = {(c.first, c.second): c for c in curves(task, factors.catalogue)}
    assert list(found) == [("pre", "joint"), ("pre", "grow"), ("post", "joint"), ("post", "grow")]
    grown = found["post", "grow"]
    assert grown.loss == (4.5, 3.0, 2.5, 2.0)
    assert grown.spent == (1.0, 2.0, 4.0, 6.0)
    assert grown.appends == (2,)
    assert found["pre", "joint"].appends == ()


def test_the_picture_is_written_once_per_records_and_checked(desk, tmp_path):
    factors = with_curves(desk)
    written = write_boards(factors.store, factors.catalogue, tmp_path)
    assert tmp_path / "curriculum.svg" in written
    assert tmp_path / "norm_placement.svg" not in written
    assert check_boards(factors.store, factors.catalogue, tmp_path) == []
    again = draw_curves(factors.board(), factors.catalogue)
    assert (tmp_path / "curriculum.svg").read_bytes() == again
    factors.records = factors.records[:-1]
    assert any("curriculum.svg was drawn from other records" in line for line in stale(factors, tmp_path))
    (tmp_path / "curriculum.svg").unlink()
    assert any("curriculum.svg is missing" in line for line in stale(factors, tmp_path))


def stale(factors, out):
    return check_boards(factors.store, factors.catalogue, out)


def test_a_board_without_curves_has_no_picture_of_them(factors):
    assert not has_curves(factors.board(), factors.catalogue)
    assert draw_curves(factors.board(), factors.catalogue) is None
