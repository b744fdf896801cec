"""``benchsuite check``: a plugin against its contract, one line per check."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchsuite.cli.common import catalogue_from, host_options, printable
from benchsuite.errors import UsageError
from benchsuite.testing.folder import PluginFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchsuite.contracts.cards import MethodCard
    from benchsuite.host import HostOptions, PluginInfo
    from benchsuite.testing.runner import Outcome

__all__ = ["check"]

_SIGNS = {True: ("✔", "ok  "), False: ("✘", "FAIL")}
_COLOURS = {True: "green", False: "red"}


@click.command()
@click.argument("plugin")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object in place of lines.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="What one check may take.",
)
@host_options
def check(plugin: str, as_json: bool, timeout: float, host: HostOptions) -> int:
    """Check PLUGIN, a plugin's folder or the name of one that is there, against its contract.

    Each failed check says what it found, what is wanted and how to mend it. Exit code: 0 where all passed, 1 where one
    failed.
    """
    outcomes = []
    for outcome in _outcomes(plugin, host, timeout):
        outcomes.append(outcome)
        if not as_json:
            _print(outcome, None if len(outcomes) == 1 else outcomes[-2])
    passed = all(outcome.passed for outcome in outcomes)
    if as_json:
        report = {"plugin": plugin, "passed": passed, "checks": [outcome.as_dict() for outcome in outcomes]}
        click.echo(json.dumps(report, indent=2))
    else:
        _print_sum(outcomes)
    return 0 if passed else 1


def _outcomes(plugin: str, host: HostOptions, timeout: float) -> Iterator[Outcome]:
    from benchsuite.testing.runner import run_folder_checks, run_method_checks

    found = _find(plugin, host)
    if isinstance(found, PluginFolder):
        folder = found
        complete = False
        for outcome in run_folder_checks(folder):
            yield outcome
            complete = outcome.passed and outcome.check == "cards-load"
        if not complete:
            return
        found = folder.load()
    info, cards = found
    yield from run_method_checks(cards, info.search_path, timeout)


def _find(plugin: str, host: HostOptions) -> PluginFolder | tuple[PluginInfo, tuple[MethodCard, ...]]:
    """Return the plugin's folder; where it has none, being installed from elsewhere, what the host loaded.

    Raises:
        UsageError: there is neither such a folder nor such a plugin.
    """
    path = Path(plugin)
    if _is_plugin_folder(path):
        return PluginFolder(path.resolve())
    if "/" in plugin or os.sep in plugin:
        raise _no_folder(path)
    catalogue = catalogue_from(dataclasses.replace(host, strict=False), warn=False)
    places = {broken.name: broken.location for broken in catalogue.broken}
    places |= {info.name: info.location for info in catalogue.plugins}
    place = places.get(plugin)
    for folder in () if place is None else (place, place.parent):
        if _is_plugin_folder(folder):
            return PluginFolder(folder)
    if plugin in catalogue.methods:
        owner = catalogue.plugin_of(plugin).name
        raise UsageError(f"{plugin!r} is a method of the plugin {owner!r}", f"Check that: benchsuite check {owner}")
    if path.is_dir() and plugin not in places:
        raise _no_folder(path)
    return catalogue.plugin(plugin), catalogue.methods_of(plugin)


def _is_plugin_folder(folder: Path) -> bool:
    return (folder / "pyproject.toml").is_file()


def _no_folder(path: Path) -> UsageError:
    if not path.is_dir():
        return UsageError(f"there is no folder {str(path)!r}", "Name a plugin's folder, or the name of a plugin")
    inside = sorted(child.name for child in path.iterdir() if _is_plugin_folder(child))
    mend = f"Plugins in it: {', '.join(inside)}" if inside else "benchsuite new quantizer NAME makes one"
    return UsageError(f"{str(path)!r} is no plugin's folder, it has no pyproject.toml", mend)


def _print(outcome: Outcome, before: Outcome | None) -> None:
    if before is None or before.subject != outcome.subject:
        click.secho(printable(outcome.subject), bold=True)
    sign = click.style(_sign(outcome.passed), fg=_COLOURS[outcome.passed])
    remark = f"  ({printable(outcome.remark)})" if outcome.remark else ""
    click.echo(f"  {sign} {outcome.check}{_encodable(remark)}")
    if before is not None and outcome.found and (outcome.found, outcome.mend) == (before.found, before.mend):
        click.echo("      found: the same")
        return
    for label, text in (("found", outcome.found), ("mend", outcome.mend)):
        if text:
            click.echo(f"      {label}: {_encodable(printable(text))}")


def _print_sum(outcomes: list[Outcome]) -> None:
    failed = sum(not outcome.passed for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes)
    word = f"{failed} of {len(outcomes)} checks failed" if failed else f"all {len(outcomes)} checks passed"
    click.echo(f"{word} ({seconds:.1f} s)")


def _sign(passed: bool) -> str:
    sign, plain = _SIGNS[passed]
    return sign if _encodable(sign) == sign else plain


def _encodable(text: str) -> str:
    """Return ``text`` as far as the output's encoding goes; a plugin may write its messages in any script."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    return text.encode(encoding, "replace").decode(encoding)
