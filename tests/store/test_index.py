"""The index: the same store as without it, whatever became of it or of the files."""

from __future__ import annotations

import copy
import math
import os
import pickle
import sqlite3
import subprocess
from pathlib import Path

import pytest

from benchsuite.errors import StoreError
from benchsuite.store import CellRecord, RunWriter, read_store
from benchsuite.store import index as module
from benchsuite.store.filed import FiledRecord
from benchsuite.store.index import build, folder_of
from benchsuite.store.records import VoidLine


@pytest.fixture
def out(desk, tmp_path):
    """A folder with two runs, a failure, a withdrawal and its index."""
    error = {"phase": "run", "type": "ValueError", "message": "no", "tail": ["a", "b"]}
    desk.put(tmp_path, "a.jsonl", *desk.run("run-a"), desk.record("bad", "run-a", status="failed", error=error))
    lines = desk.run("run-b")
    desk.put(tmp_path, "sub/b.jsonl", *lines, VoidLine(record=lines[2].hash, reason="r", author="me", at="2026"))
    assert build(tmp_path / "results") == 7
    return tmp_path


def same(out) -> bool:
    return read_store(out) == read_store(out, index=False)


def parsed(monkeypatch) -> list[str]:
    """Return a list that lines get into as they are parsed for the index."""
    seen: list[str] = []
    scan = module.scan

    def spy(*args):
        for found in scan(*args):
            seen.append(found.line.type if found.line else "bad")
            yield found

    monkeypatch.setattr(module, "scan", spy)
    return seen


def test_a_store_from_the_index_is_the_store(out):
    indexed = read_store(out)
    assert all(type(record) is FiledRecord for record in indexed.cells)
    assert indexed == read_store(out, index=False)
    assert read_store(out).frame().equals(read_store(out, index=False).frame())


def test_nothing_is_read_again_while_nothing_changed(out, monkeypatch):
    settle(out)
    seen = parsed(monkeypatch)
    assert len(read_store(out).cells) == 6
    assert seen == []


def settle(out) -> None:
    """Let the files be old enough for their times to prove something."""
    for path in (out / "results").rglob("*.jsonl"):
        os.utime(path, ns=(10**18, 10**18))
    # ctime is of now; only waiting would make it older.
    module_settled = module.SETTLED
    module.SETTLED = -(10**18)
    try:
        read_store(out)
    finally:
        module.SETTLED = module_settled


def test_of_a_file_that_grew_the_new_lines_alone_are_parsed(out, desk, monkeypatch):
    settle(out)
    seen = parsed(monkeypatch)
    with (out / "results" / "a.jsonl").open("a") as file:
        file.write(desk.record("new", "run-a").text())
    assert "new" in read_store(out).latest()
    assert seen == ["cell"]
    assert same(out)


def test_a_line_that_is_being_written_is_not_in_the_index_but_in_the_store_once_it_is_whole(out, desk):
    path, text = out / "results" / "a.jsonl", desk.record("new", "run-a").text()
    before = path.read_text()
    for cut in (5, len(text) - 1, len(text)):
        path.write_text(before + text[:cut])
        assert same(out)
        assert ("new" in read_store(out).latest()) == (cut > 5)


def test_changed_replaced_and_deleted_files_are_noticed(out, desk):
    path = out / "results" / "a.jsonl"
    edited = path.read_text().replace('"accuracy":85', '"accuracy":95')
    path.write_text(edited)
    assert same(out)
    assert read_store(out).problems
    desk.put(out, "a.jsonl", desk.record("other"))
    assert [record.cell for record in read_store(out).cells][:1] == ["other"]
    path.unlink()
    assert same(out)
    assert read_store(out).files == ["sub/b.jsonl"]


def test_a_change_that_keeps_size_and_time_is_noticed(out):
    """As a file that is written twice within the clock's grain: its times prove nothing while they are young."""
    path = out / "results" / "a.jsonl"
    stat = path.stat()
    text = path.read_text()
    path.write_text(text.replace('"accuracy":8', '"accuracy":9', 1))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    now = path.stat()
    assert now.st_size == stat.st_size
    with sqlite3.connect(folder_of(out / "results") / "records.sqlite") as database:
        # The one that no test can set.
        database.execute("UPDATE files SET changed = ? WHERE name = 'a.jsonl'", [now.st_ctime_ns])
    database.close()
    assert same(out)
    assert len(read_store(out).problems) == 1


@pytest.mark.parametrize("damage", [b"", b"no database at all", None])
def test_a_damaged_index_costs_nothing_and_is_made_anew(out, damage):
    path = folder_of(out / "results") / "records.sqlite"
    data = path.read_bytes()
    path.write_bytes(data[:5000] + b"\xff" * 3000 + data[8000:] if damage is None else damage)
    assert same(out)
    assert build(out / "results") == 7
    assert same(out)
    assert type(read_store(out).cells[0]) is FiledRecord


def test_an_index_of_another_format_is_made_anew(out):
    with sqlite3.connect(folder_of(out / "results") / "records.sqlite") as database:
        database.execute("PRAGMA user_version = 1")
        database.execute("UPDATE cells SET hash = 'wrong'")
    database.close()
    assert same(out)


def test_an_index_that_another_process_holds_is_not_waited_for_long(out, desk, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    desk.put(out, "c.jsonl", desk.record("c", "run-c"))
    database = sqlite3.connect(folder_of(out / "results") / "records.sqlite", isolation_level=None)
    database.execute("BEGIN EXCLUSIVE")
    assert same(out)
    with pytest.raises(StoreError, match=r"index .* cannot be written: database is locked\. Nothing needs it"):
        build(out / "results")
    database.close()


def test_git_never_sees_the_index(out):
    subprocess.run(["git", "init", "-q", str(out)], check=True)
    listed = subprocess.run(
        ["git", "-C", str(out), "status", "--porcelain", "--untracked-files=all"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert sorted(listed.stdout.split()[1::2]) == ["results/a.jsonl", "results/sub/b.jsonl"]


def test_without_an_index_none_is_made(desk, tmp_path):
    desk.put(tmp_path, "r.jsonl", desk.record())
    read_store(tmp_path)
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["r.jsonl"]


def test_two_runs_are_read_while_they_are_written(out, desk):
    """Each append is seen by the next reading, with the index and without."""
    with RunWriter(out, "x") as first, RunWriter(out, "y") as second:
        for number in range(4):
            for writer in (first, second):
                writer.append(desk.record(f"{writer.run}{number}", writer.run, metrics={"accuracy": 1.0 * number}))
                assert same(out)
    assert len(read_store(out).cells) == 14


WAYS = {
    "equal": lambda record, plain: record == plain and plain == record,
    "notes": lambda record, plain: record.notes == plain.notes,
    "samples": lambda record, plain: record.samples == plain.samples,
    "dump": lambda record, plain: record.model_dump() == plain.model_dump(),
    "text": lambda record, plain: record.text() == plain.text(),
    "copy": lambda record, plain: copy.copy(record) == plain and copy.deepcopy(record) == plain,
    "model copy": lambda record, plain: record.model_copy(deep=True) == plain,
    "pickle": lambda record, plain: pickle.loads(pickle.dumps(record)) == plain,
    "repr": lambda record, plain: repr(record) == repr(plain),
    "fields": lambda record, plain: dict(record) == dict(plain),
    "unlike": lambda record, plain: record != plain.model_copy(update={"seconds": 9.0}),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_record_is_whole_in_whatever_way_it_is_looked_at(out, way):
    for record, plain in zip(read_store(out).cells, read_store(out, index=False).cells, strict=True):
        assert type(record) is FiledRecord
        assert WAYS[way](record, plain)
        assert type(record) is CellRecord


def test_boards_need_no_line(out):
    """What the index holds is had without reading a line: key, numbers, status, times, error, sources, execution."""
    records = read_store(out).cells
    read = [(r.key, r.metrics, r.measurements, r.status, r.started, r.error, r.plugins, r.execution) for r in records]
    assert all(type(record) is FiledRecord for record in records)
    assert read[0][2]["gap"] is None
    assert not any(math.isnan(value) for each in read for value in each[2].values() if value is not None)


def test_a_record_whose_line_has_gone_says_so(out):
    record = read_store(out).cells[0]
    (out / "results" / "a.jsonl").write_text("\n" * 5000)
    with pytest.raises(StoreError, match=r"a\.jsonl changed while it was in use"):
        record.notes  # noqa: B018
    Path(out / "results" / "a.jsonl").unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        record.notes  # noqa: B018
    with pytest.raises(AttributeError, match="nothing"):
        read_store(out).cells[0].nothing  # noqa: B018
