"""What runs in a worker process: one cell after another, with everything a method may do to it contained.

Imports no torch itself: what a cell needs is imported by its task.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import importlib.machinery
import importlib.util
import os
import resource
import signal
import sys
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchsuite.engine.failures import describe, printed, status_of
from benchsuite.engine.payload import Outcome, Output, pack
from benchsuite.engine.process_state import preserved
from benchsuite.engine.processes import descendants, kill
from benchsuite.store.env import THREADS
from benchsuite.store.writer import utc_now

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from benchsuite.contracts.task import Task
    from benchsuite.engine.payload import Payload

#: Exit code of a worker that is handed a cell although it must not be used again.
REFUSED = 75

#: Read when numpy and torch are first imported.
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


#: Set in a worker that must not be used again.
_WORN = threading.Event()


def initialize(host: int, memory: int | None = None) -> None:
    """Prepare a fresh worker process: a session of its own, one thread, an end when the host ends.

    Args:
        host: the host's process id.
        memory: bytes that it may allocate; None for no limit.
    """
    # A session of its own: Ctrl-C at the terminal reaches the host alone, and whatever a method starts can be
    # stopped together with the worker.
    os.setsid()
    _die_with(host)
    _adopt_orphans()
    if memory is not None:
        # Of what a process allocates, not of what it maps: models in files and the stacks of threads do not count.
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    faulthandler.enable(file=2, all_threads=False)
    for variable in _THREAD_VARIABLES:
        os.environ[variable] = str(THREADS)


def run_cell(payload: Payload, begun: Callable[[], object] = lambda: None) -> Outcome:
    """Run one cell and return what became of it; raises nothing but KeyboardInterrupt.

    A method's SystemExit is a failure of its cell like any other exception. What it does to the state that all code of
    a process shares is undone.

    Args:
        payload: the cell.
        begun: called when everything is imported, and the method is about to get its job.
    """
    started, clock = utc_now(), time.perf_counter()
    phase = "load"
    try:
        with preserved():
            task = _load_task(payload)
            _load_methods(payload)
            loaded = time.perf_counter()
            phase = "run"
            begun()
            raw = task.run(payload.input)
            ran = time.perf_counter()
            output: Output = pack(raw)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a method may raise anything, and costs its own cell alone
        return Outcome(status_of(error), started, time.perf_counter() - clock, error=describe(error, phase))
    spans = {"load": loaded - clock, "pack": time.perf_counter() - ran}
    return Outcome("ok", started, ran - loaded, output=output, spans=spans)


def run_in_worker(payload: Payload, scratch: Path) -> Outcome:
    """Run one cell in a worker process of the pool.

    Writes the process id to ``<scratch>/<cell>.pid`` and everything that the cell prints to ``<scratch>/<cell>.log``,
    where the host finds both if the process does not live to answer; and ``<scratch>/<cell>.begun`` when the method is
    about to get its job. Processes that the cell leaves behind are killed; threads cannot be, and mark the worker as
    one that is not to be used again. The pool may hand it another cell before the host has heard of that: then it
    writes ``<scratch>/<cell>.refused`` and ends itself.
    """
    (scratch / f"{payload.cell}.pid").write_text(str(os.getpid()))
    if _WORN.is_set():
        (scratch / f"{payload.cell}.refused").touch()
        os._exit(REFUSED)
    log = scratch / f"{payload.cell}.log"
    _print_into(log)
    children, threads = descendants(os.getpid()), set(threading.enumerate())
    try:
        outcome = run_cell(payload, (scratch / f"{payload.cell}.begun").touch)
    except KeyboardInterrupt as error:
        # Ctrl-C does not reach this process, so the method raised it.
        outcome = Outcome("failed", utc_now(), 0.0, error=describe(error, "run"))
    kill(descendants(os.getpid()) - children)
    if any(thread not in threads for thread in threading.enumerate()):
        _WORN.set()
    return replace(_with_tail(outcome, log), worn=_WORN.is_set())


def _load_task(payload: Payload) -> Task:
    for package, folder in payload.packages.items():
        _import_package(package, folder)
    task: Task = _attribute(payload.task.target)(payload.task)
    return task


def _load_methods(payload: Payload) -> None:
    # Here, so that a method that cannot be imported fails as such and no import is timed.
    for method in payload.input.methods.values():
        _attribute(method.target)
    # What needs no torch has not imported it; what does may have done so before the variables were set.
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(THREADS)


def _import_package(package: str, folder: str) -> None:
    """Import ``package`` from ``folder``, whatever else on the path has its name; nothing there shadows a library.

    The folder goes to the end of the path too, for processes that a method may start.
    """
    if folder not in sys.path:
        sys.path.append(folder)
    if package in sys.modules:
        return
    spec = importlib.machinery.PathFinder.find_spec(package, [folder])
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"no module {package!r} in {folder}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[package] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[package]
        raise


def _attribute(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def _with_tail(outcome: Outcome, log: Path) -> Outcome:
    if outcome.error is None:
        return outcome
    _flush()
    return replace(outcome, error=outcome.error.model_copy(update={"tail": [*printed(log), *outcome.error.tail]}))


def _print_into(log: Path) -> None:
    """Send whatever this process prints, at any level, to ``log`` from now on."""
    _flush()
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    _reopen_streams()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # a method may have closed or replaced them
            stream.flush()


def _reopen_streams() -> None:
    """Undo what an earlier cell may have done to the streams, and lose no line when the process dies."""
    sys.stdout = open(1, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115


def _die_with(host: int) -> None:
    """See that this process ends when the host does, however that ends.

    On Linux the kernel sends SIGKILL (``prctl(2)``, PR_SET_PDEATHSIG); elsewhere a thread looks every second.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL, 0, 0, 0)
    else:
        threading.Thread(target=_watch, args=(host,), daemon=True).start()
    if os.getppid() != host:  # it ended before we asked
        os._exit(1)


def _adopt_orphans() -> None:
    """Become the parent of what a method's processes leave behind: they are found below this process then.

    On Linux (``prctl(2)``, PR_SET_CHILD_SUBREAPER); elsewhere a process that cuts itself loose is not found.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(36, 1, 0, 0, 0)


def _watch(host: int) -> None:
    while os.getppid() == host:
        time.sleep(1)
    os.killpg(0, signal.SIGKILL)
