"""Small questions about processes, and how to end them."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from benchsuite.store.records import Status


class Death(NamedTuple):
    """How a process ended, in words for a record."""

    status: Status
    type: str
    message: str


def death(exitcode: int, out_of_memory: bool = False) -> Death:
    """Say how a process ended.

    Args:
        exitcode: as :mod:`multiprocessing` gives it: negative for a signal.
        out_of_memory: whether the kernel killed some process for want of memory in the meantime.
    """
    if exitcode >= 0:
        return Death("crashed", "ProcessExit", f"its process ended with exit code {exitcode}")
    name = signal.Signals(-exitcode).name
    if exitcode == -signal.SIGKILL and out_of_memory:
        return Death("oom", name, "the kernel killed its process: memory ran out")
    return Death("crashed", name, f"its process was ended by {name}")


def oom_kills() -> int:
    """Return how many processes the kernel has killed for want of memory; 0 where it does not say."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and was not yet collected does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def descendants(pid: int) -> set[psutil.Process]:
    """Return the processes below ``pid``, Python's own tracker of shared resources left out."""
    if _childless(pid):
        return set()
    with contextlib.suppress(psutil.Error):
        return {each for each in psutil.Process(pid).children(recursive=True) if not _is_tracker(each)}
    return set()


def _childless(pid: int) -> bool:
    """Whether Linux says at once that there is nothing below a process; otherwise all processes must be looked at."""
    try:
        files = list(Path(f"/proc/{pid}/task").glob("*/children"))
        return bool(files) and not any(file.read_text().strip() for file in files)
    except OSError:
        return False


def _is_tracker(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return "multiprocessing.resource_tracker" in " ".join(process.cmdline())
    return False


def kill(processes: Iterable[psutil.Process]) -> None:
    """Kill processes and wait until they are gone; one that was given another's number since is left alone."""
    found = list(processes)
    for process in found:
        with contextlib.suppress(psutil.Error):
            process.kill()
    if found:
        psutil.wait_procs(found, timeout=1)


def kill_group(leader: int) -> None:
    """Kill what is left of a process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


@contextlib.contextmanager
def sigint_blocked() -> Iterator[None]:
    """Block SIGINT in this thread, and for good in the threads and processes that are started inside.

    Ctrl-C then reaches the main thread alone: neither a pool's threads nor a worker that is still starting up.
    """
    before: Any = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
