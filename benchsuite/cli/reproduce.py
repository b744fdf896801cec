"""``benchsuite reproduce``: run one recorded cell again and say whether it is the same."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchsuite.cli import common
from benchsuite.cli.common import host_options, out_option, printable

if TYPE_CHECKING:
    from benchsuite.engine.reproduce import Comparison
    from benchsuite.host import HostOptions
    from benchsuite.store.records import CellRecord

__all__ = ["reproduce"]


@click.command()
@click.argument("cell")
@out_option
@click.option("--cached", is_flag=True, help="Take trained models from the cache; else everything is trained anew.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=3600.0,
    show_default=True,
    metavar="SECONDS",
    help="What the cell may take.",
)
@host_options
def reproduce(host: HostOptions, cell: str, out: Path, cached: bool, timeout: float) -> int:
    """Run the recorded cell CELL again, from its record alone, and compare.

    CELL is its id, or as many of its first digits as name one cell. Nothing is recorded.

    Exit code: 0 where the result is the same, bit for bit or to the digits that boards print; 1 where it differs or
    there is none.
    """
    from benchsuite.contracts.task import Places
    from benchsuite.engine.executors import make_executor
    from benchsuite.engine.reporter import Silent
    from benchsuite.engine.reproduce import CellFailedError, find, rebuild, run_again
    from benchsuite.store import read_store

    catalogue, store = common.catalogue_from(host), read_store(out)
    record = find(store, cell)
    click.echo(f"cell {record.cell}: {printable(title(record))}", err=True)
    places = Places(common.data_root(), common.cache_root(), dict(catalogue.datasets))
    wanted, ready = rebuild(record, catalogue, places, Silent())
    folder = nullcontext(str(places.cache)) if cached else tempfile.TemporaryDirectory(prefix="benchsuite-")
    executor = make_executor("local", catalogue, jobs=1, timeout=timeout)
    with folder as cache:
        try:
            comparison = run_again(record, wanted, ready, executor, catalogue, Path(cache))
        except CellFailedError as error:
            click.echo(f"benchsuite: {printable(str(error))}", err=True)
            return 1
    _print(record, comparison)
    _print_surroundings(store.envs.get(record.env, {}))
    return int(comparison.verdict == "differs")


def title(record: CellRecord) -> str:
    """Return task, methods with all of their parameters, and seed."""
    methods = " x ".join(_method(m["name"], m["params"]) for m in record.key["methods"].values())
    return f"{record.key['task']}, {methods}, seed {record.key['seed']}"


def _method(name: str, params: object) -> str:
    pairs = params.items() if isinstance(params, dict) else ()
    inside = ",".join(f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in pairs)
    return f"{name}[{inside}]" if inside else name


def _print(record: CellRecord, comparison: Comparison) -> None:
    rows = [
        (name, repr(old), repr(new), "same" if old == new else f"{new - old:+.3g}")
        for name, (old, new) in comparison.metrics.items()
    ]
    if comparison.outputs is not None:
        rows += [
            (f"output {name}", record.outputs.get(name, "-"), "", "same bits" if same else "other bits")
            for name, same in comparison.outputs.items()
        ]
    common.print_table(("WHAT", "RECORDED", "NOW", "DIFFERENCE"), rows)
    older = " (the record is older than fingerprints: bits cannot be compared)" if comparison.outputs is None else ""
    click.echo(f"{comparison.verdict}{older}")


def _print_surroundings(recorded: dict[str, object]) -> None:
    """Say in what this machine and its libraries differ from those of the record: the first thing to look at."""
    from benchsuite.store.env import environment

    today = environment().env
    for name in sorted({*recorded, *today} - {"plugins"}):
        if recorded.get(name) != today.get(name):
            for line in _differences(name, recorded.get(name), today.get(name)):
                click.echo(f"recorded with {printable(line)}", err=True)


def _differences(name: str, old: object, new: object) -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        keys = [key for key in sorted({*old, *new}) if old.get(key) != new.get(key)]
        return [f"{name} {key} {old.get(key, 'none')}, now {new.get(key, 'none')}" for key in keys]
    return [f"{name} {old}, now {new}"]
