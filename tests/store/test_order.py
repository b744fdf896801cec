"""Which of two records is the later one, whatever the clocks say."""

from __future__ import annotations

import itertools
from datetime import datetime, timezone

import pytest

from benchsuite.store import new_run_id, read_store
from benchsuite.store.order import moment


def latest(desk, folder, *records):
    """Return the run of the record that counts; it must be the same for all orders of files."""
    found = set()
    for order in itertools.permutations(records):
        for number, record in enumerate(order):
            desk.put(folder, f"{number}.jsonl", record)
        found.add(read_store(folder).latest()["c"].run)
    assert len(found) == 1
    return found.pop()


FIRST, SECOND, THIRD = "20260102T000000Z-a-1", "20260102T000001Z-a-2", "20260102T000001Z-a-3"


def test_the_run_that_began_later_wins_though_its_cell_says_an_earlier_time(desk, tmp_path):
    """As where the clock was set back, or the cell ran on a machine whose clock is behind."""
    old = desk.record(run=FIRST, started="2026-01-02T09:00:00+00:00")
    new = desk.record(run=SECOND, started="2025-12-31T09:00:00+00:00")
    assert latest(desk, tmp_path, old, new) == SECOND


def test_a_failure_never_wins_over_a_result(desk, tmp_path):
    good = desk.record(run=FIRST, started="2020")
    bad = desk.record(run=SECOND, started="2030", status="failed")
    assert latest(desk, tmp_path, good, bad) == FIRST


def test_of_two_failures_the_later_run_s_is_the_last(desk, tmp_path):
    timeout = desk.record(run=FIRST, started="2030", status="timeout")
    failed = desk.record(run=SECOND, started="2020", status="failed")
    assert latest(desk, tmp_path, timeout, failed) == SECOND


def test_within_one_second_the_cells_own_start_decides_and_then_the_hash(desk, tmp_path):
    assert latest(desk, tmp_path, desk.record(run=SECOND, started="2"), desk.record(run=THIRD, started="1")) == SECOND
    same = [desk.record(run=run, started="1") for run in (SECOND, THIRD)]
    assert latest(desk, tmp_path, *same) == max(same, key=lambda record: record.hash).run


def test_runs_whose_names_say_no_time_are_ordered_by_their_cells(desk):
    named = desk.record(run=FIRST, started="2030-01-01T00:00:00+00:00")
    plain = desk.record(run="mine", started="2026-01-02T00:00:00.500000+00:00")
    after = desk.record(run="mine", started="2026-01-02T00:00:01.500000+00:00")
    assert moment(plain)[0] == moment(named)[0]
    assert moment(named) < moment(after)


def test_a_new_run_is_named_after_all_that_are_there(desk, tmp_path):
    """The folder has a run from the future: the clock went backwards since, or another machine's is ahead."""
    ahead = "20991231T235959Z-abcdef-123456"
    desk.put(tmp_path, f"quantizer/{ahead}.jsonl", desk.record(run=ahead))
    first = new_run_id(tmp_path)
    assert first.startswith("21000101T000000Z-")
    desk.put(tmp_path, f"{first}.jsonl", desk.record(run=first, started="2020"))
    second = new_run_id(tmp_path)
    assert second.startswith("21000101T000001Z-")
    assert read_store(tmp_path).latest()["c"].run == first


@pytest.mark.parametrize("name", ["20200101T000000Z-a-1", "notes", "99999999T999999Z-a-1", "99991231T235959Z-a-1"])
def test_otherwise_the_name_has_the_time(desk, tmp_path, name):
    desk.put(tmp_path, f"{name}.jsonl")
    before = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    assert before <= new_run_id(tmp_path)[:16] <= datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
