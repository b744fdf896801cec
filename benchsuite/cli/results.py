"""``benchsuite results``: look after the run files."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from benchsuite.cli.common import out_option, printable
from benchsuite.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchsuite.store.export import Format
    from benchsuite.store.verify import Report

__all__ = ["results"]

#: Remarks of one report that are printed; more say nothing new.
SHOWN = 20


@click.group()
def results() -> None:
    """Verify, merge, withdraw and export records; they lie below OUT/results."""


@results.command()
@out_option
@click.pass_context
def verify(ctx: click.Context, out: Path) -> None:
    """Read every line of every run file; exit 1 where one cannot be used."""
    from benchsuite.store.verify import verify as look

    report = look(out)
    click.echo(_summary(report))
    _print("dropped", report.dropped, len(report.dropped))
    _print("remark", report.remarks, SHOWN)
    ctx.exit(1 if report.dropped else 0)


def _summary(report: Report) -> str:
    return (
        f"{_number(report.files, 'file')}, {_number(report.records, 'record')}: {report.counted} usable, "
        f"{report.withdrawn} withdrawn, {report.copies} copied or contradicted; "
        f"{_number(len(report.dropped), 'line')} dropped, {_number(len(report.remarks), 'remark')}"
    )


def _number(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _print(label: str, lines: Sequence[str], limit: int) -> None:
    for line in lines[:limit]:
        click.echo(f"{label}: {printable(line)}")
    if len(lines) > limit:
        click.echo(f"{label}: and {len(lines) - limit} more")


@results.command()
@click.argument("sources", nargs=-1, required=True, metavar="FROM...", type=click.Path(path_type=Path))
@out_option
def merge(sources: tuple[Path, ...], out: Path) -> None:
    """Bring in the run files of the folders FROM (each like OUT, or a results folder).

    Files that are here already are skipped. Nothing is merged where a line of any of them cannot be used, or where a
    file of the same name has other content here.
    """
    from benchsuite.store.merge import merge as bring

    merged = bring(out, sources)
    for what, names in (("new", merged.copied), ("grown", merged.grown), ("last line torn", merged.torn)):
        for name in names:
            click.echo(f"{what}: {printable(name)}")
    total = len(merged.copied) + len(merged.grown)
    click.echo(f"{_number(total, 'file')} merged into {out / 'results'}, {merged.skipped} here already")


@results.command()
@click.argument("records", nargs=-1, required=True, metavar="RECORD...")
@click.option("--reason", required=True, help="Why; it stays with the records for good.")
@click.option("--author", help="Who withdraws them; else the user's login name.")
@out_option
def void(records: tuple[str, ...], reason: str, author: str | None, out: Path) -> None:
    """Withdraw the records with the hashes RECORD: they stay in their files, and count no more."""
    from benchsuite.store.withdraw import withdraw

    path = withdraw(out, records, reason, author or _login())
    click.echo(
        f"{_number(len(set(records)), 'record')} withdrawn in {path}. Mend the boards with: benchsuite leaderboard"
    )


def _login() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container's user without a name
        return "unknown"


@results.command()
@click.argument("target", metavar="FILE|-", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@click.option("--format", "form", type=click.Choice(["csv", "json"]), help="Else as FILE is called; csv for -.")
@click.option("--every", is_flag=True, help="One row per record in place of one per cell.")
@out_option
def export(target: Path, form: Format | None, every: bool, out: Path) -> None:
    """Write one row per cell, the record that counts for it, to FILE (or - for stdout)."""
    from benchsuite.store import read_store
    from benchsuite.store.export import export as write

    chosen: Format = form or ("json" if target.suffix == ".json" else "csv")
    with _opened(target) as file:
        rows = write(read_store(out), chosen, file, every=every)
    click.echo(f"{_number(rows, 'row')} written", err=True)


def _opened(target: Path) -> AbstractContextManager[IO[str]]:
    if str(target) == "-":
        return nullcontext(sys.stdout)
    try:
        return target.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror}") from error


@results.command()
@out_option
def index(out: Path) -> None:
    """Make the index, or bring it up to date: all commands then read large stores faster.

    It is disposable: delete the folder OUT/results/.index to be without it.
    """
    from benchsuite.store.index import build, folder_of

    number = build(out / "results")
    click.echo(f"{_number(number, 'record')} in {folder_of(out / 'results')}")
