"""The writer: what is on the disk after each append, and after each way to fail."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from benchsuite.errors import StoreError
from benchsuite.store import RunWriter, new_run_id, read_store, utc_now
from benchsuite.store.records import CellRecord, EnvLine, VoidLine


def record(seed=0, run="r", **changes):
    key = {"task": "t", "task_version": "1", "config": "c", "data": "d", "protocol": "p/1", "device": "cpu"}
    key |= {"seed": seed, "methods": {"quantizer": {"name": "m", "version": "1", "params": {}}}}
    fields = {"run": run, "cell": f"c{seed}", "key": key, "status": "ok", "env": "e", "started": f"2026-01-0{seed + 1}"}
    return CellRecord.model_validate({**fields, "seconds": 1.0, "alone": True, **changes})


def test_each_line_is_in_the_file_when_append_returns(tmp_path):
    with RunWriter(tmp_path, "r") as writer:
        for seed in range(3):
            sealed = writer.append(record(seed))
            assert writer.path.read_text().splitlines()[seed] == sealed.text().rstrip("\n")
    assert writer.path == tmp_path / "results" / "r.jsonl"


def test_an_existing_file_is_continued(tmp_path):
    for seed in range(2):
        with RunWriter(tmp_path, "r") as writer:
            writer.append(record(seed))
    assert len(read_store(tmp_path).cells) == 2


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_torn_tail_costs_its_own_line_alone(tmp_path, cut):
    with RunWriter(tmp_path, "r") as writer:
        writer.append(record(0))
        writer.append(record(1))
    os.truncate(writer.path, writer.path.stat().st_size - cut)
    with RunWriter(tmp_path, "r") as writer:
        writer.append(record(2))
    store = read_store(tmp_path)
    torn = 0 if cut == 1 else 1  # without its newline alone a line is whole
    assert [each.key["seed"] for each in store.cells] == ([0, 1, 2] if not torn else [0, 2])
    assert len(store.problems) == torn
    assert all(problem.startswith("r.jsonl:2: it is no record") for problem in store.problems)


def test_a_run_has_one_writer(tmp_path):
    with RunWriter(tmp_path, "r"), pytest.raises(StoreError, match="another process writes the run file"):
        RunWriter(tmp_path, "r")
    RunWriter(tmp_path, "r").close()


def test_a_folder_that_cannot_be_made_is_one_line_with_the_mend(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot be written: Not a directory\. Name a folder .* --out"):
        RunWriter(tmp_path / "file", "r")


def test_a_read_only_folder_is_one_line_with_the_mend(tmp_path):
    (tmp_path / "results").mkdir(mode=0o555)
    code = "import os, pathlib, sys\nfrom benchsuite.store import RunWriter\n"
    if os.geteuid() == 0:  # nothing is read-only to root
        code += "os.chmod(sys.argv[1], 0o755); os.setuid(65534)\n"
    parents = [path for path in tmp_path.parents if path.owner() == tmp_path.owner() and path != path.parent]
    for path in [tmp_path, *parents[:2]]:
        path.chmod(0o755)
    code += "RunWriter(pathlib.Path(sys.argv[1]), 'r')"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert "StoreError" in done.stderr
    assert "cannot be written: Permission denied. Name a folder that you may write with --out" in done.stderr


FULL = """
    import pathlib, resource, sys
    sys.path.insert(0, sys.argv[2])
    from benchsuite.errors import StoreError
    from benchsuite.store import RunWriter
    from test_writer import record
    writer = RunWriter(pathlib.Path(sys.argv[1]), "r")
    writer.append(record(0))
    room = writer.path.stat().st_size + 100
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    try:
        writer.append(record(1))
    except StoreError as error:
        print(error)
"""


def test_a_full_disk_tears_nothing_and_says_what_to_do(tmp_path):
    """A limit on the file's size fails as a full disk does: after a part of the line was written."""
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", textwrap.dedent(FULL), str(tmp_path), here]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "cannot be written: File too large. Make room and give the same command again" in done.stdout
    store = read_store(tmp_path)
    assert (len(store.cells), store.problems) == (1, [])
    assert (tmp_path / "results" / "r.jsonl").read_bytes().endswith(b"}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_no_space_left_is_a_store_error(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "r.jsonl").symlink_to("/dev/full")
    with RunWriter(tmp_path, "r") as writer, pytest.raises(StoreError, match=r"No space left on device\. Make room"):
        writer.append(record())


def test_a_tail_that_is_torn_while_the_file_is_open_is_closed_before_the_next_line(tmp_path):
    with RunWriter(tmp_path, "r") as writer:
        writer.append(record(0))
        with writer.path.open("a") as other:
            other.write('{"type":"ce')
        writer.append(record(1))
    assert [each.key["seed"] for each in read_store(tmp_path).cells] == [0, 1]


def test_run_ids_are_unique_sortable_and_say_no_host_name():
    ids = {new_run_id() for _ in range(50)}
    assert len(ids) == 50
    assert all(len(each) == 30 and each[:8].isdigit() and each.isascii() for each in ids)
    assert not any(platform.node() in each for each in ids)


def test_times_sort_as_texts():
    first, second = utc_now(), utc_now()
    assert first <= second
    assert first.endswith("+00:00")


def test_the_environment_and_a_withdrawal_are_lines_like_others(tmp_path):
    with RunWriter(tmp_path, "r") as writer:
        env = writer.append(EnvLine(env={"python": "3.11"}))
        wrong = writer.append(record(0, env=env.hash))
        kept = writer.append(record(1, env=env.hash))
        writer.append(VoidLine(record=wrong.hash, reason="wrong data", author="me", at=utc_now()))
    store = read_store(tmp_path)
    assert store.cells == [kept]
    assert store.envs == {env.hash: {"python": "3.11"}}
