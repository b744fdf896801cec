"""Only records under the current key count; the others are stale."""

from __future__ import annotations

import random

import pytest

from benchsuite.boards.counted import count


def counts(desk, catalogue, *records) -> tuple[int, int]:
    counted = count(desk.store(*records), catalogue, "quantizer")
    return len(counted.records), counted.stale


def test_current_records_count(scene):
    assert counts(scene.desk, scene.catalogue, scene.records) == (12, 0)


@pytest.mark.parametrize("change", [{"task_version": "0"}, {"config": "other"}, {"protocol": "node-quantization/0"}])
def test_a_record_of_another_task_is_stale(scene, change):
    old = scene.desk.record(scene.task, scene.fine, 0, 10.0, key=change)
    assert counts(scene.desk, scene.catalogue, scene.records, old) == (12, 1)


def test_a_raised_method_version_makes_old_records_stale(scene):
    raised = scene.desk.method("fine", version="2")
    catalogue = scene.desk.catalogue(scene.task, scene.fp32, raised, scene.rough)
    assert counts(scene.desk, catalogue, scene.records) == (6, 6)


@pytest.mark.parametrize("knobs", [("clip",), ("clip", "more")])
def test_a_method_whose_parameters_changed_makes_old_records_stale(desk, knobs):
    task = desk.task()
    old = desk.method("fine", parameters=(desk.knob(name="gone"), desk.knob(name="clip")))
    new = desk.method("fine", parameters=tuple(desk.knob(name=name) for name in knobs))
    assert counts(desk, desk.catalogue(task, new), desk.runs(task, old, [1.0, 2.0])) == (0, 2)


def test_of_two_data_sets_the_newest_records_counts(scene):
    desk = scene.desk
    new = [
        desk.record(scene.task, scene.fp32, seed, 50.0, key={"data": "new"}, started="2026-05-01T00:00:00.000000+00:00")
        for seed in (0, 1)
    ]
    counted = count(desk.store(scene.records, new), scene.catalogue, "quantizer")
    assert {record.key["data"] for record in counted.records} == {"new"}
    assert (len(counted.records), counted.stale) == (2, 12)


def test_the_newest_data_set_is_the_last_run_s_though_the_clock_was_set_back(scene):
    """Ids of runs are given in the order in which runs begin, whatever the clock says."""
    desk, times = scene.desk, {"old": "2026-05-01T00:00:00+00:00", "new": "2020-01-01T00:00:00+00:00"}
    records = [
        desk.record(scene.task, scene.fp32, 0, 50.0, key={"data": data}, run=f"2026050{day}T000000Z-a", started=started)
        for day, (data, started) in enumerate(times.items(), start=1)
    ]
    for order in (records, records[::-1]):
        counted = count(desk.store(order), scene.catalogue, "quantizer")
        assert [record.key["data"] for record in counted.records] == ["new"]


def test_without_cards_records_count_and_the_newest_versions_win(scene):
    empty = scene.desk.catalogue()
    newer = scene.desk.record(
        scene.task, scene.desk.method("fine", version="2"), 0, 70.0, started="2026-05-01T00:00:00.000000+00:00"
    )
    counted = count(scene.desk.store(scene.records, newer), empty, "quantizer")
    assert counted.stale == 6
    assert {r.key["methods"]["quantizer"]["version"] for r in counted.records if r.cell == newer.cell} == {"2"}


def test_other_kinds_are_neither_counted_nor_stale(scene):
    probe = scene.desk.method("look", bits=False, kind="probe")
    other = scene.desk.record(scene.task, probe, 0, 1.0)
    assert counts(scene.desk, scene.catalogue, scene.records, other) == (12, 0)


def test_a_cell_that_was_run_again_counts_once(scene):
    again = scene.desk.record(scene.task, scene.fine, 0, None, run="run-2", started="2026-05-01T00:00:00.000000+00:00")
    counted = count(scene.desk.store(scene.records, again), scene.catalogue, "quantizer")
    assert len(counted.records) == 12
    assert all(record.status == "ok" for record in counted.records)


def test_fingerprint_names_the_records_and_not_their_order(scene):
    whole = count(scene.store, scene.catalogue, "quantizer")
    shuffled = random.Random(3).sample(scene.records, len(scene.records))
    assert count(scene.desk.store(shuffled), scene.catalogue, "quantizer").fingerprint == whole.fingerprint
    assert count(scene.desk.store(shuffled[1:]), scene.catalogue, "quantizer").fingerprint != whole.fingerprint


def test_newest_is_told_to_the_second(scene):
    assert count(scene.store, scene.catalogue, "quantizer").newest == "2026-01-02 03:04:02 UTC"
    assert count(scene.desk.store(), scene.catalogue, "quantizer").newest == ""
