"""Executors: what turns payloads into outcomes.

An executor pulls the next payload when it is about to start it: whoever hands over the payloads learns from that which
cells run, and nothing waits in a queue while a worker could be stopped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pydantic import BaseModel, ByteSize, ConfigDict, Field, ValidationError

from benchsuite.engine.local import LocalExecutor
from benchsuite.engine.payload import Outcome
from benchsuite.engine.worker import run_cell
from benchsuite.errors import UsageError, near
from benchsuite.store.records import ErrorInfo

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from typing_extensions import Self

    from benchsuite.engine.payload import Payload
    from benchsuite.host import Catalogue
    from benchsuite.store.records import Status

__all__ = [
    "EXECUTORS",
    "Executor",
    "ExecutorOptions",
    "InlineExecutor",
    "LocalExecutor",
    "make_executor",
    "stopped",
]

EXECUTORS = ("local", "inline")

_SPEC = re.compile(r"(?P<name>[^\[\]\s]+)\s*(?:\[(?P<inside>[^\[\]]*)\])?")


@runtime_checkable
class Executor(Protocol):
    """Runs cells somewhere."""

    def run(self, payloads: Iterable[Payload]) -> Iterator[tuple[Payload, Outcome]]:
        """Yield each payload with what became of it, in the order in which cells finish.

        A cell that fails, hangs or kills its process is an outcome, never an exception. Closing the iterator stops
        what still runs.
        """
        ...


class InlineExecutor:
    """Runs cells one by one in this process, for debugging.

    What a method prints goes to the terminal and a debugger may stop in it. There is no time limit and no containment:
    a method that kills its process kills the run.
    """

    def run(self, payloads: Iterable[Payload]) -> Iterator[tuple[Payload, Outcome]]:
        """Yield each payload with what became of it."""
        from dataclasses import replace

        for payload in payloads:
            yield payload, replace(run_cell(payload), alone=True)


class ExecutorOptions(BaseModel):
    """Base of a plugin's executor's options: what stands in the brackets of ``--executor 'NAME[option=value]'``.

    A subclass adds fields. Values arrive as text and are turned into the fields' types.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    jobs: int = 1
    """Cells that may run at the same time."""
    timeout: float | None = None
    """Seconds that a cell may take; None for no limit."""

    @classmethod
    def read(cls, name: str, options: Mapping[str, Any]) -> Self:
        """Return the options of executor ``name``, checked.

        Raises:
            UsageError: one does not exist or has a wrong value.
        """
        try:
            return cls.model_validate(dict(options))
        except ValidationError as error:
            first = error.errors()[0]
            option = ".".join(map(str, first["loc"]))
            known = [each for each in cls.model_fields if each not in ("jobs", "timeout")]
            if first["type"] == "extra_forbidden":
                raise UsageError(f"executor {name!r} has no option {option!r}", near(option, known)) from error
            message = f"executor {name!r} cannot have {option}={first['input']!r}: {first['msg']}"
            raise UsageError(message, f"Its options: {', '.join(known)}") from error


class LocalOptions(ExecutorOptions):
    """Options of the local executor."""

    memory: ByteSize | None = Field(None, ge=2**28)
    """What a worker may allocate, e.g. ``4GiB``; None for no limit. Below 256 MiB nothing can be imported."""


def stopped(status: Status, kind: str, message: str, started: str, seconds: float, tail: Sequence[str] = ()) -> Outcome:
    """Return the outcome of a cell that did not live to answer.

    Args:
        status: what became of it.
        kind: name of what happened, as an exception's class.
        message: one line for the record.
        started: ISO 8601, UTC.
        seconds: from then until it was given up.
        tail: last lines of what it printed.
    """
    error = ErrorInfo(phase="worker", type=kind, message=message, tail=list(tail))
    return Outcome(status, started, seconds, error=error)


def make_executor(spec: str, catalogue: Catalogue, *, jobs: int, timeout: float | None) -> Executor:
    """Return the executor that the user named: one of :data:`EXECUTORS`, or a plugin's.

    A plugin's executor that has a method ``check()`` is asked at once whether it can run here.

    Args:
        spec: ``NAME`` or ``NAME[option=value,...]``.
        catalogue: asked through the hook ``benchsuite_executor``, with ``jobs``, ``timeout`` and what stands in the
            brackets as options.
        jobs: cells that may run at the same time.
        timeout: seconds that a cell may take; None for no limit.

    Raises:
        UsageError: nobody knows the name, two plugins claim it, what a plugin returned cannot run cells, or its
            ``check()`` says no.
    """
    name, given = _taken_apart(spec)
    if name == "inline" and given:
        raise UsageError("executor 'inline' has no options", "Leave the brackets out")
    if name == "inline":
        return InlineExecutor()
    options = {**given, "jobs": jobs, "timeout": timeout}
    if name == "local":
        local = LocalOptions.read(name, options)
        return LocalExecutor(jobs=local.jobs, timeout=local.timeout, memory=local.memory)
    executor = _offered(name, catalogue, options)
    check = getattr(executor, "check", None)
    if callable(check):
        check()
    return executor


def _taken_apart(spec: str) -> tuple[str, dict[str, str]]:
    match = _SPEC.fullmatch(spec.strip())
    if match is None:
        raise UsageError(f"--executor {spec!r} cannot be read", "Write NAME or NAME[option=value,option=value]")
    options: dict[str, str] = {}
    for part in filter(None, map(str.strip, (match["inside"] or "").split(","))):
        option, _, value = (piece.strip() for piece in part.partition("="))
        if not (option and value) or option in {*options, "jobs", "timeout"}:
            mend = "Write each option once, as option=value; --jobs and --timeout are options of the run"
            raise UsageError(f"--executor {spec!r}: {part!r} cannot be read", mend)
        options[option] = value
    return match["name"], options


def _offered(name: str, catalogue: Catalogue, options: dict[str, Any]) -> Executor:
    offers = catalogue.call("benchsuite_executor", name=name, options=options)
    found = {plugin: offer for plugin, offer in offers if offer is not None}
    if not found:
        raise UsageError(f"there is no executor {name!r}", near(name, EXECUTORS))
    if len(found) > 1:
        raise UsageError(
            f"plugins {' and '.join(sorted(found))} both offer executor {name!r}", "Leave one out with -p no:"
        )
    [(plugin, executor)] = found.items()
    if not isinstance(executor, Executor):
        raise UsageError(f"executor {name!r} of plugin {plugin!r} has no method run()", "Tell its author")
    return executor
