"""``benchsuite data``: download, import, list and check data sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchsuite.cli.common import catalogue_from, data_root, host_options, printable
from benchsuite.cli.datasets import tasks_of
from benchsuite.cli.list_ import print_listing
from benchsuite.cli.transfer import transfers

if TYPE_CHECKING:
    from benchsuite.contracts.cards import DatasetCard
    from benchsuite.host import Catalogue, HostOptions


@click.group()
def data() -> None:
    """Download, import and check data sets (the folder is the variable BENCHSUITE_DATA)."""


@data.command()
@click.argument("name")
@click.option("--force", is_flag=True, help="Download it again where it is there, and replace it.")
@host_options
def fetch(name: str, force: bool, host: HostOptions) -> None:
    """Download the data set NAME into BENCHSUITE_DATA.

    What arrived of a download that broke off is gone on from. Nothing is asked.
    """
    from benchsuite.data import resolve
    from benchsuite.errors import UsageError

    card = catalogue_from(host).dataset(name)
    if card.bundled:
        click.echo(f"{name} needs no download: it is generated, or comes with a dependency")
        return
    if card.fetch is None and not card.downloads:
        raise UsageError(f"data set {name!r} has no download", _where_to_put(card, data_root()))
    with transfers() as meter:
        if card.fetch is not None:
            resolve(card, card.fetch)(data_root())
        else:
            from benchsuite.data import fetch

            fetch.fetch(card, data_root(), meter, force)


@data.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print all fields as JSON.")
@host_options
def list_(as_json: bool, host: HostOptions) -> None:
    """List data sets: what is there and where, sizes, licences, and the tasks that need them."""
    print_listing("datasets", as_json, host)


def _where_to_put(card: DatasetCard, root: Path | None) -> str:
    """Return a mend that says where the files of a data set without a download belong."""
    place = f"{root} (BENCHSUITE_DATA)" if root else "the folder that BENCHSUITE_DATA names"
    if not card.files:
        return f"Put its files into {place}"
    patterns = " (* is any letters, or none)" if any("*" in file for file in card.files) else ""
    return f"Put its files into {place} as {', '.join(card.files)}{patterns}"


@data.command(name="import")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="Which data set it is; or what to call a checkpoint.")
@click.option("--member", metavar="PATH", help="Which one, where FILE holds several: its path in there.")
@click.option("--force", is_flag=True, help="Replace one that is there.")
@host_options
def import_(path: Path, name: str | None, member: str | None, force: bool, host: HostOptions) -> None:
    """Bring the data set or the trained checkpoint in FILE below BENCHSUITE_DATA.

    FILE is an archive (zip, tar, wheel) or a folder. A data set is recognised by its files, and read before it gets
    its place. A checkpoint is config.json beside *.safetensors, or a .gguf file, which may also be FILE itself; the
    probes then have a task for it. Nothing in FILE is run or unpickled.
    """
    from benchsuite.errors import MissingDataError

    root = data_root()
    if root is None:
        raise MissingDataError("there is no data folder to import into", "Set BENCHSUITE_DATA to one")
    catalogue = catalogue_from(host)
    with transfers():
        if path.exists() and _import_dataset(path, root, catalogue, name, member, force):
            return
        _import_checkpoint(path, root, name, member, force)


def _import_dataset(
    path: Path, root: Path, catalogue: Catalogue, name: str | None, member: str | None, force: bool
) -> bool:
    """Import the data set in ``path``, and say so; False where it holds none."""
    from benchsuite.archives import open_source
    from benchsuite.data.importing import bring, lacking, recognise
    from benchsuite.errors import MissingDataError, UsageError

    named = name in catalogue.datasets
    cards = [catalogue.dataset(str(name))] if named else list(catalogue.datasets.values())
    with open_source(path) as source:
        found = recognise(source, cards, member)
        if found is None:
            if named or not any(file.endswith((".safetensors", ".gguf")) for file in source.names):
                problem = lacking(source, cards)
                if problem is None and named:
                    problem = MissingDataError(f"{path} is not {name}, nor a part of it", "Name another FILE")
                if problem is not None:
                    raise problem
            return False
        if name is not None and not named:
            raise UsageError(f"{path} holds the data set {found.card.name}, not {name!r}", "Leave out --name")
        target = bring(source, found, root, force)
    tasks = ", ".join(tasks_of(catalogue, found.card))
    click.echo(f"{printable(str(target))} is there: the data set {found.card.name}")
    click.echo(f"tasks that need it: {tasks}" if tasks else "no task needs it")
    return True


def _import_checkpoint(path: Path, root: Path, name: str | None, member: str | None, force: bool) -> None:
    from benchsuite.models.zoo.importing import default_name, import_checkpoint

    called = _task_name(name or default_name(path), root)
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
    from benchsuite.data.remarks import remarks
    from benchsuite.data.report import corpus_problems, describe, describe_corpus
    from benchsuite.data.validate import problems

    root = data_root()
    dataset = load(card, root)
    # Figures are worked out of sound data alone.
    if isinstance(dataset, NodeDataset | GraphDataset):
        found = problems(dataset)
        figures = [] if found else [*describe(dataset), *(("remark", line) for line in remarks(dataset))]
    else:
        found = corpus_problems(dataset)
        figures = [] if found else describe_corpus(dataset)
    if found:
        return found
    for heading, text in [*_notes(card, root), *figures, ("licence", card.licence)]:
        click.echo(f"{heading:<10} {printable(text)}")
    click.echo(f"{card.name} is valid")
    return []


def _notes(card: DatasetCard, root: Path | None) -> list[tuple[str, str]]:
    from benchsuite.data import presence, resolve

    if card.notes is not None:
        lines: list[tuple[str, str]] = resolve(card, card.notes)(card.name, root)
        return lines
    there = presence.find(card, root)
    return [("files", str(there.place))] if there else []
