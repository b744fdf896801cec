"""What Slurm is asked for, and what is said of a job that is lost; no Slurm is needed."""

from __future__ import annotations

from importlib.util import find_spec
from types import SimpleNamespace

import benchsuite_slurm
import pytest

pytestmark = pytest.mark.skipif(find_spec("submitit") is None, reason="the extra 'slurm' is not installed")


def test_it_answers_to_its_name_alone():
    assert benchsuite_slurm.benchsuite_executor("local", {}) is None
    assert benchsuite_slurm.benchsuite_executor("slurm", {"jobs": 1, "timeout": None}) is not None


@pytest.fixture
def sbatch(tmp_path, monkeypatch):
    """An sbatch that takes everything: the batch file that submitit writes is the one that Slurm would get."""
    command = tmp_path / "bin" / "sbatch"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\necho Submitted batch job 7\n")
    command.chmod(0o755)
    (tmp_path / "bin" / "srun").symlink_to(command)
    monkeypatch.setenv("PATH", f"{command.parent}:/usr/bin:/bin")
    return tmp_path / "jobs"


def asked(folder, **options):
    from benchsuite_slurm.executor import Options, _executor

    executor = _executor(Options(**options), folder)
    with executor.batch():
        jobs = [executor.submit(print, number) for number in range(3)]
    [path] = folder.glob("*submission_file*.sh")
    lines = [line.removeprefix("#SBATCH --") for line in path.read_text().splitlines() if line.startswith("#SBATCH")]
    return jobs, dict(line.partition("=")[::2] for line in lines)


def test_cells_are_one_array_with_what_a_cell_needs(sbatch):
    jobs, lines = asked(sbatch, timeout=3600, partition="long", account="us", gpus=1, cpus=2, memory=3.5)
    assert [job.job_id for job in jobs] == ["7_0", "7_1", "7_2"]
    assert lines["array"].startswith("0-2")
    assert {lines[name] for name in ("partition", "account")} == {"long", "us"}
    assert (lines["time"], lines["cpus-per-task"], lines["gpus-per-node"]) == ("65", "2", "1")
    assert lines["mem"] in ("3.5GB", "3584MB")


def test_the_time_of_a_job_can_be_named(sbatch):
    assert asked(sbatch, timeout=3600, time=20)[1]["time"] == "20"


@pytest.mark.parametrize(("state", "status"), [("NODE_FAIL", "crashed"), ("OUT_OF_MEMORY", "oom")])
def test_a_lost_job_is_a_record_with_its_number_and_its_last_lines(tmp_path, state, status):
    from benchsuite_slurm.executor import Options, _Array, _Flight

    (tmp_path / "out").write_text(f"Loading {tmp_path}/jobs/7.pkl\ntwo\n")
    paths = SimpleNamespace(stdout=tmp_path / "out", stderr=tmp_path / "absent")
    job = SimpleNamespace(job_id="7_1", state=state, paths=paths)
    array = _Array(Options(cluster="local"), tmp_path)
    outcome = array._gone(_Flight(payload=None, job=job))
    assert (outcome.status, outcome.error.type) == (status, "JobLost")
    assert outcome.error.message == f"job 7_1 ended as {state} and left no answer"
    assert outcome.error.tail == ["Loading jobs/7.pkl", "two"]


def test_a_job_has_ended_where_the_queue_has_it_no_more_and_not_where_slurm_is_silent(tmp_path, monkeypatch):
    from benchsuite_slurm.queue import Queue

    clock = [0.0]
    monkeypatch.setattr("benchsuite_slurm.queue.time.monotonic", lambda: clock[0])
    squeue = tmp_path / "squeue"
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    queue = Queue("slurm")

    def ended(script):
        clock[0] += 6
        squeue.write_text(f"#!/bin/sh\n{script}\n")
        squeue.chmod(0o755)
        return [queue.ended(SimpleNamespace(job_id=job)) for job in ("7_0", "7_1")]

    assert ended("echo 7_1; echo 8") == [True, False]
    assert ended("exit 1") == [False, False]
    assert ended("exit 0") == [True, True]
    queue.submitted()
    assert not queue.ended(SimpleNamespace(job_id="9_0")), "what is known is older than the job"
