"""Cells as jobs: submitit's local executor starts the very processes that Slurm would."""

from __future__ import annotations

import pickle
from pathlib import Path

import psutil
import pytest

from benchsuite.engine.executors import make_executor
from benchsuite.engine.reporter import Silent
from benchsuite.errors import UsageError
from benchsuite.host import HostOptions, load_catalogue

submitit = pytest.importorskip("submitit")


@pytest.fixture
def slurm(engine):
    """Return an engine whose cells are jobs of this machine."""

    def make(options="chunk=50", jobs=4, timeout=20):
        spec = f"slurm[cluster=local,{options}]"
        engine.executor = make_executor(spec, load_catalogue(HostOptions()), jobs=jobs, timeout=timeout)
        return engine

    return make


def folders(engine):
    return list((engine.folder / "cache" / "slurm").iterdir())


@pytest.mark.slow
def test_every_way_to_end_is_a_record(slurm):
    """One run, so that each has the chance to hurt another; its last job is killed as by a node that fails."""
    engine = slurm(jobs=5, timeout=3)
    bad = "toy-bad[how=exit|loop|kill-parent]"
    summary = engine.run(bad, "toy-good[bits=4]", tasks=("toy-one",), seeds=1)
    assert summary.counts == {"crashed": 2, "ok": 2, "timeout": 1}
    assert engine.record("toy-bad", how="exit").error.message == "its process ended with exit code 3"
    assert engine.record("toy-bad", how="loop").error.message == "it ran longer than 3 s"
    assert engine.record("toy-good").metrics == {"accuracy": 50.0}
    assert not any(record.alone for record in engine.records())
    lost = engine.record("toy-bad", how="kill-parent")
    [folder] = folders(engine)
    jobs = {path.name.split("_")[0] for path in (folder / "jobs").glob("*_log.out")}
    assert (lost.status, lost.error.type) == ("crashed", "JobLost")
    assert lost.error.message.split(" ended as ")[0] in {f"job {job}" for job in jobs}
    assert any("submitit" in line for line in lost.error.tail)


@pytest.mark.slow
def test_cells_go_in_arrays_and_never_more_than_jobs_at_a_time(slurm, monkeypatch):
    arrays, held, most = [], set(), 0
    submit = submitit.AutoExecutor.submit
    batch = submitit.AutoExecutor.batch
    monkeypatch.setattr(submitit.AutoExecutor, "batch", lambda self: arrays.append(0) or batch(self))

    def counted(self, *arguments):
        arrays[-1] += 1
        return submit(self, *arguments)

    monkeypatch.setattr(submitit.AutoExecutor, "submit", counted)

    class Counts(Silent):
        def started(self, cell):
            nonlocal most
            held.add(cell.id)
            most = max(most, len(held))

        def finished(self, cell, record):
            held.remove(cell.id)

    engine = slurm("chunk=2", jobs=3)
    assert engine.run("toy-good[bits=4]", tasks=("toy-one",), seeds=3, reporter=Counts()).counts == {"ok": 6}
    assert arrays == [2, 2, 2]
    assert most <= 3
    assert folders(engine) == []


def test_ctrl_c_cancels_the_jobs(slurm):
    class Enough(Silent):
        def finished(self, cell, record):
            raise KeyboardInterrupt

    engine = slurm(jobs=2)
    summary = engine.run("toy-slow[seconds=60]", tasks=("toy-one",), seeds=1, reporter=Enough())
    assert summary.status == "interrupted"
    assert [each for each in psutil.Process().children() if "submitit" in " ".join(each.cmdline())] == []
    assert folders(engine) == []


def test_nothing_that_a_job_wrote_is_unpickled(slurm, monkeypatch):
    """submitit would read a job's result with pickle; an answer of ours is JSON and arrays."""
    read = pickle.load

    def guarded(file, *arguments, **options):
        assert not str(getattr(file, "name", "")).endswith("_result.pkl")
        return read(file, *arguments, **options)

    monkeypatch.setattr(pickle, "load", guarded)
    monkeypatch.setattr("submitit.core.core.Job.result", lambda job: pytest.fail("a result was read"))
    assert slurm().run("toy-reference", tasks=("toy-one",), seeds=1).counts == {"ok": 1}


def test_an_answer_that_makes_no_sense_costs_its_own_cell_alone(slurm, monkeypatch):
    engine = slurm(jobs=1)
    read = Path.read_bytes
    forged = []

    def garbled(path):
        if path.suffix != ".answer" or forged:
            return read(path)
        forged.append(path)
        return read(path)[:-9]

    monkeypatch.setattr(Path, "read_bytes", garbled)
    assert engine.run("toy-good[bits=4]", tasks=("toy-one",), seeds=1).counts == {"crashed": 1, "ok": 1}
    [error] = [record.error for record in engine.records() if record.error]
    assert all(record.alone for record in engine.records() if record.status == "ok")  # jobs=1
    assert (error.phase, error.message) == ("worker", "what a worker sent back is damaged. Run the cell again")


def test_a_folder_that_cannot_be_written_is_one_line(slurm, tmp_path):
    (tmp_path / "file").write_text("")
    engine = slurm(f"folder={tmp_path / 'file' / 'x'}")
    with pytest.raises(UsageError, match=r"the folder .* of executor 'slurm' cannot be written"):
        engine.run("toy-reference", tasks=("toy-one",), seeds=1)
