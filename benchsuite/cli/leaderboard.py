"""``benchsuite leaderboard``: make the boards from the records, or say which of them are stale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchsuite.cli.common import catalogue_from, host_options, out_option
from benchsuite.contracts.cards import KINDS

if TYPE_CHECKING:
    from pathlib import Path

    from benchsuite.contracts.cards import Kind
    from benchsuite.host import Catalogue, HostOptions
    from benchsuite.store import Store

__all__ = ["leaderboard"]


@click.command()
@out_option
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where a page is stale or was edited by hand.")
@click.option("--kind", type=click.Choice(KINDS), help="This kind's board alone.")
@host_options
def leaderboard(host: HostOptions, out: Path, check: bool, kind: Kind | None) -> int:
    """Make the boards from the records.

    Writes one Markdown page and one picture for each kind of method that has records, and README.md, which lists
    them. Text outside the BEGIN and END markers of a page stays as it is.
    """
    from benchsuite.store import read_store

    store, catalogue = read_store(out), catalogue_from(host)
    for problem in store.problems:
        click.echo(f"benchsuite: warning: {problem}", err=True)
    kinds = KINDS if kind is None else (kind,)
    return _check(store, catalogue, out, kinds) if check else _rebuild(store, catalogue, out, kinds)


def _rebuild(store: Store, catalogue: Catalogue, out: Path, kinds: tuple[Kind, ...]) -> int:
    from benchsuite.boards import write_boards

    written = write_boards(store, catalogue, out, kinds)
    for path in written:
        click.echo(str(path))
    if not written:
        click.echo(f"No records that count below {out / 'results'}: nothing to make. Start with: benchsuite run")
    return 0


def _check(store: Store, catalogue: Catalogue, out: Path, kinds: tuple[Kind, ...]) -> int:
    from benchsuite.boards import check_boards

    stale = check_boards(store, catalogue, out, kinds)
    for line in stale:
        click.echo(line)
    click.echo("Mend with: benchsuite leaderboard" if stale else f"The boards in {out} are what the records make.")
    return 1 if stale else 0
