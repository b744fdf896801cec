"""Worker processes: reuse, isolation, time limits, and every way in which a method may take its process down."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil
import pytest

from benchsuite.engine.executors import LocalExecutor
from benchsuite.engine.local import _drive, _Workers
from benchsuite.engine.processes import alive, death
from benchsuite.engine.reporter import Silent


def workers():
    """Processes below this one that are workers of a pool."""
    return [each for each in psutil.Process().children(recursive=True) if "spawn_main" in " ".join(each.cmdline())]


def statuses(engine):
    return {
        record.key["methods"]["quantizer"]["params"].get("how", "fine"): record.status for record in engine.records()
    }


def test_one_worker_runs_cell_after_cell_in_a_session_of_its_own_on_one_thread(local):
    local.run("toy-good", tasks=("toy-one",))
    notes = [record.notes for record in local.records() if record.notes]
    assert len(notes) == 6
    assert len({each["pid"] for each in notes}) == 1
    assert {each["group"] for each in notes} == {notes[0]["pid"]}
    assert notes[0]["pid"] != os.getpid()
    assert {(each["threads"], each["torch"]) for each in notes} == {("1", False)}
    assert all(record.alone for record in local.records())
    assert workers() == []


def test_every_way_to_fail_costs_its_own_cell_alone(local):
    """One run, so that each misbehaviour has the chance to hurt the next cell."""
    local.executor = LocalExecutor(jobs=1, timeout=2)
    summary = local.run(
        "toy-bad[how=exit|exit-zero|kill|raise|interrupt|loud|loop|infinite]", "toy-good", tasks=("toy-one",), seeds=1
    )
    assert statuses(local) == {
        "exit": "crashed",
        "exit-zero": "crashed",
        "kill": "crashed",
        "raise": "failed",
        "interrupt": "failed",
        "loud": "failed",
        "loop": "timeout",
        "infinite": "ok",
        "fine": "ok",
    }
    assert summary.counts == {"crashed": 3, "failed": 3, "ok": 4, "timeout": 1}
    assert [r.status for r in local.records() if "toy-good" in str(r.key)] == ["ok", "ok"]
    errors = {how: local.record("toy-bad", how=how).error for how in ("exit", "exit-zero", "kill", "loop", "loud")}
    assert errors["exit"].message == "its process ended with exit code 3"
    assert errors["exit"].tail == ["last words"]
    assert errors["exit-zero"].message == "its process ended with exit code 0"
    assert (errors["kill"].type, errors["kill"].phase) == ("SIGSEGV", "worker")
    assert any("Segmentation fault" in line for line in errors["kill"].tail)
    assert errors["loop"].message == "it ran longer than 2 s"
    assert "and one from below Python" in errors["loud"].tail
    assert len(errors["loud"].tail) <= 80
    assert local.record("toy-bad", how="loop").seconds >= 2


class Hasty(LocalExecutor):
    """Hands two cells to one worker, so that the second is taken before the host knows what the first left behind."""

    def run(self, payloads):
        workers = _Workers(1, None, None, self.scratch)
        try:
            yield from _drive(iter(payloads), workers, 2)
        finally:
            workers.stop()


def test_a_worker_with_a_thread_too_many_refuses_the_cell_that_was_queued_for_it(local, tmp_path):
    local.executor = Hasty()
    local.executor.scratch = tmp_path
    summary = local.run("toy-bad[how=thread]", "toy-good", tasks=("toy-one",), seeds=2)
    assert summary.status == "finished"
    assert set(summary.counts) == {"ok"}
    pids = [record.notes["pid"] for record in local.records() if "pid" in record.notes]
    haunted = [local.record("toy-bad", seed=seed).notes["pid"] for seed in (0, 1)]
    assert len(set(haunted)) == 2
    assert all(pids.count(pid) == 1 for pid in haunted)
    assert not any("attempts" in record.notes for record in local.records())


def test_what_a_method_prints_does_not_reach_the_terminal(local, capfd):
    local.run("toy-bad[how=loud]", tasks=("toy-one",), seeds=1)
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")


def test_a_worker_that_dies_between_cells_is_replaced(local):
    """The pool gives up when a worker dies idle: the next cell must not pay for it."""

    class Slow(Silent):
        def finished(self, cell, record):
            if "late" in cell.label:
                time.sleep(0.6)

    summary = local.run("toy-bad[how=late-death]", "toy-good", tasks=("toy-one",), seeds=2, reporter=Slow())
    assert summary.counts == {"ok": 8}


def test_a_worker_that_cannot_start_is_a_crash_and_not_a_hang(local, monkeypatch):
    monkeypatch.setattr("benchsuite.engine.local.initialize", time.strftime)  # refuses the argument it is given
    summary = local.run("toy-reference", tasks=("toy-one",), seeds=1)
    assert summary.counts == {"crashed": 1}
    assert local.record("toy-reference").error.type == "WorkerLost"


def test_processes_that_a_method_started_end_with_its_time(local):
    local.executor = LocalExecutor(jobs=1, timeout=2)
    local.run("toy-bad[how=child]", tasks=("toy-one",), seeds=1)
    assert local.record("toy-bad").status == "timeout"
    child = int((local.folder / "cache" / "child.pid").read_text())
    assert not alive(child)


def test_cells_that_run_together_are_marked(local):
    local.executor = LocalExecutor(jobs=2, timeout=60)
    summary = local.run("toy-good", tasks=("toy-one",), seeds=4)
    assert summary.counts == {"ok": 12}
    assert not any(record.alone for record in local.records()[:6])


def test_a_crash_does_not_disturb_the_cell_beside_it(local):
    local.executor = LocalExecutor(jobs=2, timeout=20)
    local.run("toy-bad[how=exit|exit-zero|kill]", "toy-good", tasks=("toy-one",), seeds=1)
    found = {}
    for record in local.records():
        found.setdefault(record.key["methods"]["quantizer"]["name"], set()).add(record.status)
    assert found == {"toy-bad": {"crashed"}, "toy-good": {"ok"}, "toy-reference": {"ok"}}


def test_closing_the_iterator_stops_the_workers(local):
    class Enough(Silent):
        def finished(self, cell, record):
            raise KeyboardInterrupt

    assert local.run("toy-good", tasks=("toy-one",), reporter=Enough()).status == "interrupted"
    assert workers() == []


def test_a_host_that_is_killed_leaves_no_worker_behind(toy_folder, tmp_path):
    """kill -9 of the host alone: nothing of ours runs to clean up."""
    command = [sys.executable, "-m", "benchsuite.cli.main", "run", "--plugin", "toy-bad[how=loop]", "--task", "toy-one"]
    command += ["--seeds", "1", "--plugin-path", str(toy_folder), "--out", str(tmp_path / "out")]
    environment = {**os.environ, "BENCHSUITE_CACHE": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    host = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    for line in host.stderr:
        if "toy-reference" in line:
            break
    below = psutil.Process(host.pid).children(recursive=True)
    assert below
    host.kill()
    host.wait()
    host.stderr.close()
    _, left = psutil.wait_procs(below, timeout=5)
    assert left == []


@pytest.mark.parametrize(
    ("exitcode", "out_of_memory", "expected"),
    [
        (3, False, ("crashed", "ProcessExit", "its process ended with exit code 3")),
        (-11, False, ("crashed", "SIGSEGV", "its process was ended by SIGSEGV")),
        (-9, False, ("crashed", "SIGKILL", "its process was ended by SIGKILL")),
        (-9, True, ("oom", "SIGKILL", "the kernel killed its process: memory ran out")),
        (-11, True, ("crashed", "SIGSEGV", "its process was ended by SIGSEGV")),
    ],
)
def test_a_death_is_put_into_words(exitcode, out_of_memory, expected):
    assert death(exitcode, out_of_memory) == expected
