"""Downloads of data sets into the data folder: whole and checked, or not there.

Most are described by their card (:func:`fetch`). Planetoid's eight files are checked one by one against the known
sha256, so that what lies in its folder is whole however a download ends, and a damaged file alone is fetched again.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from benchsuite.contracts.cards import Download
from benchsuite.data import presence
from benchsuite.data.checksums import SHA256
from benchsuite.data.download import PATIENCE, Order, download, sha256
from benchsuite.data.planetoid import FACTS, Facts, complete, file_names
from benchsuite.errors import MissingDataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchsuite.contracts.cards import DatasetCard
    from benchsuite.data.download import Meter

__all__ = ["citeseer", "cora", "fetch", "fetch_planetoid", "pubmed", "sha256"]

#: Progress, one line a file, at level INFO.
log = logging.getLogger(__name__)

_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")


def fetch(card: DatasetCard, root: Path | None, meter: Meter | None = None, force: bool = False) -> None:
    """Download what a card names into its folder, and read it there before it gets that name.

    What arrived of a download that broke off waits in ``<root>/.incoming/<name>``, and the next call goes on from it.

    Args:
        card: with ``downloads``.
        root: the data folder; made where it does not exist.
        meter: told how each download goes.
        force: do so where the data set is there already, and replace it.

    Raises:
        MissingDataError: no folder is named, it cannot be written, the server cannot be reached, or it sends something
            else than the data set.
        UsageError: its folder is there, but is not the whole data set.
        StoreError: the data folder cannot be written, or its disk has no room.
    """
    from benchsuite.archives import open_source
    from benchsuite.data.importing import bring, lacking, recognise

    with _alone(card.name, root, card.folder) as (data, waiting):
        folder = data / card.folder
        here = presence.find(card, data)
        if here is not None and not force:
            log.info("%s: is in %s already", card.name, here.place)
            return
        if folder.exists() and not force:
            raise UsageError(f"{folder} is there, and is not the whole {card.name}", "Replace it with --force")
        files = [each.file for each in card.downloads]
        import_it = f"Bring {files[0]} by hand (benchsuite data import {files[0]}, or unpack it into {folder})"
        order = Order(card.name, import_it if _packed(files) else f"Put {', '.join(files)} into {folder} by hand")
        arrived = [download(each, waiting, order, meter, PATIENCE) for each in card.downloads]
        try:
            with open_source(arrived[0] if _packed(files) else waiting) as source:
                found = recognise(source, [card])
                if found is None:
                    raise lacking(source, [card]) or MissingDataError(f"{source.path.name} is not {card.name}")
                bring(source, found, data, force)
        except MissingDataError:
            _drop(arrived)  # the next call gets them again
            raise
        _drop(arrived)
        log.info("%s: is in %s", card.name, folder)


def _drop(files: list[Path]) -> None:
    for file in files:
        file.unlink()


def _packed(files: list[str]) -> bool:
    return files[0].lower().endswith(_ARCHIVES)


@contextmanager
def _alone(name: str, root: Path | None, folder: str) -> Iterator[tuple[Path, Path]]:
    """Give the data folder and a folder in it for what arrives; whoever else fetches the data set waits meanwhile.

    The second is kept where there is something in it.

    Raises:
        MissingDataError: no folder is named, or it cannot be written.
    """
    import filelock

    if root is None:
        message = f"data set {name!r} cannot be fetched: BENCHSUITE_DATA is not set"
        raise MissingDataError(message, "Set it to the folder that the files should go to")
    waiting = root / ".incoming" / name
    lock = filelock.FileLock(root / f".{name}.lock")
    try:
        root.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            log.info("%s: another process fetches it; waiting for that", name)
            lock.acquire()
        try:
            waiting.mkdir(parents=True, exist_ok=True)
            yield root, waiting
        finally:
            with suppress(OSError):
                waiting.rmdir()
                waiting.parent.rmdir()
            with suppress(OSError):  # whoever waits opens another; where an open file cannot go (Windows) it stays
                Path(lock.lock_file).unlink()
            lock.release()
    except OSError as error:
        message = f"data set {name!r} cannot be written to {root / folder} ({error.strerror or error})"
        raise MissingDataError(message, "Set BENCHSUITE_DATA to a folder with room that you may write to") from error


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

    The address is PyTorch Geometric's.

    Args:
        facts: which data set.
        root: the data folder; made where it does not exist.

    Raises:
        MissingDataError: no folder is named, it cannot be written, the server cannot be reached, or it sends
            something else than the original files.
        StoreError: the disk has no room.
    """
    with _alone(facts.name, root, f"Planetoid/{facts.folder}/raw") as (data, waiting):
        here = complete(facts, data)
        if here is not None and all(sha256(here / name) == SHA256[name] for name in file_names(facts)):
            log.info("%s: all files are in %s already", facts.name, here)
            return
        from torch_geometric.datasets import Planetoid

        folder = data / "Planetoid" / facts.folder / "raw"
        order = Order(facts.name, f"Put ind.{facts.name}.* into {folder} by hand")
        for name in file_names(facts):
            if sha256(folder / name) == SHA256[name]:
                log.info("%s: already there", name)
                continue
            what = Download(url=f"{Planetoid.url}/{name}", sha256=SHA256[name])
            arrived = download(what, waiting, order, patience=PATIENCE)
            folder.mkdir(parents=True, exist_ok=True)
            arrived.replace(folder / name)
        log.info("%s: all %d files are in %s", facts.name, len(file_names(facts)), folder)
