"""A cell is a remote task: Ray places it, and what we know of its end becomes an outcome.

Below the task runs the suite's own worker process, so that what a method does to its process, and how long it takes,
is dealt with on the node. Here only what happens to the node, or to Ray's process on it, is told apart.
"""

from __future__ import annotations

import importlib.util
import logging
import time
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from pydantic import Field

from benchsuite.executors import ExecutorOptions, Post, UsageError, describe, read_answer, stopped
from benchsuite_ray.session import Wanted, session

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from benchsuite.executors import Outcome, Payload, Status

_log = logging.getLogger("benchsuite.executors.ray")

#: Seconds between two looks; Ctrl-C waits no longer.
WATCH = 0.25

#: Seconds that a task has to stop its cell by itself.
GRACE = 5.0

GIB = 1024**3


class Options(ExecutorOptions):
    """What stands in the brackets; the plugin's README says what each means."""

    address: str | None = None
    cpus: float = Field(1.0, gt=0)
    gpus: float = Field(0.0, ge=0)
    memory: float | None = Field(None, gt=0)
    retries: int = Field(3, ge=0)


@dataclass
class _Flight:
    """A cell that was handed to Ray."""

    payload: Payload
    attempt: int = 0
    started: str = field(default_factory=lambda: datetime.now(timezone.utc).isoformat(timespec="microseconds"))
    clock: float = field(default_factory=time.perf_counter)

    def stopped(self, status: Status, kind: str, message: str) -> Outcome:
        """Return the outcome of the cell, which did not live to answer."""
        return stopped(status, kind, message, self.started, time.perf_counter() - self.clock)


class RayExecutor:
    """Runs cells on a Ray cluster, or on a Ray that is started for the run.

    Args:
        options: ``jobs``, ``timeout``, and those of :class:`Options`, as text.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._given = dict(options)

    def check(self) -> None:
        """Say whether it can run here.

        Raises:
            UsageError: Ray is not installed, or an option is wrong.
        """
        if importlib.util.find_spec("ray") is None:
            raise UsageError("executor 'ray' needs Ray, which is not installed", "pip install 'benchsuite[ray]'")
        self.options()

    def options(self) -> Options:
        """Return the options, checked.

        Raises:
            UsageError: one does not exist or has a wrong value.
        """
        return Options.read("ray", self._given)

    def run(self, payloads: Iterable[Payload]) -> Iterator[tuple[Payload, Outcome]]:
        """Yield each payload with what became of it, in the order in which cells finish.

        Raises:
            UsageError: the cluster does not answer, or none of its nodes can ever run a cell.
        """
        options = self.options()
        needed = {"CPU": options.cpus, "GPU": options.gpus, "memory": (options.memory or 0) * GIB}
        with session(options.address, Wanted(options.jobs, needed)) as ray:
            flights = _Flights(ray, options)
            try:
                yield from _drive(iter(payloads), flights, options.jobs)
            finally:
                flights.stop()


def _drive(source: Iterator[Payload], flights: _Flights, jobs: int) -> Iterator[tuple[Payload, Outcome]]:
    while True:
        while len(flights) < jobs and (payload := next(source, None)) is not None:
            flights.start(_Flight(payload))
        if not flights:
            return
        for payload, outcome in flights.finished():
            # What else runs on a node we do not know: of this run nothing, where its cells run one by one.
            yield payload, replace(outcome, alone=jobs == 1)


class _Flights:
    """The cells that Ray has, and what they need."""

    def __init__(self, ray: Any, options: Options) -> None:
        self._ray = ray
        self._options = options
        self._post = Post()
        self._views: dict[Path, Any] = {}
        self._flying: dict[Any, _Flight] = {}
        memory = {} if options.memory is None else {"memory": int(options.memory * GIB)}
        # Ray's own retries make no difference between a node that is lost and a process that died: we do.
        self._task = ray.remote(
            num_cpus=options.cpus, num_gpus=options.gpus, max_retries=0, retry_exceptions=False, **memory
        )(_task())

    def __len__(self) -> int:
        return len(self._flying)

    def start(self, flight: _Flight) -> None:
        """Hand a cell to Ray."""
        view = flight.payload.input.view
        if view not in self._views:
            self._views[view] = self._ray.put(view.read_bytes())
        # In a list, so that Ray does not bring the view where the node has it already.
        reference = self._task.remote(self._post.letter(flight.payload), [self._views[view]], self._options.timeout)
        self._flying[reference] = flight

    def finished(self) -> list[tuple[Payload, Outcome]]:
        """Wait a little and return the cells that have ended; those whose node was lost are started again."""
        ready, _ = self._ray.wait(list(self._flying), num_returns=1, timeout=WATCH, fetch_local=False)
        landed = []
        for reference in ready:
            flight = self._flying.pop(reference)
            outcome = self._land(reference, flight)
            if outcome is None:
                flight.attempt += 1
                self.start(flight)
            else:
                landed.append((flight.payload, outcome))
        return landed

    def _land(self, reference: Any, flight: _Flight) -> Outcome | None:
        """Return what became of a cell, or None where its node was lost and it may be tried again."""
        try:
            return read_answer(self._ray.get(reference))
        except Exception as error:  # noqa: BLE001 - Ray has some thirty classes for what may happen to a task
            failure = error
        known = self._ray.exceptions
        if not isinstance(failure, known.NodeDiedError | known.ObjectLostError):
            return _ended(known, failure, flight)
        if flight.attempt < self._options.retries:
            _log.warning("a node was lost: cell %s is started again", flight.payload.cell)
            return None
        return flight.stopped("crashed", "NodeLost", f"its node was lost, in each of {flight.attempt + 1} attempts")

    def stop(self) -> None:
        """End the cells that still run."""
        left = list(self._flying)
        for reference in left:
            self._ray.cancel(reference, force=False)
        if left:
            _, left = self._ray.wait(left, num_returns=len(left), timeout=GRACE, fetch_local=False)
        for reference in left:
            self._ray.cancel(reference, force=True)
        self._flying.clear()


def _ended(known: Any, failure: Exception, flight: _Flight) -> Outcome:
    """Put into words how a task ended without an answer; ``known`` is Ray's module of exceptions."""
    if isinstance(failure, known.OutOfMemoryError):
        return flight.stopped("oom", "OutOfMemoryError", "Ray ended its process: the node's memory ran out")
    if isinstance(failure, known.WorkerCrashedError):
        return flight.stopped("crashed", "WorkerCrashedError", "the process of Ray around it was killed")
    # The task itself catches what a cell may raise: what comes through is that the node cannot run it.
    cause = getattr(failure, "cause", None)
    told = describe(cause if isinstance(cause, Exception) else failure, "load")
    return replace(flight.stopped("failed", told.type, told.message), error=told)


def _task() -> Any:
    """Return what Ray runs on a node.

    It is defined in a function, so that Ray sends its code: a node can import the suite, but not this plugin.
    """

    def cell(letter: bytes, view: list[Any], timeout: float | None) -> bytes:
        import ray

        from benchsuite.executors import carry_out

        def fetch() -> bytes:
            content: bytes = ray.get(view[0])
            return content

        return carry_out(letter, fetch, timeout)

    return cell
