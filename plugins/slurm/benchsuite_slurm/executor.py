"""A cell is a job of an array; submitit brings it to Slurm and knows when it has ended.

What a cell needs and what became of it travel through a folder of ours on the shared file system, as JSON and ``.npy``.
submitit is handed a function's name and three plain values, and we never ask it for the job's result: so nothing that
a worker wrote is unpickled here.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import math
import os
import shutil
import signal
import tempfile
import time
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from benchsuite.executors import (
    ANSWER,
    LETTER,
    VIEWS,
    ExecutorOptions,
    Post,
    UsageError,
    carry_out_filed,
    describe,
    printed,
    read_answer,
    stopped,
)
from benchsuite_slurm.queue import Queue

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from benchsuite.executors import Outcome, Payload

_log = logging.getLogger("benchsuite.executors.slurm")

#: Seconds between two looks at the folder.
WATCH = 0.25

#: Seconds that an answer may take to be seen here after its job has ended: file systems of clusters are not prompt.
GRACE: Mapping[str, float] = {"slurm": 60.0, "local": 2.0}

#: Seconds that jobs have to end after their answers, or after they were cancelled, before their folder goes.
FAREWELL = 10.0

#: Minutes beside the cell's own time: until the job has started Python, and has stopped a cell that took too long.
MARGIN = 5


class Options(ExecutorOptions):
    """What stands in the brackets; the plugin's README says what each means."""

    cluster: Literal["slurm", "local"] = "slurm"
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    time: int | None = Field(None, gt=0)
    memory: float = Field(8.0, gt=0)
    cpus: int = Field(1, gt=0)
    gpus: int = Field(0, ge=0)
    chunk: int = Field(50, gt=0)
    folder: Path | None = None


@dataclass
class _Flight:
    """A cell whose job was submitted."""

    payload: Payload
    job: Any
    started: str = field(default_factory=lambda: datetime.now(timezone.utc).isoformat(timespec="microseconds"))
    clock: float = field(default_factory=time.perf_counter)
    ended: float | None = None
    """When its job was seen to have ended, on the same clock."""


class SlurmExecutor:
    """Runs cells as array jobs.

    Args:
        options: ``jobs``, ``timeout``, and those of :class:`Options`, as text.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._given = dict(options)

    def check(self) -> None:
        """Say whether it can run here.

        Raises:
            UsageError: submitit or Slurm's commands are not installed, or an option is wrong.
        """
        if importlib.util.find_spec("submitit") is None:
            raise UsageError(
                "executor 'slurm' needs submitit, which is not installed", "pip install 'benchsuite[slurm]'"
            )
        if self.options().cluster == "slurm" and shutil.which("sbatch") is None:
            mend = "Run it where sbatch is; slurm[cluster=local] tries the same on this machine"
            raise UsageError("executor 'slurm' finds no Slurm here: there is no command sbatch", mend)

    def options(self) -> Options:
        """Return the options, checked.

        Raises:
            UsageError: one does not exist or has a wrong value.
        """
        return Options.read("slurm", self._given)

    def run(self, payloads: Iterable[Payload]) -> Iterator[tuple[Payload, Outcome]]:
        """Yield each payload with what became of it, in the order in which cells are seen to finish.

        Raises:
            UsageError: Slurm refuses the jobs.
        """
        options = self.options()
        source = iter(payloads)
        first = next(source, None)
        if first is None:
            return
        array = _Array(options, _folder(options, first))
        try:
            yield from _drive(_chain(first, source), array, options)
        finally:
            array.stop()


def _chain(first: Payload, rest: Iterator[Payload]) -> Iterator[Payload]:
    yield first
    yield from rest


def _folder(options: Options, payload: Payload) -> Path:
    parent = options.folder or payload.input.cache / "slurm"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="run-", dir=parent))
    except OSError as error:
        message = f"the folder {parent} of executor 'slurm' cannot be written: {error.strerror}"
        raise UsageError(message, "Name one that all nodes share in slurm[folder=...]") from error


def _drive(source: Iterator[Payload], array: _Array, options: Options) -> Iterator[tuple[Payload, Outcome]]:
    """Keep up to ``jobs`` cells with Slurm; submit as soon as a whole array has room, and not one by one."""
    chunk = min(options.chunk, options.jobs)
    while True:
        while options.jobs - len(array) >= chunk and (cells := list(islice(source, chunk))):
            array.submit(cells)
        if not array:
            return
        for payload, outcome in array.finished():
            # What else runs on a node we do not know: of this run nothing, where its cells run one by one.
            yield payload, replace(outcome, alone=options.jobs == 1)


class _Array:
    """The jobs that Slurm has, and their folder."""

    def __init__(self, options: Options, folder: Path) -> None:
        self._options = options
        self._folder = folder
        self._post = Post()
        self._flying: dict[str, _Flight] = {}
        self._ending: list[Any] = []
        self._lost = False
        (folder / VIEWS).mkdir()
        self._executor = _executor(options, folder / "jobs")
        self._queue = Queue(options.cluster)

    def __len__(self) -> int:
        return len(self._flying)

    def submit(self, payloads: list[Payload]) -> None:
        """Submit cells as one array.

        Raises:
            UsageError: Slurm refuses it.
        """
        for payload in payloads:
            self._write(payload)
        try:
            with self._executor.batch():
                jobs = [
                    self._executor.submit(carry_out_filed, str(self._folder), payload.cell, self._options.timeout)
                    for payload in payloads
                ]
        except Exception as error:
            cause = " ".join(str(error).split())[:300]
            raise UsageError(f"Slurm does not take the jobs: {cause}", "Mend the options in slurm[...]") from error
        self._queue.submitted()
        self._flying.update({p.cell: _Flight(p, job) for p, job in zip(payloads, jobs, strict=True)})

    def finished(self) -> list[tuple[Payload, Outcome]]:
        """Wait a little and return the cells that have ended."""
        time.sleep(WATCH)
        landed = [(flight, self._land(flight)) for flight in self._flying.values()]
        ended = [(flight.payload, outcome) for flight, outcome in landed if outcome is not None]
        self._ending += [self._flying.pop(payload.cell).job for payload, _ in ended]
        self._see_off()
        return ended

    def stop(self) -> None:
        """Cancel the jobs that still run and remove the folder; where a job was lost, its logs are kept."""
        for flight in self._flying.values():
            self._cancel(flight.job)
            self._ending.append(flight.job)
        self._flying.clear()
        until = time.perf_counter() + FAREWELL
        while self._see_off() and time.perf_counter() < until:
            time.sleep(WATCH / 5)
        if self._lost:
            _log.warning("a job was lost: letters and logs are kept in %s", self._folder)
        else:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _cancel(self, job: Any) -> None:
        job.cancel(check=False)
        if self._options.cluster == "local":
            # submitit sends a Ctrl-C, which a process that was started in the background does not hear.
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(job.job_id), signal.SIGKILL)

    def _see_off(self) -> bool:
        """Forget the jobs that have ended; return whether there are others."""
        self._ending = [job for job in self._ending if not self._queue.ended(job)]
        return bool(self._ending)

    def _write(self, payload: Payload) -> None:
        view = self._folder / VIEWS / self._post.digest(payload.input.view)
        if not view.exists():
            shutil.copyfile(payload.input.view, view)
        (self._folder / f"{payload.cell}{ANSWER}").unlink(missing_ok=True)
        (self._folder / f"{payload.cell}{LETTER}").write_bytes(self._post.letter(payload))

    def _land(self, flight: _Flight) -> Outcome | None:
        """Return what became of a cell, or None where that is not known yet."""
        answer = self._folder / f"{flight.payload.cell}{ANSWER}"
        if answer.exists():
            return self._read(answer, flight)
        if not self._queue.ended(flight.job):
            return None
        now = time.perf_counter()
        flight.ended = flight.ended or now
        return None if now - flight.ended < GRACE[self._options.cluster] else self._gone(flight)

    def _read(self, answer: Path, flight: _Flight) -> Outcome:
        try:
            return read_answer(answer.read_bytes())
        except Exception as error:  # noqa: BLE001 - what a worker wrote may be anything, and costs its own cell alone
            kind, seconds = type(error).__name__, time.perf_counter() - flight.clock
            return replace(stopped("crashed", kind, "", flight.started, seconds), error=describe(error, "worker"))

    def _gone(self, flight: _Flight) -> Outcome:
        self._lost = True
        job = flight.job
        message = f"job {job.job_id} ended as {job.state} and left no answer"
        lines = [*printed(job.paths.stdout), *printed(job.paths.stderr)][-40:]
        # Records are shared, and where the folder lies is nobody's business.
        tail = [line.replace(f"{self._folder}{os.sep}", "") for line in lines]
        status: Any = "oom" if "OUT_OF_ME" in str(job.state) else "crashed"
        return stopped(status, "JobLost", message, flight.started, time.perf_counter() - flight.clock, tail)


def _executor(options: Options, folder: Path) -> Any:
    import submitit

    # It warns where Slurm keeps no accounts, which we do not need but for the name of a lost job's state.
    logging.getLogger("submitit").setLevel(logging.ERROR)
    executor = submitit.AutoExecutor(folder=folder, cluster=options.cluster)
    seconds = options.timeout or 0.0
    minutes = options.time or math.ceil(seconds / 60) + MARGIN
    texts = {name: getattr(options, name) for name in ("partition", "account", "qos", "constraint")}
    executor.update_parameters(
        name="benchsuite",
        timeout_min=minutes,
        mem_gb=options.memory,
        cpus_per_task=options.cpus,
        gpus_per_node=options.gpus,
        tasks_per_node=1,
        nodes=1,
        **{f"slurm_{name}": value for name, value in texts.items() if value is not None},
    )
    return executor
