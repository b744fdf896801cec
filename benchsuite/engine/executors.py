"""Executors: what turns payloads into outcomes.

An executor pulls the next payload when it is about to start it: whoever hands over the payloads learns from that which
cells run, and nothing waits in a queue while a worker could be stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from benchsuite.engine.local import LocalExecutor
from benchsuite.engine.worker import run_cell
from benchsuite.errors import UsageError, near

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from benchsuite.engine.payload import Outcome, Payload
    from benchsuite.host import Catalogue

__all__ = ["EXECUTORS", "Executor", "InlineExecutor", "LocalExecutor", "make_executor"]

EXECUTORS = ("local", "inline")


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


def make_executor(name: str, catalogue: Catalogue, *, jobs: int, timeout: float | None) -> Executor:
    """Return the executor called ``name``: one of :data:`EXECUTORS`, or a plugin's.

    Args:
        name: what the user named.
        catalogue: asked through the hook ``benchsuite_executor``, with ``jobs`` and ``timeout`` as options.
        jobs: cells that may run at the same time.
        timeout: seconds that a cell may take; None for no limit.

    Raises:
        UsageError: nobody knows the name, two plugins claim it, or what a plugin returned cannot run cells.
    """
    if name == "local":
        return LocalExecutor(jobs=jobs, timeout=timeout)
    if name == "inline":
        return InlineExecutor()
    options: dict[str, Any] = {"jobs": jobs, "timeout": timeout}
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
