"""A connection to Ray for the time of a run: to a cluster, or to a Ray that is started on loopback and ended."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchsuite.executors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_log = logging.getLogger("benchsuite.executors.ray")

#: Bytes of the object store of a Ray of our own: Ray takes no less than 75 MiB, and views and answers are small.
STORE = 100 * 1024**2

#: Seconds that a cluster's head has to take a connection; Ray itself would try for minutes.
CONNECT = 5.0

#: Read when Ray is imported or started. The first lets a Ray of our own listen on loopback alone (as it does on macOS
#: and Windows, hence the name); the others keep it from reporting to its makers and from talking.
_OWN = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


@dataclass(frozen=True)
class Wanted:
    """What a run asks of a cluster."""

    jobs: int
    """Cells at a time."""
    needed: Mapping[str, float]
    """What one cell reserves, under Ray's names: ``CPU``, ``GPU``, ``memory`` (bytes)."""


@contextlib.contextmanager
def session(address: str | None, wanted: Wanted) -> Iterator[Any]:
    """Connect to Ray, and give the module ``ray``; what was started here is ended afterwards.

    What Ray prints of itself goes to stderr in the meantime.

    Args:
        address: of a cluster; None for ``RAY_ADDRESS`` or, without it, a Ray of our own.
        wanted: what the run asks of it.

    Raises:
        UsageError: the cluster does not answer, or cannot run a cell.
    """
    address = address or os.environ.get("RAY_ADDRESS") or None
    with contextlib.redirect_stdout(sys.stderr), contextlib.ExitStack() as stack:
        if address is None:
            os.environ.update({name: value for name, value in _OWN.items() if name not in os.environ})
        with _handlers_kept():
            import ray

            if not ray.is_initialized():
                stack.enter_context(_own(ray, wanted) if address is None else _cluster(ray, address))
        _feasible(ray, wanted.needed, own=address is None)
        yield ray


@contextlib.contextmanager
def _own(ray: Any, wanted: Wanted) -> Iterator[None]:
    """Start a Ray on loopback with a folder of its own: no other program is to find it, and no log is left."""
    # Not below TMPDIR: the paths of Ray's sockets must stay shorter than 108 bytes.
    folder = tempfile.mkdtemp(prefix="bs-ray-", dir="/tmp" if os.path.isdir("/tmp") else None)  # noqa: PTH112
    cpus = max(os.cpu_count() or 1, math.ceil(wanted.jobs * wanted.needed["CPU"]))
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "include_dashboard": False}
    try:
        ray.init(address="local", num_cpus=cpus, object_store_memory=STORE, _temp_dir=folder, **quiet)
        yield
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _cluster(ray: Any, address: str) -> Iterator[None]:
    _answers(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        cause = " ".join(str(error).split())[:200]
        raise UsageError(
            f"there is no Ray at {address!r}: {cause}", "Name its head in ray[address=HOST:PORT]"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _answers(address: str) -> None:
    """Find out in seconds whether anybody listens; of addresses without a port Ray knows more.

    Raises:
        UsageError: nobody does.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not (colon and port.isdigit()):
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT).close()
    except OSError as error:
        mend = "Start it there with ray start --head, or name its head in ray[address=HOST:PORT]"
        raise UsageError(f"nothing listens at {address!r}: {error.strerror or error}", mend) from error


def _feasible(ray: Any, needed: Mapping[str, float], own: bool) -> None:
    """See that some node could run a cell; Ray would wait for ever. A cluster may grow, so there it is a warning.

    Raises:
        UsageError: no node of our own Ray can.
    """
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if any(all(node.get(name, 0.0) >= amount for name, amount in needed.items()) for node in nodes):
        return
    asked = ", ".join(f"{name}={amount:g}" for name, amount in needed.items() if amount)
    if own:
        raise UsageError(f"this machine cannot give a cell what it reserves: {asked}", "Ask for less in ray[...]")
    _log.warning("no node of the cluster can give a cell what it reserves now (%s): cells wait until one can", asked)


@contextlib.contextmanager
def _handlers_kept() -> Iterator[None]:
    """Undo what Ray does to the handler of SIGTERM: with it a run ends as with Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
