"""Downloads of Planetoid's files, through PyTorch Geometric, into the layout that PyTorch Geometric itself reads.

Only its downloader is used: its data set class would unpickle what arrives. Every file is checked against the known
sha256 before it gets its name, so that what lies in the folder is whole however a download ends.
"""

from __future__ import annotations

import hashlib
import logging
import os
import socket
import tempfile
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from ssl import SSLError
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError

from benchsuite.data.checksums import SHA256
from benchsuite.data.planetoid import FACTS, Facts, complete, file_names
from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Progress, one line a file, at level INFO.
log = logging.getLogger(__name__)

#: Seconds without a byte from the server.
PATIENCE = 60.0


def cora(root: Path | None) -> None:
    """Download Cora. Raises as :func:`fetch_planetoid`."""
    fetch_planetoid(FACTS["cora"], root)


def citeseer(root: Path | None) -> None:
    """Download CiteSeer. Raises as :func:`fetch_planetoid`."""
    fetch_planetoid(FACTS["citeseer"], root)


def pubmed(root: Path | None) -> None:
    """Download PubMed. Raises as :func:`fetch_planetoid`."""
    fetch_planetoid(FACTS["pubmed"], root)


def fetch_planetoid(facts: Facts, root: Path | None) -> None:
    """Download what is missing of one data set into ``<root>/Planetoid/<Name>/raw``; nothing if it is whole elsewhere.

    Args:
        facts: which data set.
        root: the data folder; made where it does not exist.

    Raises:
        MissingDataError: no folder is named, it cannot be written, the server cannot be reached, or it sends
            something else than the original files.
    """
    if root is None:
        message = f"data set {facts.name!r} cannot be fetched: BENCHSUITE_DATA is not set"
        raise MissingDataError(message, "Set it to the folder that the files should go to")
    here = complete(facts, root)
    if here is not None and all(sha256(here / name) == SHA256[name] for name in file_names(facts)):
        log.info("%s: all files are in %s already", facts.name, here)
        return
    folder = root / "Planetoid" / facts.folder / "raw"
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root, prefix=".fetch-") as waiting:
            for name in file_names(facts):
                _fetch_file(facts, name, folder, Path(waiting))
    except OSError as error:
        message = f"data set {facts.name!r} cannot be written to {folder} ({error.strerror or error})"
        raise MissingDataError(message, "Set BENCHSUITE_DATA to a folder with room that you may write to") from error
    log.info("%s: all %d files are in %s", facts.name, len(file_names(facts)), folder)


def _fetch_file(facts: Facts, name: str, folder: Path, waiting: Path) -> None:
    if sha256(folder / name) == SHA256[name]:
        log.info("%s: already there", name)
        return
    arrived = _download(facts, name, folder, waiting)
    if sha256(arrived) != SHA256[name]:
        size = arrived.stat().st_size
        message = f"{name} arrived as {size:,} bytes that are not the original file (sha256 differs)"
        raise MissingDataError(message, f"Run the command again, or put the original files into {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    arrived.replace(folder / name)
    log.info("%s: %s bytes", name, f"{(folder / name).stat().st_size:,}")


def _download(facts: Facts, name: str, folder: Path, waiting: Path) -> Path:
    from torch_geometric.data import download_url
    from torch_geometric.datasets import Planetoid

    url = f"{Planetoid.url}/{name}"
    try:
        with _impatient():
            return Path(download_url(url, os.fspath(waiting), log=False))
    except (URLError, HTTPException, TimeoutError, ConnectionError, SSLError) as error:
        reason = f"HTTP {error.code}" if isinstance(error, HTTPError) else getattr(error, "reason", error)
        message = f"data set {facts.name!r} cannot be fetched: {url} is out of reach ({reason})"
        mend = f"Put ind.{facts.name}.* into {folder} by hand, or run on a machine with a network"
        raise MissingDataError(message, f"{mend} (BENCHSUITE_DATA names the root)") from error


@contextmanager
def _impatient() -> Iterator[None]:
    """Give sockets a timeout: PyTorch Geometric's downloader sets none, and would wait forever."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(PATIENCE)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def sha256(path: Path) -> str | None:
    """Return the sha256 of a file (hex), or None where there is no such file."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while chunk := file.read(2**20):
            digest.update(chunk)
    return digest.hexdigest()
