"""The numbers of a board, worked out by hand."""

from __future__ import annotations

import pytest

from benchsuite.boards.board import make_board
from benchsuite.boards.statistics import Ranks
from benchsuite.contracts.cards import Metric, Reported


def rows(desk, catalogue, *records):
    (task,) = make_board(desk.store(*records), catalogue, "quantizer").tasks
    return {row.entry.label: row for row in task.rows}


@pytest.fixture
def found(scene):
    return rows(scene.desk, scene.catalogue, scene.records)


def test_order_is_reference_then_width_then_value(found):
    assert list(found) == ["fp32", "fine INT8", "rough INT8", "fine INT4"]


def test_values_and_paired_differences(found):
    assert found["fp32"].value.mean == 81.0
    assert found["fp32"].difference is None
    assert found["fine INT8"].value.mean == pytest.approx((79.9 + 81.1 + 81.8) / 3)
    difference = found["fine INT8"].difference
    assert (difference.mean, difference.n) == (pytest.approx(-0.2 / 3), 3)
    # -0.1, 0.1, -0.2: standard deviation 0.152753, t quantile 4.302653
    assert difference.half == pytest.approx(4.302653 * 0.152753 / 3**0.5, abs=1e-5)


def test_size_agreement_and_execution(found):
    assert (found["fine INT8"].size, found["fp32"].size) == (0.25, 1.0)
    assert found["fine INT8"].agreement == 99.0
    assert found["fine INT8"].execution == "simulated"


def test_coverage_and_failures(desk):
    task, fp32, method = desk.task(seeds=5), desk.method("fp32", bits=False), desk.method("m")
    records = [
        *desk.runs(task, fp32, [80.0, 81.0]),
        *desk.runs(task, method, [80.0, None, 79.0]),
        desk.record(task, method, 3, None, status="timeout"),
        desk.record(task, method, 4, None, status="timeout"),
    ]
    row = rows(desk, desk.catalogue(task, fp32, method), records)["m INT8"]
    assert (row.done, row.wanted, row.complete) == (2, 5, False)
    assert row.failures == {"failed": 1, "timeout": 2}
    # Seed 0 alone is shared: a difference, and nothing to say about its spread.
    assert (row.difference.mean, row.difference.half, row.difference.n) == (0.0, None, 1)


def test_more_seeds_than_the_card_wants_are_all_wanted(desk):
    task, method = desk.task(seeds=2), desk.method("m")
    assert rows(desk, desk.catalogue(task, method), desk.runs(task, method, [1.0] * 4))["m INT8"].wanted == 4


def test_a_method_that_only_failed_keeps_its_row(scene):
    records = [*scene.records, *scene.desk.runs(scene.task, scene.rough, [None, None], params={"bits": 4})]
    row = rows(scene.desk, scene.catalogue, records)["rough INT4"]
    assert (row.value, row.difference, row.cost, row.ranks, row.done) == (None, None, None, None, 0)
    assert row.failures == {"failed": 2}


def test_cost_is_the_median_of_what_was_measured_alone(desk):
    task, method = desk.task(), desk.method("m")
    records = [
        desk.record(task, method, 0, 1.0, measured={"cost_ratio": 3.0, "quantization_seconds": 0.3}),
        desk.record(task, method, 1, 1.0, measured={"cost_ratio": 5.0, "quantization_seconds": 0.1}),
        desk.record(task, method, 2, 1.0, measured={"cost_ratio": 99.0}, alone=False),
    ]
    cost = rows(desk, desk.catalogue(task, method), records)["m INT8"].cost
    assert (cost.ratio, cost.seconds, cost.n, cost.alone, cost.steady) == (4.0, pytest.approx(0.2), 2, True, True)


def test_cost_says_when_nothing_was_measured_alone_or_the_pace_changed(desk):
    task, method = desk.task(), desk.method("m")
    records = [
        desk.record(
            task, method, seed, 1.0, measured={"drift": 0.5, "cost_ratio": None if seed == 2 else 2.0}, alone=False
        )
        for seed in range(3)
    ]
    cost = rows(desk, desk.catalogue(task, method), records)["m INT8"].cost
    assert (cost.ratio, cost.n, cost.alone, cost.steady) == (2.0, 2, False, False)


def test_published_figures_match_task_metric_and_parameters(scene):
    base = {"task": "graph-gcn", "metric": "accuracy", "source": "Table 1"}
    reported = (
        Reported(**base, value=79.0, reference=80.0, params={"bits": 8}),
        Reported(**base, value=70.0, params={"bits": 4}),
        Reported(**{**base, "task": "other-gcn"}, value=1.0),
        Reported(**{**base, "metric": "loss"}, value=2.0),
    )
    card = scene.desk.method("fine", reported=reported)
    found = rows(scene.desk, scene.desk.catalogue(scene.task, scene.fp32, card, scene.rough), scene.records)
    (eight,) = found["fine INT8"].published
    # They lose 1, we lose 0.2 / 3.
    assert (eight.difference, eight.gap) == (-1.0, pytest.approx(1 - 0.2 / 3))
    (four,) = found["fine INT4"].published
    assert (four.difference, four.gap) == (None, pytest.approx((79.0 + 80.2 + 80.9) / 3 - 70.0))
    assert found["rough INT8"].published == ()


def test_without_the_reference_there_are_no_differences_and_a_remark(scene):
    records = scene.records[3:]
    (task,) = make_board(scene.desk.store(records), scene.catalogue, "quantizer").tasks
    assert all(row.difference is None for row in task.rows)
    assert task.remarks[0] == "No record of the reference fp32: no differences."


def test_labels_show_parameters_that_are_not_at_their_defaults(desk):
    task = desk.task()
    knobs = (desk.knob(), desk.knob(name="alpha", default=0.5), desk.knob(name="fast", default=False))
    card = desk.method("m", parameters=knobs)
    record = desk.record(task, card, 0, 1.0, params={"alpha": 0.25, "fast": True})
    assert list(rows(desk, desk.catalogue(task, card), record)) == ["m, alpha=0.25, fast=true"]
    (label,) = rows(desk, desk.catalogue(task), record)
    assert label == "m, alpha=0.25, clip=minmax, fast=true"


def test_another_device_is_another_competitor_with_its_own_reference(scene):
    desk = scene.desk
    cuda = [
        desk.record(scene.task, method, seed, value, key={"device": "cuda"})
        for method, values in ((scene.fp32, (90.0, 91.0)), (scene.fine, (89.0, 90.0)))
        for seed, value in enumerate(values)
    ]
    found = rows(desk, scene.catalogue, scene.records, cuda)
    assert found["fine INT8, on cuda"].difference.mean == -1.0
    assert found["fine INT8"].difference.mean == pytest.approx(-0.2 / 3)


def test_the_first_metric_ranks_and_the_others_are_kept(desk):
    task = desk.task(metrics=(Metric(name="loss", unit="", higher_is_better=False), Metric(name="accuracy", unit="%")))
    a, b = desk.method("a"), desk.method("b")
    records = [
        desk.record(task, method, seed, 0.0, metrics={"loss": value * (1 + seed / 70), "accuracy": 50.0})
        for method, value in ((a, 2.0), (b, 1.0))
        for seed in range(5)
    ]
    found = rows(desk, desk.catalogue(task, a, b), records)
    assert list(found) == ["b INT8", "a INT8"]
    assert found["b INT8"].ranks == Ranks(1, 1)
    assert found["a INT8"].samples["accuracy"] == dict.fromkeys(range(5), 50.0)


SPREAD = [0.0, 0.3, -0.2, 0.1, -0.1, 0.2]


def contest(desk, shams: dict[str, float], reals: dict[str, float], bits=8):
    """One task where each method sits at its level, with a spread that no two methods share."""
    task = desk.task()
    cards = [desk.method(name, sham=name in shams) for name in {**reals, **shams}]
    records = [
        desk.record(task, card, seed, {**reals, **shams}[card.name] + noise * (i + 1) / 10, params={"bits": bits})
        for i, card in enumerate(cards)
        for seed, noise in enumerate(SPREAD)
    ]
    (board,) = make_board(desk.store(records), desk.catalogue(task, *cards), "quantizer").tasks
    return {row.entry.method: row.ranks for row in board.rows}, board.remarks[1:]


def test_ranks_among_methods_of_one_width(desk):
    ranks, remarks = contest(desk, {}, {"high": 80.0, "near": 80.01, "low": 70.0})
    assert ranks == {"high": Ranks(1, 2), "near": Ranks(1, 2), "low": Ranks(3, 3)}
    assert remarks == ()


def test_a_sham_that_cannot_be_told_from_the_best_takes_all_ranks(desk):
    ranks, remarks = contest(desk, {"sham": 80.005}, {"high": 80.0, "low": 70.0})
    assert ranks == {"sham": None, "high": None, "low": None}
    (remark,) = remarks
    assert remark.startswith("No ranks among INT8 methods: the best, high INT8, cannot be told from the sham")


def test_a_sham_that_loses_has_no_rank_itself(desk):
    ranks, remarks = contest(desk, {"sham": 60.0}, {"high": 80.0, "low": 70.0})
    assert ranks == {"sham": None, "high": Ranks(1, 1), "low": Ranks(2, 2)}
    assert remarks == ()


def test_one_competitor_has_no_rank(desk):
    assert contest(desk, {}, {"alone": 80.0}) == ({"alone": None}, ())


def test_tasks_can_be_chosen(scene):
    other = scene.desk.task("other-gcn")
    store = scene.desk.store(scene.records, scene.desk.runs(other, scene.fine, [1.0]))
    board = make_board(store, scene.catalogue, "quantizer", ["other-gcn"])
    assert [task.name for task in board.tasks] == ["other-gcn"]
    assert len(board.counted.records) == 1


def test_two_factors_make_one_competitor(desk):
    task = desk.task(
        factors=("norm_placement", "curriculum"), reference={"norm_placement": "pre", "curriculum": "joint"}
    )
    pre = desk.method("pre", bits=False, kind="norm_placement")
    joint, stack = (desk.method(name, bits=False, kind="curriculum") for name in ("joint", "stack"))
    records = [
        desk.record(
            task,
            pre,
            0,
            value,
            key={
                "methods": {
                    "norm_placement": {"name": "pre", "version": "1", "params": {}},
                    "curriculum": {"name": partner.name, "version": "1", "params": {}},
                }
            },
        )
        for partner, value in ((joint, 5.0), (stack, 6.0))
    ]
    (board,) = make_board(desk.store(records), desk.catalogue(task, pre, joint, stack), "norm_placement").tasks
    assert [(row.entry.label, row.reference) for row in board.rows] == [
        ("pre, with joint", True),
        ("pre, with stack", False),
    ]
    assert board.rows[1].difference.mean == 1.0
