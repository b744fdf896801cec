"""``benchsuite explain``: all that stands behind one recorded number."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import click

from benchsuite.cli import common
from benchsuite.cli.common import host_options, out_option, printable
from benchsuite.cli.reproduce import title

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from benchsuite.contracts.cards import TaskCard
    from benchsuite.host import Catalogue, HostOptions
    from benchsuite.store import Store
    from benchsuite.store.records import CellRecord

__all__ = ["explain"]

_LABEL = 14


@click.command()
@click.argument("cell")
@out_option
@host_options
def explain(host: HostOptions, cell: str, out: Path) -> int:
    """Print what stands behind the recorded cell CELL.

    CELL is its id, or as many of its first digits as name one cell: data and split, the recipe and what selects the
    model, every seed's value, the surroundings, and the command that runs it again.
    """
    from benchsuite.engine.reproduce import find
    from benchsuite.store import read_store

    catalogue, store = common.catalogue_from(host), read_store(out)
    record = find(store, cell)
    click.secho(f"cell {record.cell}: {printable(title(record))}", bold=True)
    for label, text in _fields(record, store, catalogue):
        click.echo(f"  {label:{_LABEL}}{printable(text)}")
    return 0


def _fields(record: CellRecord, store: Store, catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    key = record.key
    yield "status", record.status + ("" if record.error is None else f": {record.error.type}: {record.error.message}")
    for name, value in record.metrics.items():
        yield "value", f"{name} {value!r}"
    card = catalogue.tasks.get(key["task"])
    yield from _task(key, card)
    yield from _methods(record)
    yield from _seeds(record, store)
    yield from _measured(record)
    yield from _surroundings(store.envs.get(record.env, {}))
    yield "run", f"{record.run}, started {record.started}, {record.seconds:g} s, record {record.hash}"
    yield "command", command(record, catalogue)
    yield "again", f"benchsuite reproduce {record.cell}"


def _task(key: Mapping[str, Any], card: TaskCard | None) -> Iterator[tuple[str, str]]:
    yield "task", f"{key['task']}, version {key['task_version']}" + ("" if card is None else f": {card.summary}")
    protocol = str(key["protocol"])
    yield "protocol", protocol + ("" if card is None else f"; split, selection and scoring: {_page(card)}")
    data = "" if card is None else f"{card.dataset}, "
    yield "data", f"{data}content {key['data']}"
    if card is not None:
        # The configuration says the recipe: split or setting, steps, rates, what selects the model.
        yield from (("config", f"{name}: {json.dumps(value)}") for name, value in card.config.items())


def _page(card: TaskCard) -> str:
    return f"{card.target.partition(':')[0]}, docs/protocols"


def _methods(record: CellRecord) -> Iterator[tuple[str, str]]:
    for kind, method in record.key["methods"].items():
        source = record.plugins.get(kind)
        code = "" if source is None else f", plugin {source.plugin} {source.version}, source {source.source[:16]}"
        yield kind.replace("_", " "), f"{method['name']}, version {method['version']}{code}"
        yield from (("", f"{name} = {json.dumps(value)}") for name, value in method["params"].items())


def _seeds(record: CellRecord, store: Store) -> Iterator[tuple[str, str]]:
    """Every seed of the same task and methods under the same conditions."""
    wanted = {name: value for name, value in record.key.items() if name != "seed"}
    found = [r for r in store.latest().values() if {n: v for n, v in r.key.items() if n != "seed"} == wanted]
    for each in sorted(found, key=lambda r: r.key["seed"]):
        values = ", ".join(f"{name} {value:g}" for name, value in each.metrics.items()) or each.status
        yield f"seed {each.key['seed']}", f"{values}  ({each.cell})"


def _measured(record: CellRecord) -> Iterator[tuple[str, str]]:
    for name, value in record.measurements.items():
        yield "measured", f"{name} {'-' if value is None else f'{value:g}'}"
    yield "alone", "no other cell ran meanwhile" if record.alone else "other cells ran meanwhile: times are uncertain"
    for name, note in record.notes.items():
        yield "noted", f"{name}: {json.dumps(note)}"
    for name, mark in record.outputs.items():
        yield "scored", f"{name}, sha256 {mark}..."


def _surroundings(env: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in env.items():
        if isinstance(value, dict):
            value = ", ".join(f"{inner} {said}" for inner, said in value.items()) or "none"
        yield "environment", f"{name}: {value}"


def command(record: CellRecord, catalogue: Catalogue) -> str:
    """Return the command that runs the cell, and the seeds before it."""
    words = ["benchsuite", "run", "--task", record.key["task"]]
    for method in record.key["methods"].values():
        card = catalogue.methods.get(method["name"])
        plugin = "" if card is None else f"{catalogue.plugin_of(card.name).name}/"
        pins = ",".join(
            f"{name}={str(value).lower() if isinstance(value, bool) else value}"
            for name, value in method["params"].items()
        )
        words += ["--plugin", plugin + method["name"] + (f"[{pins}]" if pins else "")]
    return shlex.join([*words, "--seeds", str(record.key["seed"] + 1)])
