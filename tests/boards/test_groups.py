"""Groups of tasks: pooled by hand, seed by seed."""

from __future__ import annotations

import pytest

from benchsuite.boards.board import make_board
from benchsuite.boards.page import page_text
from benchsuite.contracts.cards import Metric, Reported


@pytest.fixture
def cards(desk):
    fine = desk.method(
        "fine", bits=False, reported=(Reported(task="pair", metric="accuracy", value=79.0, source="T1"),)
    )
    return {
        "tasks": [desk.task(name, group="pair", config={"backbone": name}) for name in ("one", "two")],
        "alone": desk.task("alone"),
        "fp32": desk.method("fp32", bits=False),
        "fine": fine,
    }


def board_of(desk, cards, *records):
    catalogue = desk.catalogue(*cards["tasks"], cards["alone"], cards["fp32"], cards["fine"])
    store = desk.store(*records)
    return make_board(store, catalogue, "quantizer"), store, catalogue


def records(desk, cards):
    one, two = cards["tasks"]
    return [
        *desk.runs(one, cards["fp32"], [80.0, 81.0, 82.0]),
        *desk.runs(two, cards["fp32"], [70.0, 71.0, 72.0]),
        *desk.runs(one, cards["fine"], [79.0, 80.0, 81.0], measured={"cost_ratio": 2.0}),
        *desk.runs(two, cards["fine"], [70.5, 71.0, 71.0], measured={"cost_ratio": 6.0}),
        *desk.runs(cards["alone"], cards["fp32"], [50.0]),
    ]


def test_the_mean_over_tasks_is_taken_on_each_seed(desk, cards):
    board, *_ = board_of(desk, cards, records(desk, cards))
    alone, pair = board.overview
    assert (alone.name, pair.name) == ("alone", "pair")
    reference, fine = pair.rows
    assert dict(reference.samples["accuracy"]) == {0: 75.0, 1: 76.0, 2: 77.0}
    assert dict(fine.samples["accuracy"]) == {0: 74.75, 1: 75.5, 2: 76.0}
    # -0.25, -0.5, -1.0
    assert (fine.difference.mean, fine.difference.n, fine.won) == (pytest.approx(-1.75 / 3), 3, 0)
    assert fine.tasks == {"one": 80.0, "two": pytest.approx(70.8333, abs=1e-4)}
    assert (fine.cost.ratio, fine.cost.n) == (4.0, 6)
    ((published,),) = [fine.published]
    assert published.gap == pytest.approx((74.75 + 75.5 + 76.0) / 3 - 79.0)


def test_a_seed_that_one_task_lacks_counts_for_none(desk, cards):
    two = cards["tasks"][1]
    missing = [r for r in records(desk, cards) if (r.key["task"], r.key["seed"]) != (two.name, 1)]
    board, *_ = board_of(desk, cards, missing, desk.record(two, cards["fine"], 1, None, status="timeout"))
    fine = board.overview[1].rows[1]
    assert sorted(fine.samples["accuracy"]) == [0, 2]
    assert (fine.done, fine.wanted, fine.failures) == (2, 3, {"timeout": 1})


def test_a_method_that_one_task_never_saw_has_no_value(desk, cards):
    seen = [
        r for r in records(desk, cards) if (r.key["task"], r.key["methods"]["quantizer"]["name"]) != ("two", "fine")
    ]
    board, *_ = board_of(desk, cards, seen)
    fine = next(row for row in board.overview[1].rows if row.entry.method == "fine")
    assert (fine.value, fine.difference, fine.tasks) == (None, None, {"one": 80.0})


@pytest.mark.parametrize(
    "changes", [{"metrics": (Metric(name="recall", unit="%"),)}, {"protocol": "node-quantization/2"}, {"group": ""}]
)
def test_tasks_that_do_not_agree_are_not_pooled(desk, cards, changes):
    one, two = cards["tasks"]
    cards["tasks"][1] = two = two.model_copy(update=changes)
    board, *_ = board_of(desk, cards, desk.runs(one, cards["fp32"], [80.0]), desk.runs(two, cards["fp32"], [70.0]))
    assert [task.name for task in board.overview] == ["one", "two"]
    assert board.sections == board.tasks


def test_the_page_has_the_group_in_place_of_its_tasks_in_the_summary_and_each_task_below(desk, cards):
    text = page_text(*board_of(desk, cards, records(desk, cards)))
    summary, *sections = text.split("\n## ")[1:]
    assert summary.splitlines()[2].replace(" ", "") == "|Method|alone|pair|"
    assert [section.splitlines()[0] for section in sections[:4]] == ["pair", "alone", "one", "two"]
    assert "Each seed's mean over 2 tasks (one, two)" in sections[0]
    assert "70.83 to 80.00" in sections[0]
