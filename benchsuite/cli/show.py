"""``benchsuite show``: everything that is known of a method, task, data set, suite or plugin."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import click

from benchsuite.cli.common import catalogue_from, host_options, printable
from benchsuite.cli.list_ import broken_json, dataset_json, method_json, plugin_json, suite_json, task_json
from benchsuite.errors import PluginError, UsageError, near

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchsuite.contracts.cards import DatasetCard, MethodCard, Paper, Parameter, Reported, TaskCard
    from benchsuite.host import BrokenPlugin, Catalogue, HostOptions, PluginInfo

    #: A label and its lines; nothing is shown of a field without lines.
    Field = tuple[str, Sequence[str]]
    #: Kind of thing, what ``--json`` gives of it, and what people read.
    Match = tuple[str, dict[str, Any], list[Field]]

__all__ = ["show"]

_LABEL = 14


@click.command("show")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print all fields as JSON.")
@host_options
def show(name: str, as_json: bool, host: HostOptions) -> None:
    """Show all there is to know about a method, task, data set, suite or plugin.

    A name that several of them have shows them all.
    """
    catalogue = catalogue_from(host, warn=False)
    matches = _matches(catalogue, name)
    if as_json:
        click.echo(json.dumps({kind: data for kind, data, _ in matches}, indent=2))
        return
    for place, (kind, _, fields) in enumerate(matches):
        if place:
            click.echo()
        _print(f"{kind} {name}", fields)


def _matches(catalogue: Catalogue, name: str) -> list[Match]:
    found: list[Match] = []
    if name in catalogue.methods:
        method = catalogue.methods[name]
        found.append(("method", method_json(catalogue, method), _method(catalogue, method)))
    if name in catalogue.tasks:
        task = catalogue.tasks[name]
        found.append(("task", task_json(task), _task(task)))
    if name in catalogue.datasets:
        dataset = catalogue.datasets[name]
        found.append(("dataset", dataset_json(catalogue, dataset), _dataset(catalogue, dataset)))
    if name in catalogue.suites():
        tasks = catalogue.suite(name)
        found.append(("suite", suite_json(name, tasks), [("tasks", [f"{t.name}: {t.summary}" for t in tasks])]))
    for info in catalogue.plugins:
        if info.name == name:
            found.append(("plugin", plugin_json(catalogue, info), _plugin(catalogue, info)))
    broken = [b for b in catalogue.broken if b.name == name]
    if not found:
        raise _nothing(catalogue, name, broken)
    return found + [("broken plugin", broken_json(b), _broken(b)) for b in broken]


def _nothing(catalogue: Catalogue, name: str, broken: Sequence[BrokenPlugin]) -> UsageError | PluginError:
    if broken:
        return PluginError(str(broken[0]), "" if len(broken) == 1 else f"And {len(broken) - 1} more of that name")
    known = {*catalogue.methods, *catalogue.tasks, *catalogue.datasets, *catalogue.suites()}
    known |= {info.name for info in catalogue.plugins} | {b.name for b in catalogue.broken}
    return UsageError(f"there is no method, task, data set, suite or plugin {name!r}", near(name, known))


def _method(catalogue: Catalogue, card: MethodCard) -> list[Field]:
    plugin = catalogue.plugin_of(card.name)
    return [
        ("summary", [card.summary]),
        ("kind", [f"{card.kind}, contract {card.contract}{', sham control: it must not win' if card.sham else ''}"]),
        ("version", [card.version]),
        ("plugin", [f"{plugin.name} {plugin.version} ({plugin.origin})"]),
        ("target", [card.target]),
        ("paper", _paper(card.paper)),
        ("parameters", [_parameter(parameter) for parameter in card.parameters]),
        ("reported", [_reported(figure) for figure in card.reported]),
        ("falsifiers", [f"{f.name}: {f.arm}, claim {f.claim!r}, named by {f.source}" for f in card.falsifiers]),
        ("protocols", [", ".join(card.protocols)] if card.protocols else []),
        ("departures", card.departures),
        ("requires", [f"{name}: {_installed(name)}" for name in card.requires]),
    ]


def _paper(paper: Paper | None) -> list[str]:
    if paper is None:
        return []
    venue = f", {paper.venue}" if paper.venue else ""
    return [f"{paper.title}, {paper.year}{venue}", paper.url]


def _parameter(parameter: Parameter) -> str:
    domain = parameter.domain().removeprefix("It takes ")
    grid = f"; a run plans {', '.join(map(str, parameter.grid))}" if parameter.grid else ""
    return f"{parameter.name} = {parameter.default}: {parameter.doc} Takes {domain}{grid}."


def _reported(figure: Reported) -> str:
    params = ", ".join(f"{name}={value}" for name, value in figure.params.items())
    where = f"{figure.task}[{params}]" if params else figure.task
    reference = "" if figure.reference is None else f" (reference {figure.reference:g})"
    note = f". {figure.note}" if figure.note else ""
    return f"{where}: {figure.metric} {figure.value:g}{reference}, {figure.source}{note}"


def _installed(distribution: str) -> str:
    try:
        return f"installed, {importlib.metadata.version(distribution)}"
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _task(card: TaskCard) -> list[Field]:
    metrics = [
        f"{m.name}{f' in {m.unit}' if m.unit else ''}, {'higher' if m.higher_is_better else 'lower'} is better"
        for m in card.metrics
    ]
    return [
        ("summary", [card.summary]),
        ("factors", [" x ".join(card.factors)]),
        ("dataset", [card.dataset]),
        ("protocol", [card.protocol]),
        ("metrics", metrics),
        ("reference", [f"{method} (for {kind})" for kind, method in card.reference.items()]),
        ("line-up", [", ".join(card.line_up)] if card.line_up else []),
        ("suites", [", ".join(card.suites)] if card.suites else []),
        ("group", [card.group] if card.group else []),
        ("seeds", [str(card.seeds)]),
        ("version", [card.version]),
        ("target", [card.target]),
        ("config", [f"{key}: {json.dumps(value)}" for key, value in card.config.items()]),
    ]


def _dataset(catalogue: Catalogue, card: DatasetCard) -> list[Field]:
    data = dataset_json(catalogue, card)
    state, tasks = data["state"], data["tasks"]
    fetched = state == "absent" and (card.fetch or card.downloads)
    fetch = f"; get it with: benchsuite data fetch {card.name}" if fetched else ""
    return [
        ("summary", [card.summary]),
        ("state", [f"{state}{fetch}"]),
        ("licence", [card.licence]),
        ("source", [card.source]),
        ("place", [data["place"]] if data["place"] else []),
        ("files", card.files),
        ("target", [card.target]),
        ("tasks", [", ".join(tasks)] if tasks else []),
    ]


def _plugin(catalogue: Catalogue, info: PluginInfo) -> list[Field]:
    fields: list[Field] = [
        ("summary", [info.summary] if info.summary else []),
        ("version", [info.version]),
        ("origin", [info.origin]),
        ("location", [] if info.location is None else [str(info.location)]),
        ("module", [info.module]),
    ]
    for kind, cards in catalogue.offers_of(info.name).items():
        fields.append((kind, [f"{card.name}: {card.summary}" for card in cards]))
    return fields


def _broken(broken: BrokenPlugin) -> list[Field]:
    return [
        ("phase", [broken.phase]),
        ("cause", [broken.cause]),
        ("origin", [broken.origin]),
        ("location", [] if broken.location is None else [str(broken.location)]),
    ]


def _print(title: str, fields: Iterable[Field]) -> None:
    # Lines are wrapped for people alone: a program gets them whole.
    width = max(40, shutil.get_terminal_size().columns) if sys.stdout.isatty() else sys.maxsize
    click.secho(printable(title), bold=True)
    for label, lines in fields:
        for place, line in enumerate(lines):
            head = f"  {label if place == 0 else '':{_LABEL}}"
            hang = " " * (len(head) + 2)
            click.echo(textwrap.fill(printable(line), width, initial_indent=head, subsequent_indent=hang))
