"""``benchsuite list``: one line for each method, task, suite, plugin or data set."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from benchsuite.cli.common import catalogue_from, host_options, print_table
from benchsuite.cli.datasets import COLUMNS, dataset_json, dataset_row, dataset_state
from benchsuite.errors import UsageError, near

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchsuite.contracts.cards import MethodCard, TaskCard
    from benchsuite.host import BrokenPlugin, Catalogue, HostOptions, PluginInfo

__all__ = [
    "broken_json",
    "dataset_json",
    "dataset_state",
    "list_",
    "method_json",
    "plugin_json",
    "print_listing",
    "suite_json",
    "task_json",
]


class Listing(NamedTuple):
    """What one kind of listing shows."""

    columns: Sequence[str]
    row: Callable[[dict[str, Any]], Sequence[str]]
    """A table's row from what ``--json`` gives."""
    entries: Callable[[Catalogue], list[dict[str, Any]]]


def _known(ctx: click.Context, parameter: click.Parameter, value: str) -> str:
    if value not in _LISTINGS:
        raise UsageError(f"there is no list of {value!r}", near(value, _LISTINGS))
    return value


@click.command("list")
@click.argument("what", metavar="methods|tasks|suites|plugins|datasets", callback=_known)
@click.option("--json", "as_json", is_flag=True, help="Print all fields as JSON.")
@host_options
def list_(what: str, as_json: bool, host: HostOptions) -> None:
    """List methods, tasks, suites, plugins or data sets.

    Plugins that do not work are listed with the phase in which they failed, and why. Data sets are bundled, or
    present or absent below BENCHSUITE_DATA (as benchsuite data list has it).
    """
    print_listing(what, as_json, host)


def print_listing(what: str, as_json: bool, host: HostOptions) -> None:
    """Print the list of that name, as a table or as JSON."""
    listing = _LISTINGS[what]
    # The list of plugins shows the broken ones itself.
    entries = listing.entries(catalogue_from(host, warn=what != "plugins"))
    if as_json:
        click.echo(json.dumps(entries, indent=2))
    else:
        print_table(listing.columns, map(listing.row, entries))


def method_json(catalogue: Catalogue, card: MethodCard) -> dict[str, Any]:
    """Return a method's card and its plugin as JSON data."""
    return {**card.model_dump(mode="json"), "plugin": catalogue.plugin_of(card.name).name}


def task_json(card: TaskCard) -> dict[str, Any]:
    """Return a task's card as JSON data."""
    return card.model_dump(mode="json")


def suite_json(name: str, tasks: Sequence[TaskCard]) -> dict[str, Any]:
    """Return a suite as JSON data."""
    return {"name": name, "tasks": [task.name for task in tasks]}


def plugin_json(catalogue: Catalogue, info: PluginInfo) -> dict[str, Any]:
    """Return a plugin, and what it offers, as JSON data."""
    return {
        "name": info.name,
        "state": "ok",
        "version": info.version,
        "origin": info.origin,
        "location": None if info.location is None else str(info.location),
        "module": info.module,
        "summary": info.summary,
        **{kind: [card.name for card in cards] for kind, cards in catalogue.offers_of(info.name).items()},
    }


def broken_json(broken: BrokenPlugin) -> dict[str, Any]:
    """Return a broken plugin as JSON data."""
    return {
        "name": broken.name,
        "state": "broken",
        "origin": broken.origin,
        "location": None if broken.location is None else str(broken.location),
        "phase": broken.phase,
        "cause": broken.cause,
    }


def _methods(catalogue: Catalogue) -> list[dict[str, Any]]:
    return [method_json(catalogue, card) for card in catalogue.methods.values()]


def _method_row(entry: dict[str, Any]) -> Sequence[str]:
    sham = "Sham control. " if entry["sham"] else ""
    return entry["name"], entry["kind"], entry["plugin"], entry["version"], sham + entry["summary"]


def _task_row(entry: dict[str, Any]) -> Sequence[str]:
    factors, suites = " x ".join(entry["factors"]), ", ".join(entry["suites"])
    return entry["name"], factors, entry["dataset"], entry["protocol"], suites, entry["summary"]


def _suites(catalogue: Catalogue) -> list[dict[str, Any]]:
    return [suite_json(name, tasks) for name, tasks in catalogue.suites().items()]


def _plugins(catalogue: Catalogue) -> list[dict[str, Any]]:
    loaded = [plugin_json(catalogue, info) for info in catalogue.plugins]
    return loaded + [broken_json(broken) for broken in catalogue.broken]


def _plugin_row(entry: dict[str, Any]) -> Sequence[str]:
    if entry["state"] == "broken":
        return entry["name"], f"broken: {entry['phase']}", entry["origin"], "", "", entry["cause"]
    methods = ", ".join(entry["methods"]) or "-"
    return entry["name"], entry["state"], entry["origin"], entry["version"], methods, entry["summary"]


_LISTINGS = {
    "methods": Listing(("NAME", "KIND", "PLUGIN", "VERSION", "SUMMARY"), _method_row, _methods),
    "tasks": Listing(
        ("NAME", "FACTORS", "DATASET", "PROTOCOL", "SUITES", "SUMMARY"),
        _task_row,
        lambda catalogue: [task_json(card) for card in catalogue.tasks.values()],
    ),
    "suites": Listing(
        ("NAME", "TASKS", "NAMES"),
        lambda entry: (entry["name"], str(len(entry["tasks"])), " ".join(entry["tasks"])),
        _suites,
    ),
    "plugins": Listing(("NAME", "STATE", "ORIGIN", "VERSION", "METHODS", "SUMMARY OR CAUSE"), _plugin_row, _plugins),
    "datasets": Listing(
        COLUMNS,
        dataset_row,
        lambda catalogue: [dataset_json(catalogue, card) for card in catalogue.datasets.values()],
    ),
}
