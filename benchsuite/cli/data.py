"""``benchsuite data``: download data sets, and check those that are there."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from benchsuite.cli.common import catalogue_from, data_root, host_options, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchsuite.contracts.cards import DatasetCard
    from benchsuite.host import HostOptions


@click.group()
def data() -> None:
    """Download and check data sets (the folder is the variable BENCHSUITE_DATA)."""


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
        wanted = f" as {', '.join(card.files)}" if card.files else ""
        raise UsageError(f"data set {name!r} has no download", f"Put its files into BENCHSUITE_DATA{wanted}")
    with _progress():
        resolve(card, card.fetch)(data_root())


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
    from benchsuite.data import NodeDataset, load
    from benchsuite.data.report import corpus_problems, describe, describe_corpus, files
    from benchsuite.data.validate import problems

    root = data_root()
    dataset = load(card, root)
    if isinstance(dataset, NodeDataset):
        found = problems(dataset)
        # Figures are worked out of sound data alone.
        figures = [] if found else describe(dataset)
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
    """Print what downloads log at level INFO as lines on stderr."""
    import logging

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            click.echo(printable(record.getMessage()), err=True)

    logger, lines, before = logging.getLogger("benchsuite.data"), Lines(), logging.getLogger("benchsuite.data").level
    logger.addHandler(lines)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(lines)
        logger.setLevel(before)
