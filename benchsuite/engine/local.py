"""The local executor: a pool of spawned worker processes that are reused from cell to cell.

pebble's pool gives reuse, time limits and notice of a worker's death. What it leaves open is closed here:

* a worker that ends with exit code 0 in the middle of a cell is not reported by the pool: the watch finds it;
* a worker that dies between cells breaks the whole pool: it is replaced, and what was running is started again;
* processes that a method started outlive their worker: the whole process group is killed;
* a method that prints for ever would fill the disk: its log is cut.

Pebble sends results as pickles, from a process that runs a method's code. An :class:`Outcome` holds plain data only,
so nothing of a method is imported in the host by an honest worker; a hostile method is not kept out, it runs with the
user's own rights anyway.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, TimeoutError, wait
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pebble import CONSTS, ProcessExpired, ProcessPool

from benchsuite.engine.failures import printed
from benchsuite.engine.payload import Outcome
from benchsuite.engine.processes import (
    Death,
    alive,
    death,
    descendants,
    kill,
    kill_group,
    oom_kills,
    sigint_blocked,
)
from benchsuite.engine.worker import initialize, run_in_worker
from benchsuite.store.records import ErrorInfo
from benchsuite.store.writer import utc_now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import psutil

    from benchsuite.engine.payload import Payload

#: Seconds between two looks at the workers.
WATCH = 0.25

#: Seconds between two looks at the processes below them.
KIN = 1.0

#: Seconds that a worker has after SIGTERM to end by itself; then it is killed.
GRACE = 10.0
CONSTS.term_timeout = GRACE

#: Bytes of printed text after which a log starts anew.
LONGEST_LOG = 8 * 1024 * 1024

#: How often a cell is started where its worker was lost before it could do anything.
ATTEMPTS = 3


@dataclass
class _Flight:
    """A cell that is running."""

    payload: Payload
    attempt: int = 1
    alone: bool = True
    started: str = field(default_factory=utc_now)
    clock: float = field(default_factory=time.perf_counter)
    oom_kills: int = field(default_factory=oom_kills)
    missed: bool = False
    """Its worker was gone at the last look."""
    kin: set[psutil.Process] = field(default_factory=set)
    """What was seen below its worker: a process that cut itself loose outlives the worker's group."""
    looked: float = 0.0
    """When that was, by the clock."""
    again: int = 0
    """Number of the attempt that it is worth: the next where it ended before its first step, the same where a worn
    worker refused it. 0 for none."""


class LocalExecutor:
    """Runs cells in worker processes on this machine.

    Args:
        jobs: number of workers.
        timeout: seconds that a cell may take, imports included; None for no limit.
        memory: bytes that a worker may allocate; None for no limit.
    """

    def __init__(self, jobs: int = 1, timeout: float | None = None, memory: int | None = None) -> None:
        self.jobs = jobs
        self.timeout = timeout
        self.memory = memory

    def run(self, payloads: Iterable[Payload]) -> Iterator[tuple[Payload, Outcome]]:
        """Yield each payload with what became of it, in the order in which cells finish."""
        scratch = Path(tempfile.mkdtemp(prefix="benchsuite-"))
        workers = _Workers(self.jobs, self.timeout, self.memory, scratch)
        try:
            yield from _drive(iter(payloads), workers, self.jobs)
        finally:
            workers.stop()
            shutil.rmtree(scratch, ignore_errors=True)


def _drive(source: Iterator[Payload], workers: _Workers, jobs: int) -> Iterator[tuple[Payload, Outcome]]:
    while True:
        while workers.ready and len(workers.flights) < jobs and (payload := next(source, None)) is not None:
            workers.start(_Flight(payload))
        if not workers.flights:
            return
        yield from workers.finished()


class _Workers:
    """The pool and the cells that are running in it."""

    def __init__(self, jobs: int, timeout: float | None, memory: int | None, scratch: Path) -> None:
        self.jobs = jobs
        self.timeout = timeout
        self.memory = memory
        self.scratch = scratch
        self.flights: dict[Future[Outcome], _Flight] = {}
        self._groups: set[int] = set()
        self._worn = False
        self._pool = self._new_pool()

    def start(self, flight: _Flight) -> None:
        """Hand a cell to the pool."""
        for other in self.flights.values():
            flight.alone = other.alone = False
        for suffix in ("pid", "begun", "refused"):
            self._file(flight, suffix).unlink(missing_ok=True)
        try:
            future = self._schedule(flight.payload)
        except RuntimeError as error:  # a worker died since the last cell, and pebble gave the pool up
            future = Future()
            future.set_exception(error)
        self.flights[future] = flight

    def finished(self) -> list[tuple[Payload, Outcome]]:
        """Wait a little and return the cells that have ended since the last call."""
        done, _ = wait(self.flights, timeout=WATCH, return_when=FIRST_COMPLETED)
        ended = [self._land(future) for future in done]
        landed = [(flight.payload, outcome) for flight, outcome in ended if outcome is not None]
        lost = [flight for flight, outcome in ended if outcome is None and not flight.again]
        self._retry(flight for flight, _ in ended if flight.again)
        if lost or not self._pool.active:
            return landed + self._start_again(lost)
        self._cut_logs()
        self._look_below()
        return landed + self._vanished()

    def stop(self) -> None:
        """End all workers and whatever they started."""
        self._groups.update(filter(None, map(self._pid, self.flights.values())))
        self._pool.stop()
        for pid in self._groups:
            kill_group(pid)
        self._groups.clear()
        self._pool.join()

    @property
    def ready(self) -> bool:
        """Whether a cell may be started: not while others still run beside a worker that is worn."""
        if self._worn and not self.flights:
            self.stop()
            self._pool, self._worn = self._new_pool(), False
        return not self._worn

    def _new_pool(self) -> Any:
        arguments = (os.getpid(), self.memory)
        return ProcessPool(self.jobs, initializer=initialize, initargs=arguments, context=get_context("spawn"))

    def _schedule(self, payload: Payload) -> Future[Outcome]:
        with sigint_blocked():
            future: Future[Outcome] = self._pool.schedule(run_in_worker, (payload, self.scratch), timeout=self.timeout)
        return future

    def _land(self, future: Future[Outcome]) -> tuple[_Flight, Outcome | None]:
        """Take a cell that has ended off the list; its outcome is None where it is to be started again."""
        flight = self.flights.pop(future)
        pid = self._pid(flight)
        if pid is not None:
            self._groups.add(pid)
        try:
            outcome = future.result()
            self._worn |= outcome.worn
            return flight, replace(outcome, alone=flight.alone, attempts=flight.attempt)
        except TimeoutError:
            end = Death("timeout", "Timeout", f"it ran longer than {self.timeout:g} s")
        except ProcessExpired as error:
            end = death(error.exitcode, oom_kills() > flight.oom_kills)
        except CancelledError:
            end = death(0)
        except Exception:  # noqa: BLE001 - pebble says RuntimeError or BrokenProcessPool, and may change its mind
            return flight, None
        if pid is not None:
            kill_group(pid)
        kill(flight.kin)
        if self._file(flight, "refused").exists():
            flight.again = flight.attempt
            return flight, None
        if end.status == "crashed" and flight.attempt == 1 and not self._file(flight, "begun").exists():
            # Before the method had its job: the machine may be to blame, and nothing was done yet.
            flight.again = flight.attempt + 1
            return flight, None
        return flight, self._stopped(flight, end)

    def _stopped(self, flight: _Flight, end: Death) -> Outcome:
        tail = printed(self._file(flight, "log"))
        error = ErrorInfo(phase="worker", type=end.type, message=end.message, tail=tail)
        seconds = time.perf_counter() - flight.clock
        return Outcome(end.status, flight.started, seconds, error=error, alone=flight.alone, attempts=flight.attempt)

    def _start_again(self, lost: list[_Flight]) -> list[tuple[Payload, Outcome]]:
        """Replace a broken pool and start what was running again; return the cells for which that is no use."""
        running = [*lost, *self.flights.values()]
        self.stop()
        self.flights.clear()
        self._pool = self._new_pool()
        for flight in running:
            if flight.attempt < ATTEMPTS:
                self.start(_Flight(flight.payload, flight.attempt + 1))
        end = Death("crashed", "WorkerLost", f"its worker could not be kept alive in {ATTEMPTS} attempts")
        return [(each.payload, self._stopped(each, end)) for each in running if each.attempt >= ATTEMPTS]

    def _vanished(self) -> list[tuple[Payload, Outcome]]:
        """Return cells whose worker ended with exit code 0: the pool would wait for them until their time is up."""
        ended = []
        for future, flight in list(self.flights.items()):
            pid = self._pid(flight)
            gone = pid is not None and not alive(pid)
            # Twice, since the pool may be about to tell us by itself.
            if gone and flight.missed and future.cancel():
                _, outcome = self._land(future)
                ended += [(flight.payload, outcome)] if outcome is not None else []
                self._retry([flight] if flight.again else [])
            flight.missed = gone
        return ended

    def _retry(self, flights: Iterable[_Flight]) -> None:
        for flight in flights:
            self.start(_Flight(flight.payload, flight.again))

    def _look_below(self) -> None:
        """Remember what cells have started."""
        now = time.perf_counter()
        for flight in self.flights.values():
            pid = self._pid(flight)
            if pid is not None and now - flight.looked >= KIN:
                flight.looked, flight.kin = now, flight.kin | descendants(pid)

    def _cut_logs(self) -> None:
        for flight in self.flights.values():
            log = self._file(flight, "log")
            with contextlib.suppress(OSError):
                if log.stat().st_size > LONGEST_LOG:
                    os.truncate(log, 0)

    def _file(self, flight: _Flight, suffix: str) -> Path:
        return self.scratch / f"{flight.payload.cell}.{suffix}"

    def _pid(self, flight: _Flight) -> int | None:
        with contextlib.suppress(OSError, ValueError):
            return int(self._file(flight, "pid").read_text())
        return None
