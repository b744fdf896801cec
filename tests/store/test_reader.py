"""The reader: union of files, what counts as the latest, and what is reported and left out."""

from __future__ import annotations

import math

import pytest

from benchsuite.errors import StoreError
from benchsuite.store import CellRecord, read_store
from benchsuite.store.env import environment, git_state
from benchsuite.store.records import VoidLine


def record(cell="c", run="r", **changes):
    key = {"task": "t", "task_version": "1", "config": "c", "data": "d", "protocol": "p/1", "seed": 0, "device": "cpu"}
    key |= {"methods": {"quantizer": {"name": "m", "version": "2", "params": {"bits": 8}}}}
    fields = {"run": run, "cell": cell, "key": key, "status": "ok", "env": "e", "started": "2026-01-01"}
    return CellRecord.model_validate({**fields, "seconds": 1.0, "alone": True, **changes})


def put(folder, name, *lines):
    path = folder / "results" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line if isinstance(line, str) else line.text() for line in lines))


def test_no_folder_is_an_empty_store(tmp_path):
    store = read_store(tmp_path / "nowhere")
    assert (store.cells, store.problems, store.latest(), len(store.frame())) == ([], [], {}, 0)


def test_all_files_below_results_are_read_in_order_of_name(tmp_path):
    put(tmp_path, "b.jsonl", record("c2", "b"))
    put(tmp_path, "a/x.jsonl", record("c1", "a"))
    put(tmp_path, "notes.txt", "no record")
    store = read_store(tmp_path)
    assert [each.cell for each in store.cells] == ["c1", "c2"]
    assert store.files == ["a/x.jsonl", "b.jsonl"]


def test_a_copied_record_counts_once(tmp_path):
    put(tmp_path, "r.jsonl", record())
    put(tmp_path, "quantizer/m/r.jsonl", record())
    store = read_store(tmp_path)
    assert (len(store.cells), store.problems) == (1, [])


def test_the_same_cell_of_two_runs_is_kept_twice(tmp_path):
    put(tmp_path, "r.jsonl", record(run="a"), record(run="b"))
    assert len(read_store(tmp_path).cells) == 2


def test_two_records_of_one_cell_in_one_run_are_a_problem(tmp_path):
    put(tmp_path, "r.jsonl", record(), record(metrics={"accuracy": 99.0}))
    store = read_store(tmp_path)
    assert [each.metrics for each in store.cells] == [{}]
    assert store.problems == ["r.jsonl:2: run r has another record of cell c; this one is left out"]


def test_bad_lines_are_counted_and_cost_nothing_else(tmp_path):
    edited = record("c2").text().replace('"seconds":1.0', '"seconds":0.1')
    put(tmp_path, "r.jsonl", record("c1"), '{"type":"cell"', "\n", edited, "\n", record("c3"), "no JSON")
    store = read_store(tmp_path)
    assert [each.cell for each in store.cells] == ["c1", "c3"]
    assert [problem.split(" ")[0] for problem in store.problems] == ["r.jsonl:2:", "r.jsonl:3:", "r.jsonl:6:"]


def test_bytes_that_are_no_text_are_a_problem(tmp_path):
    put(tmp_path, "r.jsonl", record())
    with (tmp_path / "results" / "r.jsonl").open("ab") as file:
        file.write(b"\xff\xfe\n")
    store = read_store(tmp_path)
    assert (len(store.cells), len(store.problems)) == (1, 1)


def test_a_withdrawn_record_does_not_count_wherever_the_withdrawal_stands(tmp_path):
    wrong, right = record("c1").sealed(), record("c2").sealed()
    put(tmp_path, "a.jsonl", VoidLine(record=wrong.hash, reason="wrong data", author="me", at="2026"))
    put(tmp_path, "b.jsonl", wrong, right)
    assert read_store(tmp_path).cells == [right]


def test_the_latest_ok_record_wins_over_any_failure(tmp_path):
    old, new = record(run="a", started="2026-01-01"), record(run="b", started="2026-01-02")
    failed = record(run="c", started="2026-01-03", status="failed")
    put(tmp_path, "r.jsonl", new, failed, old)
    assert read_store(tmp_path).latest()["c"].run == "b"
    put(tmp_path, "r.jsonl", failed, record(run="d", started="2026-01-04", status="timeout"))
    assert read_store(tmp_path).latest()["c"].run == "d"


def test_the_frame_has_a_row_per_record_and_a_column_per_value(tmp_path):
    error = {"phase": "run", "type": "ValueError", "message": "no luck", "tail": []}
    put(
        tmp_path,
        "r.jsonl",
        record("c1", metrics={"accuracy": 81.5}, measurements={"cost_ratio": 2.0, "gap": None}),
        record("c2", status="failed", error=error),
    )
    frame = read_store(tmp_path).frame()
    assert list(frame["cell"]) == ["c1", "c2"]
    row = frame.iloc[0]
    assert (row["task"], row["seed"], row["quantizer"], row["quantizer.version"], row["quantizer.bits"]) == (
        "t",
        0,
        "m",
        "2",
        8,
    )
    assert (row["metric.accuracy"], row["measurement.cost_ratio"]) == (81.5, 2.0)
    assert frame.iloc[1]["error"] == "no luck"
    assert math.isnan(frame.iloc[1]["metric.accuracy"])


def test_a_folder_in_place_of_a_file_is_left_alone(tmp_path):
    (tmp_path / "results" / "odd.jsonl").mkdir(parents=True)
    assert read_store(tmp_path).files == []


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path, monkeypatch):
    from pathlib import Path

    put(tmp_path, "r.jsonl", record())

    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(StoreError, match=r"r\.jsonl cannot be read: Permission denied"):
        read_store(tmp_path)


def test_the_environment_is_the_same_line_for_the_same_surroundings():
    first, second = environment({"p": ["x"]}), environment({"p": ["x"]})
    assert first.hash == second.hash
    assert first.hash != environment({"p": ["y"]}).hash
    env = first.env
    assert env["threads"] == 1
    assert env["packages"]["numpy"]
    assert env["cores"]["logical"] >= 1


def test_the_environment_imports_nothing_heavy():
    import subprocess
    import sys

    code = "import sys; from benchsuite.store.env import environment; environment(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


def test_a_checkout_is_named_by_commit_and_changes(tmp_path):
    import subprocess

    def git(*arguments):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        return subprocess.run(
            ["git", "-C", tmp_path, *identity, *arguments], capture_output=True, text=True, check=True
        )

    assert git_state(tmp_path) is None
    git("init", "-q")
    (tmp_path / "code.py").write_text("1")
    (tmp_path / "leaderboards").mkdir()
    (tmp_path / "leaderboards" / "board.md").write_text("1")
    git("add", ".")
    git("commit", "-qm", "x")
    commit = git("rev-parse", "HEAD").stdout.strip()
    (tmp_path / "leaderboards" / "board.md").write_text("2")
    assert git_state(tmp_path) == {"commit": commit, "dirty": False}
    (tmp_path / "code.py").write_text("2")
    assert git_state(tmp_path) == {"commit": commit, "dirty": True}
