"""``benchsuite data``: download data sets, and check those that are there."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchsuite.cli.common import catalogue_from, data_root, host_options, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchsuite.contracts.cards import DatasetCard
    from benchsuite.host import HostOptions


@click.group()
def data() -> None:
    """Download, import and check data sets (the folder is the variable BENCHSUITE_DATA)."""


@data.command()
@click.argument("name")
@host_options
def fetch(name: str, host: HostOptions) -> None:
    """Download the data set NAME into BENCHSUITE_DATA."""
    from benchsuite.data import resolve
    from benchsuite.errors import UsageError

    card = catalogue_from(host).dataset(name)
    if card.bundled:
        click.echo(f"{name} needs no download: it is generated, or comes with a dependency")
        return
    if card.fetch is None:
        raise UsageError(f"data set {name!r} has no download", _where_to_put(card, data_root()))
    with _progress():
        resolve(card, card.fetch)(data_root())


def _where_to_put(card: DatasetCard, root: Path | None) -> str:
    """Return a mend that says where the files of a data set without a download belong."""
    place = f"{root} (BENCHSUITE_DATA)" if root else "the folder that BENCHSUITE_DATA names"
    if not card.files:
        return f"Put its files into {place}"
    patterns = " (* is any letters, or none)" if any("*" in file for file in card.files) else ""
    return f"Put its files into {place} as {', '.join(card.files)}{patterns}"


@data.command(name="import")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="What to call it; else as the archive is called, without its version.")
@click.option("--member", metavar="PATH", help="Which checkpoint, where FILE holds several: its path in there.")
@click.option("--force", is_flag=True, help="Replace one of that name.")
def import_(path: Path, name: str | None, member: str | None, force: bool) -> None:
    """Bring the trained checkpoint in FILE below BENCHSUITE_DATA/models.

    FILE is a wheel, a zip, a tar or a folder that holds config.json beside *.safetensors, or a .gguf file; or it is a
    .gguf file itself. The probes then have a task for it. Nothing in FILE is run or unpickled.
    """
    from benchsuite.errors import MissingDataError
    from benchsuite.models.zoo.importing import default_name, import_checkpoint

    root = data_root()
    if root is None:
        raise MissingDataError("there is no data folder to import into", "Set BENCHSUITE_DATA to one")
    called = _task_name(name or default_name(path), root)
    with _progress():
        target = import_checkpoint(path, root, called, member, force)
    click.echo(f"{printable(str(target))} is there, and its task is trained-{called}:")
    click.echo(f"benchsuite run --plugin dead-direction --plugin probe-controls --task trained-{called}")


def _task_name(name: str, root: Path) -> str:
    """Return what folder and task of a checkpoint are called.

    Raises:
        UsageError: nothing is left of ``name``, or the task of that name reads another folder.
    """
    from benchsuite.errors import UsageError
    from benchsuite.tasks.probe_cards import CHECKPOINT_FOLDER, folder_behind, slug

    called = slug(name)
    if not called:
        raise UsageError(f"{name!r} makes no name", "Choose one with --name: letters and digits")
    folder = folder_behind(called, root)
    if folder not in (None, f"{CHECKPOINT_FOLDER}/{called}"):
        raise UsageError(f"the task trained-{called} reads {folder} already", "Choose another --name")
    return called


@data.command()
@click.argument("name")
@host_options
@click.pass_context
def check(ctx: click.Context, name: str, host: HostOptions) -> None:
    """Read and validate the data set NAME; print its figures, or one line for each problem."""
    card = catalogue_from(host).dataset(name)
    found = _check(card)
    for problem in found:
        click.echo(f"{name}: {printable(problem)}", err=True)
    if found:
        ctx.exit(2)


def _check(card: DatasetCard) -> list[str]:
    from benchsuite.data import GraphDataset, NodeDataset, load
    from benchsuite.data.report import corpus_problems, describe, describe_corpus, files
    from benchsuite.data.validate import problems

    root = data_root()
    dataset = load(card, root)
    if isinstance(dataset, NodeDataset):
        found = problems(dataset)
        # Figures are worked out of sound data alone.
        figures = [] if found else describe(dataset)
    elif isinstance(dataset, GraphDataset):
        found, figures = [], []
    else:
        found = corpus_problems(dataset)
        figures = [] if found else describe_corpus(dataset)
    if found:
        return found
    where = files(card.name, root)
    for heading, text in [*([("files", where)] if where else []), *figures, ("licence", card.licence)]:
        click.echo(f"{heading:<10} {printable(text)}")
    click.echo(f"{card.name} is valid")
    return []


@contextmanager
def _progress() -> Iterator[None]:
    """Print what downloads and copies log at level INFO as lines on stderr."""
    import logging

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            click.echo(printable(record.getMessage()), err=True)

    logger, lines = logging.getLogger("benchsuite"), Lines()
    before = logger.level
    logger.addHandler(lines)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(lines)
        logger.setLevel(before)
