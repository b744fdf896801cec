"""Cells, their keys, and the plan that is made of them."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchsuite.contracts.cards import Metric, TaskCard
from benchsuite.engine.cells import Cell, MethodRef, make_cell
from benchsuite.engine.estimate import Durations
from benchsuite.engine.plan import make_plan
from benchsuite.store.records import CellRecord, ErrorInfo, PluginSource

CARD = TaskCard(
    name="a-task",
    target="nowhere:Task",
    summary="For keys alone.",
    factors=("quantizer",),
    dataset="none",
    protocol="toy/1",
    metrics=(Metric(name="accuracy", unit="%"),),
    config={"answers": 10},
)


def cell(card=CARD, data="data", version="1", seed=0, name="some", **params):
    return make_cell(card, data, {"quantizer": MethodRef(name=name, version=version, params=params)}, seed)


def record(of, status="ok", started="2026-01-01", seconds=1.0, source="s1", error=None):
    plugins = {kind: PluginSource(plugin="p", version="1", source=source) for kind in of.methods}
    return CellRecord(
        run="r",
        cell=of.id,
        key=of.key(),
        status=status,
        env="e",
        started=started,
        seconds=seconds,
        alone=True,
        plugins=plugins,
        error=error,
    )


def plan_of(wanted, *records, **options):
    [planned] = make_plan([wanted], {each.cell: each for each in records}, **options)
    return planned.state, planned.reason


def test_the_id_is_the_hash_of_the_canonical_key():
    key = {
        "task": "a-task",
        "task_version": "1",
        "config": hashlib.sha256(b'{"answers":10}').hexdigest()[:16],
        "data": "data",
        "protocol": "toy/1",
        "methods": {"quantizer": {"name": "some", "version": "1", "params": {"bits": 4}}},
        "seed": 0,
        "device": "cpu",
    }
    made = cell(bits=4)
    assert made.key() == key
    text = json.dumps(key, sort_keys=True, separators=(",", ":"))
    assert made.id == hashlib.sha256(text.encode()).hexdigest()[:16]


@given(st.permutations([("a", 1), ("b", 2.5), ("c", "x"), ("d", True)]))
def test_the_id_does_not_depend_on_the_order_of_parameters(pairs):
    assert cell(**dict(pairs)).id == cell(a=1, b=2.5, c="x", d=True).id


def test_everything_in_the_key_changes_the_id():
    other = CARD.model_copy(update={"config": {"answers": 11}})
    newer = CARD.model_copy(update={"version": "2"})
    cells = [cell(), cell(data="x"), cell(version="2"), cell(seed=1), cell(name="y"), cell(bits=1), cell(bits=1.0)]
    assert len({each.id for each in [*cells, cell(other), cell(newer), cell(bits=True)]}) == 10


def test_an_integer_and_a_truth_value_are_written_as_what_they_are():
    assert cell(bits=4, fast=True, rate=0.5).label == "some[bits=4,fast=true,rate=0.5]"
    assert cell().label == "some"


def test_a_cell_is_immutable():
    with pytest.raises(ValueError, match="frozen"):
        cell().seed = 3


def test_a_cell_survives_its_key():
    made = cell(bits=4)
    assert Cell.model_validate(made.key()).id == made.id


def test_a_cell_without_a_record_is_to_do_and_one_with_an_ok_record_is_done():
    assert plan_of(cell()) == ("todo", "")
    assert plan_of(cell(), record(cell())) == ("done", "")


def test_a_failed_cell_is_to_do_again_and_says_how_it_ended():
    error = ErrorInfo(phase="run", type="ValueError", message="no luck")
    assert plan_of(cell(), record(cell(), "failed", error=error)) == ("todo", "failed before: no luck")


def test_force_runs_what_is_done():
    assert plan_of(cell(), record(cell()), force=True) == ("todo", "forced")


@pytest.mark.parametrize(
    ("old", "reason"),
    [
        (cell(version="0"), "method some is version 1, was 0"),
        (cell(data="before"), "data changed"),
        (cell(CARD.model_copy(update={"version": "0"})), "task is version 1, was 0"),
        (cell(CARD.model_copy(update={"protocol": "toy/0"})), "protocol is toy/1, was toy/0"),
        (cell(CARD.model_copy(update={"config": {}})), "task config changed"),
        (cell(CARD.model_copy(update={"config": {}}), data="before"), "task config changed; data changed"),
    ],
)
def test_a_record_under_another_key_makes_the_cell_stale_and_the_reason_is_named(old, reason):
    assert plan_of(cell(), record(old)) == ("stale", reason)


def test_other_parameters_another_seed_or_a_failure_do_not_make_a_cell_stale():
    rivals = [record(cell(bits=4)), record(cell(seed=1)), record(cell(version="0"), "failed")]
    assert plan_of(cell(), *rivals) == ("todo", "")


def test_the_newest_rival_gives_the_reason():
    rivals = [record(cell(version="0.1"), started="2026-01-02"), record(cell(data="x"), started="2026-01-01")]
    assert plan_of(cell(), *rivals) == ("stale", "method some is version 1, was 0.1")


def test_of_two_runs_the_one_that_began_later_is_the_newer_whatever_the_clock_of_a_node_says():
    early = record(cell(version="0.1"), started="2026-01-09T00:00:00Z").model_copy(update={"run": "20260101T000000Z-a"})
    late = record(cell(data="x"), started="2026-01-01T00:00:00Z").model_copy(update={"run": "20260102T000000Z-b"})
    assert "data" in plan_of(cell(), early, late)[1]
    slow = record(cell(), seconds=9.0, started="2026-01-09T00:00:00Z").model_copy(update={"run": "20260101T000000Z-a"})
    quick = [
        record(cell(seed=seed), seconds=1.0, started="2026-01-01").model_copy(update={"run": "20260102T000000Z-b"})
        for seed in range(20)
    ]
    assert Durations([*quick, slow]).expect(cell()) == 1.0


def test_a_done_cell_whose_code_changed_under_one_version_says_so():
    assert plan_of(cell(), record(cell()), sources={"some": "s1"}) == ("done", "")
    state, reason = plan_of(cell(), record(cell()), sources={"some": "s2"})
    assert (state, reason) == ("done", "the code of some changed since, its version did not")


def test_a_cell_wanted_twice_is_planned_once():
    assert len(make_plan([cell(), cell()], {})) == 1


def test_durations_prefer_the_same_method_on_the_same_task_and_fall_back():
    other = CARD.model_copy(update={"name": "b-task"})
    known = [
        record(cell(seed=1), seconds=10),
        record(cell(seed=2), seconds=20),
        record(cell(seed=3), seconds=90),
        record(cell(other, name="slow"), seconds=500),
        record(cell(seed=4), "failed", seconds=10_000),
    ]
    durations = Durations(known)
    assert durations.expect(cell()) == 20
    assert durations.expect(cell(other)) == 20  # the same method
    assert durations.expect(cell(name="new")) == 20  # the same task
    assert durations.expect(cell(CARD.model_copy(update={"name": "c-task"}), name="new")) == 55  # all: 10 20 90 500
    assert durations.remaining([cell(), cell(seed=7)], jobs=2) == 20
    assert Durations().remaining([cell()], jobs=1) is None
