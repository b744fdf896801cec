"""Run a plan: hand cells to an executor, score what comes back, and record it at once."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Generator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

from benchsuite.engine.failures import impersonal
from benchsuite.engine.handover import fingerprints, make_payload, score
from benchsuite.errors import StoreError
from benchsuite.store.env import environment
from benchsuite.store.records import CellRecord, EndLine, PlanLine, PluginSource
from benchsuite.store.writer import RunWriter, new_run_id, utc_now

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from benchsuite.engine.cells import Cell
    from benchsuite.engine.executors import Executor
    from benchsuite.engine.payload import Outcome, Payload
    from benchsuite.engine.plan import Planned
    from benchsuite.engine.prepare import Ready
    from benchsuite.engine.reporter import Reporter
    from benchsuite.host import Catalogue
    from benchsuite.store.records import EnvLine

End = Literal["finished", "interrupted", "stopped"]


@dataclass(frozen=True)
class Summary:
    """How a run ended."""

    run: str | None
    """None where nothing was to do: then there is no run file."""
    status: End
    planned: int
    """Wanted cells."""
    done_before: int
    counts: Mapping[str, int] = field(default_factory=dict)
    """Cells of this run by status."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Tasks that were left out, with the reason."""

    @property
    def complete(self) -> bool:
        """True where every cell that was asked for now has an ok record."""
        return not self.skipped and self.done_before + self.counts.get("ok", 0) == self.planned


@dataclass(frozen=True)
class Job:
    """Everything that a run needs."""

    ready: Sequence[Ready]
    plan: Sequence[Planned]
    executor: Executor
    catalogue: Catalogue
    out: Path
    cache: Path
    skipped: Mapping[str, str] = field(default_factory=dict)
    command: Sequence[str] = ()


def run(job: Job, reporter: Reporter) -> Summary:
    """Run the cells of a plan that are to do.

    Each record is on the disk before the next cell is started, so that a run may be stopped at any moment, in any way,
    and goes on where it was when the same plan is made again.

    Raises:
        StoreError: the results cannot be written; what was recorded before is kept.
    """
    reporter.planned(job.plan)
    todo = [planned.cell for planned in job.plan if planned.runs]
    done = sum(planned.state == "done" for planned in job.plan)
    if not todo:
        return Summary(None, "finished", len(job.plan), done, skipped=job.skipped)
    with RunWriter(job.out, new_run_id(job.out)) as writer:
        recorder = _Recorder(job, writer, reporter)
        recorder.open(todo)
        status = _execute(job, recorder, todo)
    counts = dict(sorted(recorder.counts.items()))
    summary = Summary(writer.run, status, len(job.plan), done, counts, job.skipped)
    job.catalogue.call("benchsuite_run_finished", summary=asdict(summary))
    return summary


def _execute(job: Job, recorder: _Recorder, todo: Sequence[Cell]) -> End:
    status: End = "finished"
    outcomes = job.executor.run(recorder.payloads(todo))
    try:
        for payload, outcome in outcomes:
            recorder.record(payload, outcome)
    except KeyboardInterrupt:
        status = "interrupted"
    except BaseException:
        # Where the disk is full the end line meets it too.
        with contextlib.suppress(StoreError):
            recorder.close("stopped")
        raise
    finally:
        # A generator that is not exhausted stops its workers when it is closed.
        if isinstance(outcomes, Generator):
            outcomes.close()
    recorder.close(status)
    return status


class _Recorder:
    """Makes payloads of cells and records of outcomes."""

    def __init__(self, job: Job, writer: RunWriter, reporter: Reporter) -> None:
        self.job = job
        self.writer = writer
        self.reporter = reporter
        self.counts: Counter[str] = Counter()
        self._ready = {each.selected.card.name: each for each in job.ready}
        self._running: dict[str, Cell] = {}
        self._sources: dict[str, PluginSource] = {}
        self._env = ""
        self._envs: set[str] = set()

    def open(self, todo: Sequence[Cell]) -> None:
        """Write the lines that come before the cells."""
        provenance = self.job.catalogue.call("benchsuite_environment")
        env = environment({plugin: list(map(str, lines)) for plugin, lines in provenance})
        self._env = self._known(env)
        done = [planned.cell.id for planned in self.job.plan if planned.state == "done"]
        self.writer.append(
            PlanLine(
                run=self.writer.run,
                started=utc_now(),
                command=list(map(impersonal, self.job.command)),
                done=done,
                todo=[cell.id for cell in todo],
                skipped={task: impersonal(reason) for task, reason in self.job.skipped.items()},
            )
        )

    def close(self, status: End) -> None:
        """Write the last line."""
        counts = dict(sorted(self.counts.items()))
        self.writer.append(EndLine(run=self.writer.run, finished=utc_now(), status=status, counts=counts))

    def payloads(self, todo: Sequence[Cell]) -> Iterator[Payload]:
        """Yield the cells' payloads; each is pulled when it is about to start."""
        for cell in todo:
            self._running[cell.id] = cell
            self.job.catalogue.call("benchsuite_cell_started", cell=cell.key())
            self.reporter.started(cell)
            yield make_payload(cell, self._ready[cell.task], self.job.catalogue, self.job.cache)

    def record(self, payload: Payload, outcome: Outcome) -> None:
        """Score an outcome, write its record and tell who wants to know."""
        cell = self._running.pop(payload.cell)
        record = self.writer.append(self._record(cell, outcome))
        self.counts[record.status] += 1
        self.reporter.finished(cell, record)
        self.job.catalogue.call("benchsuite_cell_finished", record=record.model_dump(mode="json", by_alias=True))

    def _record(self, cell: Cell, outcome: Outcome) -> CellRecord:
        status, error = outcome.status, outcome.error
        metrics: dict[str, float] = {}
        if status == "ok":
            metrics, error = score(self._ready[cell.task], cell, outcome)
            status = "ok" if error is None else "failed"
        output = outcome.output
        return CellRecord.model_validate(
            {
                "run": self.writer.run,
                "cell": cell.id,
                "key": cell.key(),
                "status": status,
                "metrics": metrics,
                "measurements": {} if output is None else dict(output.measurements),
                "samples": {} if output is None else dict(output.samples),
                "notes": {**({} if output is None else output.notes), **_attempts(outcome)},
                "outputs": {} if output is None else fingerprints(output),
                "nonfinite": {} if output is None else dict(output.nonfinite),
                "plugins": {kind: self._source(ref.name) for kind, ref in cell.methods.items()},
                "env": self._env if outcome.env is None else self._known(outcome.env),
                "error": error,
                "started": outcome.started,
                "seconds": round(outcome.seconds, 6),
                "alone": outcome.alone,
            }
        )

    def _known(self, env: EnvLine) -> str:
        """Write an environment where it is new, and return its hash."""
        sealed = env.sealed()
        if sealed.hash not in self._envs:
            self._envs.add(self.writer.append(sealed).hash)
        return sealed.hash

    def _source(self, method: str) -> PluginSource:
        if method not in self._sources:
            plugin = self.job.catalogue.plugin_of(method)
            source = plugin.source_hash()
            self._sources[method] = PluginSource(plugin=plugin.name, version=plugin.version, source=source)
        return self._sources[method]


def _attempts(outcome: Outcome) -> dict[str, JsonValue]:
    """Mark a cell that was started more than once."""
    return {"attempts": outcome.attempts} if outcome.attempts > 1 else {}
