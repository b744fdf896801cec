"""Merging is a union of files; verifying says what is wrong; withdrawing and exporting."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import pytest

from benchsuite.errors import StoreError, UsageError
from benchsuite.store import read_store
from benchsuite.store.export import export
from benchsuite.store.merge import merge
from benchsuite.store.records import VoidLine
from benchsuite.store.verify import verify
from benchsuite.store.withdraw import withdraw


def files(out):
    return {str(p.relative_to(out)): p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()}


@pytest.fixture
def places(desk, tmp_path):
    """Two folders with runs of their own, and one that both have."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    desk.put(ours, "a.jsonl", *desk.run("run-a"))
    desk.put(theirs, "b.jsonl", *desk.run("run-b"))
    desk.put(theirs, "quantizer/c.jsonl", *desk.run("run-c"))
    for folder in (ours, theirs):
        desk.put(folder, "both.jsonl", *desk.run("run-both"))
    return ours, theirs


def test_merging_is_a_union_and_a_second_time_does_nothing(places):
    ours, theirs = places
    before = files(ours)
    merged = merge(ours, [theirs])
    assert (merged.copied, merged.skipped) == (["b.jsonl", "quantizer/c.jsonl"], 1)
    after = files(ours)
    assert after == {**before, **files(theirs)}
    assert merge(ours, [theirs, theirs / "results"]).copied == []
    assert files(ours) == after
    assert len(read_store(ours).cells) == 12


def test_the_order_of_merging_does_not_matter(places, tmp_path):
    ours, theirs = places
    for name, order in {"x": [ours, theirs], "y": [theirs, ours]}.items():
        for source in order:
            merge(tmp_path / name, [source])
    assert files(tmp_path / "x") == files(tmp_path / "y")


def test_a_copy_under_another_name_is_skipped(places, desk):
    ours, theirs = places
    desk.put(theirs, "renamed.jsonl", *desk.run("run-a"))
    assert "renamed.jsonl" not in merge(ours, [theirs]).copied


def test_the_same_name_with_other_content_is_refused_and_nothing_is_merged(places, desk):
    ours, theirs = places
    desk.put(theirs, "zz.jsonl", *desk.run("run-z"))
    desk.put(ours, "zz.jsonl", *desk.run("run-y"))
    before = files(ours)
    with pytest.raises(StoreError, match=r"zz\.jsonl and the file zz\.jsonl that is here already differ\. Two runs"):
        merge(ours, [theirs])
    assert files(ours) == before


def test_a_run_that_went_on_meanwhile_takes_the_place_of_its_beginning(places, desk):
    ours, theirs = places
    whole = (theirs / "results" / "b.jsonl").read_bytes()
    (ours / "results" / "b.jsonl").write_bytes(whole[: len(whole) // 2])
    merged = merge(ours, [theirs])
    assert (merged.grown, (ours / "results" / "b.jsonl").read_bytes()) == (["b.jsonl"], whole)
    (theirs / "results" / "b.jsonl").write_bytes(whole[:300])
    assert merge(ours, [theirs]).grown == []
    assert (ours / "results" / "b.jsonl").read_bytes() == whole


def test_a_file_that_was_edited_is_refused(places):
    ours, theirs = places
    path = theirs / "results" / "b.jsonl"
    path.write_text(path.read_text().replace('"accuracy":8', '"accuracy":9', 1))
    before = files(ours)
    with pytest.raises(StoreError, match=r"b\.jsonl, line 3: its hash is wrong.*Nothing was merged"):
        merge(ours, [theirs])
    assert files(ours) == before


def test_a_run_that_a_crash_ended_is_merged_with_its_torn_line(places):
    ours, theirs = places
    path = theirs / "results" / "b.jsonl"
    path.write_bytes(path.read_bytes()[:-30])
    assert merge(ours, [theirs]).torn == ["b.jsonl"]
    assert len(read_store(ours).cells) == 12


@pytest.mark.parametrize(("make", "message"), [(None, "is no folder"), ("results", "there are no run files")])
def test_what_is_no_source_is_said(places, tmp_path, make, message):
    if make:
        (tmp_path / "x" / make).mkdir(parents=True)
    with pytest.raises(UsageError, match=message):
        merge(places[0], [tmp_path / "x"])


FULL = """
import pathlib, sys
from benchsuite.errors import StoreError
from benchsuite.store import RunWriter, utc_now
from benchsuite.store.index import build
from benchsuite.store.merge import merge
from benchsuite.store.records import VoidLine
disk, source = map(pathlib.Path, sys.argv[1:])
line = VoidLine(record="r", reason="x" * 3000, author="me", at=utc_now())
with RunWriter(disk, "r") as writer:
    lines = 0
    try:
        while True:
            writer.append(line.model_copy(update={"record": str(lines)}))
            lines += 1
    except StoreError as error:
        print(error)
for work in (lambda: merge(disk, [source]), lambda: build(disk / "results")):
    try:
        work()
    except StoreError as error:
        print(error)
print(lines)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="tmpfs is Linux's")
def test_a_full_disk_loses_nothing_and_leaves_no_half_file(places, tmp_path):
    """A tmpfs of 64 KiB in a mount namespace of its own, so that nothing is left mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    keep = tmp_path / "kept"
    mount = 'mount -t tmpfs -o size=64k none "$1" || exit 77; "$0" -c "$3" "$1" "$2" && cp -r "$1" "$4"'
    words = ["unshare", "--mount", "sh", "-c", mount, sys.executable, str(disk), str(places[1]), FULL, str(keep)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if done.returncode in (1, 77) and "Traceback" not in done.stderr:
        pytest.skip(f"a tmpfs cannot be mounted here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert "No space left on device. Make room" in said[0]
    assert "No space left on device" in said[1]
    lines = int(said[-1])
    assert lines > 5
    assert not list(keep.rglob(".*.jsonl*"))
    text = (keep / "results" / "r.jsonl").read_text()
    assert (text.count("\n"), text.endswith("}\n")) == (lines, True)
    store = read_store(keep)
    assert (len(store.withdrawn), store.problems) == (lines, [])


def test_a_read_only_folder_is_one_line(places):
    ours, theirs = places
    code = """
import os, pathlib, sys
from benchsuite.errors import BenchsuiteError
from benchsuite.store import read_store
from benchsuite.store.index import build
from benchsuite.store.merge import merge
from benchsuite.store.withdraw import withdraw
ours, theirs = map(pathlib.Path, sys.argv[1:])
record = read_store(ours).cells[0].hash
if os.geteuid() == 0:  # nothing is read-only to root
    os.setuid(65534)
works = lambda: merge(ours, [theirs]), lambda: withdraw(ours, [record], "r", "me"), lambda: build(ours / "results")
for work in works:
    try:
        work()
    except BenchsuiteError as error:
        print(error)
"""
    for path in places[0].parents:
        if "pytest" in str(path):  # how many there are depends on how the tests are run
            path.chmod(0o755)
    (ours / "results").chmod(0o555)
    done = subprocess.run([sys.executable, "-c", code, ours, theirs], capture_output=True, text=True, check=True)
    (ours / "results").chmod(0o755)
    said = done.stdout.splitlines()
    assert len(said) == 3
    assert all("cannot be written" in line and "Permission denied" in line for line in said)


def test_verify_finds_what_it_should(desk, tmp_path):
    desk.put(tmp_path, "a.jsonl", *desk.run("run-a")[:-1])
    desk.put(tmp_path, "b.jsonl", desk.record("c", "run-a", env="f" * 16), '{"torn')
    desk.put(tmp_path, "c.jsonl", VoidLine(record="gone", reason="r", author="me", at="2026"))
    report = verify(tmp_path)
    assert (report.files, report.records, report.counted, report.withdrawn, report.copies) == (3, 4, 4, 0, 0)
    assert len(report.dropped) == 1
    assert report.dropped[0].startswith("b.jsonl:2: it is no record")
    remarks = [remark for remark in report.remarks if "not that of the cell's key" not in remark]
    assert remarks == [
        "a.jsonl: run run-a has no end: it was interrupted, or is going on",
        "run run-a lies in 2 files: a.jsonl, b.jsonl",
        "b.jsonl: 1 cell refers to environment ffffffffffffffff, which no line has",
        "c.jsonl:1: it withdraws record gone, which is not there",
    ]


def test_verify_counts_copies_and_withdrawals(desk, tmp_path):
    lines = desk.run("run-a")
    desk.put(tmp_path, "a.jsonl", *lines, VoidLine(record=lines[2].hash, reason="r", author="me", at="2026"))
    desk.put(tmp_path, "copy.jsonl", *lines)
    report = verify(tmp_path)
    assert (report.records, report.counted, report.withdrawn, report.copies) == (6, 2, 1, 3)
    assert report.dropped == []


def test_a_withdrawn_record_counts_no_more_and_stays_in_its_file(desk, tmp_path):
    path = desk.put(tmp_path, "a.jsonl", *desk.run("run-a"))
    before, (first, second, third) = path.read_bytes(), read_store(tmp_path).cells
    new = withdraw(tmp_path, [first.hash, second.hash, first.hash], "wrong data", "me")
    assert read_store(tmp_path).cells == [third]
    assert path.read_bytes() == before
    said = [json.loads(line) for line in new.read_text().splitlines()]
    assert [(line["type"], line["record"], line["reason"], line["author"]) for line in said] == [
        ("void", record.hash, "wrong data", "me") for record in (first, second)
    ]


def test_what_cannot_be_withdrawn_is_refused_and_nothing_is(desk, tmp_path):
    desk.put(tmp_path, "a.jsonl", *desk.run("run-a"))
    first, second, _ = read_store(tmp_path).cells
    withdraw(tmp_path, [first.hash], "wrong data", "me")
    before = files(tmp_path)
    for wrong, message in ((first.hash, "withdrawn already: wrong data"), ("beef", "there is no record 'beef'")):
        with pytest.raises(UsageError, match=message):
            withdraw(tmp_path, [second.hash, wrong], "r", "me")
    with pytest.raises(UsageError, match="needs a reason"):
        withdraw(tmp_path, [second.hash], " ", "me")
    assert files(tmp_path) == before


def test_an_export_has_every_number_with_all_its_digits(desk, tmp_path):
    value = 0.1 + 0.2
    records = [
        desk.record("c1", metrics={"accuracy": value}, measurements={"gap": None}),
        desk.record("c1", run="later", started="2026-02", metrics={"accuracy": 1.0}),
        desk.record("c2", seed=1, status="failed", error={"phase": "run", "type": "E", "message": 'no, "never"\n'}),
    ]
    desk.put(tmp_path, "a.jsonl", *records)
    store = read_store(tmp_path)
    texts = {}
    for form in ("csv", "json"):
        for every in (False, True):
            file = io.StringIO()
            assert export(store, form, file, every=every) == (3 if every else 2)
            texts[form, every] = file.getvalue()
    rows = list(csv.DictReader(io.StringIO(texts["csv", True])))
    assert [float(row["metric.accuracy"]) for row in rows[:2]] == [value, 1.0]
    assert (rows[2]["error"], rows[2]["metric.accuracy"], rows[0]["quantizer.bits"]) == ('no, "never"\n', "", "8")
    assert [row["run"] for row in csv.DictReader(io.StringIO(texts["csv", False]))] == ["later", "r"]
    first = json.loads(texts["json", True])[0]
    assert (first["metric.accuracy"], first["measurement.gap"], first["seed"], first["task"]) == (value, None, 0, "t")
    assert first["env"] == desk.env.hash


def test_an_empty_store_exports_nothing(tmp_path):
    for form, text in (("csv", ""), ("json", "[]\n")):
        file = io.StringIO()
        assert export(read_store(tmp_path), form, file) == 0
        assert file.getvalue() == text
