"""Runs a plugin's checks: the folder's here, the methods' in a worker process that a hang or a crash cannot outlive.

This module imports no torch; the worker does, once.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import time
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pebble import ProcessExpired, ProcessPool

from benchsuite.errors import ProtocolError
from benchsuite.testing.folder import FOLDER_CHECKS, GATES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from benchsuite.contracts.cards import Kind, MethodCard
    from benchsuite.testing.folder import PluginFolder

#: Seconds that loading torch in a fresh worker may take on a slow disk.
START_SECONDS = 120.0


@dataclass(frozen=True)
class Outcome:
    """How one check ended."""

    subject: str
    """``"folder"``, or the method's name."""
    check: str
    passed: bool
    seconds: float = 0.0
    remark: str = ""
    """What a passed check had to say."""
    found: str = ""
    """What a failed check found and what it wanted."""
    mend: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self)


def run_folder_checks(folder: PluginFolder) -> Iterator[Outcome]:
    """Run the checks of the folder, in this process; they end where the rest cannot be done."""
    for check in FOLDER_CHECKS:
        outcome = _outcome("folder", check, folder)
        yield outcome
        if not outcome.passed and check in GATES:
            return


def run_method_checks(cards: Sequence[MethodCard], search_path: Path | None, limit: float) -> Iterator[Outcome]:
    """Run the checks of each method, in a worker process.

    A check that takes longer than its limit, or whose process dies, has failed; the method's other checks would too,
    and are left out.

    Args:
        cards: the methods.
        search_path: what the worker needs on ``sys.path`` to import them; None where nothing is.
        limit: seconds that one check may take.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPool(1, initializer=_start, initargs=[str(search_path or "")], context=context) as pool:
        try:
            for card in cards:
                yield from _method_outcomes(pool, card, limit)
        except BaseException:  # also a reader of this generator that stops early
            pool.stop()  # type: ignore[no-untyped-call]
            raise


def _method_outcomes(pool: ProcessPool, card: MethodCard, limit: float) -> Iterator[Outcome]:
    names = pool.schedule(_names, args=[card.kind], timeout=START_SECONDS).result()
    for name in names:
        started = time.perf_counter()
        try:
            outcome: Outcome = pool.schedule(_run, args=[card, name], timeout=limit).result()
        except FutureTimeoutError:
            found = f"it did not end within {limit:g} s"
            yield _ended(card, name, started, found, "Make it faster, or allow more with --timeout SECONDS")
            return
        except ProcessExpired as error:
            found = f"the process died with exit code {error.exitcode}"
            yield _ended(card, name, started, found, "Look for os._exit, a fault in native code, or too much memory")
            return
        yield outcome


def _ended(card: MethodCard, name: str, started: float, found: str, mend: str) -> Outcome:
    found = f"{found}; wanted: a check that ends; this method's other checks were left out"
    return Outcome(card.name, name, False, time.perf_counter() - started, found=found, mend=mend)


def _outcome(subject: str, check: Callable[[Any], str | None], specimen: Any) -> Outcome:
    name = check.__name__.replace("_", "-")
    started = time.perf_counter()
    try:
        remark = check(specimen) or ""
    except ProtocolError as error:
        seconds = time.perf_counter() - started
        return Outcome(subject, name, False, seconds, found=error.message, mend=error.mend)
    except Exception as error:  # noqa: BLE001  what a method returns may make a check itself stumble
        seconds = time.perf_counter() - started
        found = f"the check stumbled over what the method returned: {type(error).__name__}: {error}"
        return Outcome(subject, name, False, seconds, found=" ".join(found.split()))
    return Outcome(subject, name, True, time.perf_counter() - started, remark=remark)


# In the worker.

_specimens: dict[str, Any] = {}


def _start(search_path: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a plugin prints must not mix with what programs read
    if search_path:
        sys.path.append(search_path)
    import torch

    torch.set_num_threads(1)


def _names(kind: Kind) -> list[str]:
    from benchsuite.testing.checks import check_name, method_checks

    return [check_name(check) for check in method_checks(kind)]


def _run(card: MethodCard, name: str) -> Outcome:
    from benchsuite.testing.checks import Specimen, check_name, method_checks

    specimen = _specimens.setdefault(card.name, Specimen(card))
    check = next(check for check in method_checks(card.kind) if check_name(check) == name)
    return _outcome(card.name, check, specimen)
