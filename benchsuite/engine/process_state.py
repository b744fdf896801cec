"""The state that all code of a process shares: read it, compare it, put it back.

Of numpy and torch only what is imported is looked at, so that a process which needs neither imports neither.
"""

from __future__ import annotations

import contextlib
import locale
import logging
import os
import random
import signal
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Shared(NamedTuple):
    """One piece of shared state."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]
    default: Any = None
    """What it is when its library is imported, where it is to be that; None where any value will do."""


def _write_environment(value: dict[str, str]) -> None:
    if dict(os.environ) != value:
        os.environ.clear()
        os.environ.update(value)


def _write_filters(value: list[Any]) -> None:
    warnings.resetwarnings()  # also tells the warnings module that its filters changed
    warnings.filters[:] = value  # type: ignore[index]


def _write_path(value: list[str]) -> None:
    sys.path[:] = value


def _folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:  # it was removed
        return ""


def _go(folder: str) -> None:
    with contextlib.suppress(OSError):
        os.chdir(folder or os.sep)


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2)


def _handlers() -> dict[int, Any]:
    return {number: signal.getsignal(number) for number in _SIGNALS}


def _write_handlers(value: dict[int, Any]) -> None:
    if threading.current_thread() is not threading.main_thread():
        return
    for number, handler in value.items():
        if handler is not None and signal.getsignal(number) is not handler:
            signal.signal(number, handler)


def _umask() -> int:
    value = os.umask(0)
    os.umask(value)
    return value


def _logging() -> tuple[int, int, tuple[logging.Handler, ...]]:
    root = logging.getLogger()
    return root.level, root.manager.disable, tuple(root.handlers)


def _write_logging(value: tuple[int, int, tuple[logging.Handler, ...]]) -> None:
    root = logging.getLogger()
    level, disabled, root.handlers[:] = value
    root.setLevel(level)
    logging.disable(disabled)


_PLAIN = (
    Shared("random's state", random.getstate, random.setstate),
    Shared("the working directory", _folder, _go),
    Shared("os.environ", lambda: dict(os.environ), _write_environment),
    Shared("warnings.filters", lambda: list(warnings.filters), _write_filters),
    Shared("sys.path", lambda: list(sys.path), _write_path),
    Shared("the handlers of signals", _handlers, _write_handlers),
    Shared("the recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
    Shared("the locale", lambda: locale.setlocale(locale.LC_ALL), lambda value: locale.setlocale(locale.LC_ALL, value)),
    Shared("the umask", _umask, os.umask),
    Shared("logging's root", _logging, _write_logging),
)


def _of_numpy(numpy: Any) -> tuple[Shared, ...]:
    return (
        Shared("numpy's random state", numpy.random.get_state, numpy.random.set_state),
        Shared("numpy's reaction to errors", numpy.geterr, lambda value: numpy.seterr(**value)),
    )


def _of_torch(torch: Any) -> tuple[Shared, ...]:
    return (
        Shared("torch's random state", torch.random.get_rng_state, torch.random.set_rng_state),
        Shared("torch's default dtype", torch.get_default_dtype, torch.set_default_dtype, torch.float32),
        Shared("torch's default device", torch.get_default_device, torch.set_default_device, torch.device("cpu")),
        Shared("torch's number of threads", torch.get_num_threads, torch.set_num_threads),
        Shared("torch's grad mode", torch.is_grad_enabled, torch.set_grad_enabled, True),
        Shared(
            "torch's deterministic flag",
            torch.are_deterministic_algorithms_enabled,
            torch.use_deterministic_algorithms,
            False,
        ),
        Shared(
            "torch's anomaly mode",
            torch.is_anomaly_enabled,
            lambda value: torch.autograd.set_detect_anomaly(value),
            False,
        ),
        Shared(
            "torch's precision of products",
            torch.get_float32_matmul_precision,
            torch.set_float32_matmul_precision,
            "highest",
        ),
    )


def shared_state() -> tuple[Shared, ...]:
    """Return every piece of shared state that there is in this process."""
    pieces = list(_PLAIN)
    if (numpy := sys.modules.get("numpy")) is not None:
        pieces += _of_numpy(numpy)
    if (torch := sys.modules.get("torch")) is not None:
        pieces += _of_torch(torch)
    return tuple(pieces)


def snapshot() -> dict[str, Any]:
    """Return the value of every piece of shared state by name."""
    return {shared.name: shared.read() for shared in shared_state()}


def restore(before: dict[str, Any]) -> list[str]:
    """Put back what differs from ``before``, and return the names of what differed.

    What is not in ``before``, since its library was imported later, gets its default.
    """
    wanted = [(shared, before.get(shared.name, shared.default)) for shared in shared_state()]
    changed = [(shared, value) for shared, value in wanted if value is not None and not _same(shared.read(), value)]
    for shared, value in changed:
        shared.write(value)
    return [shared.name for shared, _ in changed]


@contextlib.contextmanager
def preserved() -> Iterator[list[str]]:
    """Put all shared state back when the block ends; the list then holds the names of what the block changed."""
    before = snapshot()
    changed: list[str] = []
    try:
        yield changed
    finally:
        changed += restore(before)


def stir(seed: int) -> None:
    """Seed every shared random stream, so that code which draws from one shows it."""
    random.seed(seed)
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(seed)
    if (torch := sys.modules.get("torch")) is not None:
        torch.manual_seed(seed)


def _same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(_same, one, other))
    if hasattr(one, "dtype") and hasattr(one, "shape"):  # an array or a tensor
        return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())
    return bool(one == other)
