"""What commands share: host options, folders, and output for terminals and for pipes.

Nothing heavy is imported at the top: ``benchsuite list`` comes through here.
"""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from benchsuite.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import Console

    from benchsuite.host import Catalogue, HostOptions

__all__ = [
    "BUILTINS",
    "cache_root",
    "catalogue_from",
    "console",
    "data_root",
    "host_options",
    "one_line",
    "out_option",
    "print_table",
    "printable",
    "warnings_to_stderr",
]

R = TypeVar("R")

#: The suite's own plugin modules. The host knows contracts alone, so it is told their names from here.
BUILTINS: tuple[str, ...] = ("benchsuite.tasks.builtin",)

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"", "0", "false", "no", "off"})


def host_options(command: Callable[..., R]) -> Callable[..., R]:
    """Give ``command`` the options that steer plugin loading; it is called with one keyword argument ``host``.

    The argument is a :class:`benchsuite.host.HostOptions`; pass it to :func:`catalogue_from`.
    """

    @functools.wraps(command)
    def wrapper(
        *args: Any,
        plugin_path: tuple[Path, ...],
        plugin_switch: tuple[str, ...],
        no_plugins: bool,
        prefer: tuple[str, ...],
        **kwargs: Any,
    ) -> R:
        return command(*args, host=_host(plugin_path, plugin_switch, no_plugins, prefer), **kwargs)

    options = (
        click.option(
            "--plugin-path",
            multiple=True,
            type=click.Path(path_type=Path),
            metavar="FOLDER",
            help="A plugin folder, or a folder of them; repeats. BENCHSUITE_PLUGIN_PATH adds more.",
        ),
        click.option("-p", "plugin_switch", multiple=True, metavar="no:NAME", help="Leave out a plugin; repeats."),
        click.option("--no-plugins", is_flag=True, help="Leave out all plugins but the suite's own tasks."),
        click.option(
            "--prefer",
            multiple=True,
            metavar="NAME=ORIGIN",
            help="Which of two plugins of one name to take: bundled, installed or path.",
        ),
    )
    decorated: Callable[..., R] = wrapper
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def out_option(command: Callable[..., R]) -> Callable[..., R]:
    """Give ``command`` the option ``--out``, the folder of boards and records, as a Path called ``out``."""
    return click.option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path("leaderboards"),
        show_default=True,
        metavar="FOLDER",
        help="Where boards and records lie.",
    )(command)


def catalogue_from(host: HostOptions, *, warn: bool = True) -> Catalogue:
    """Load the plugins.

    Args:
        host: what :func:`host_options` handed over.
        warn: log one warning line for each broken plugin.

    Raises:
        UsageError: an option names a plugin or a folder that does not exist.
        PluginError: a plugin is broken and ``BENCHSUITE_STRICT`` is set.
    """
    import logging

    from benchsuite.host import load_catalogue

    catalogue = load_catalogue(host)
    for broken in catalogue.broken if warn else ():
        logging.getLogger(__name__).warning("%s", broken)
    return catalogue


def warnings_to_stderr() -> None:
    """Print what the suite logs at level warning and above as lines on stderr."""
    import logging

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            click.echo(f"benchsuite: {record.levelname.lower()}: {one_line(record.getMessage())}", err=True)

    logger = logging.getLogger("benchsuite")
    for handler in [h for h in logger.handlers if h.get_name() == "cli"]:
        logger.removeHandler(handler)
    lines = Lines(logging.WARNING)
    lines.set_name("cli")
    logger.addHandler(lines)


def data_root() -> Path | None:
    """Return the folder that ``BENCHSUITE_DATA`` names, or None; it need not exist. Absolute."""
    return _folder("BENCHSUITE_DATA")


def cache_root() -> Path:
    """Return the folder of disposable files: ``BENCHSUITE_CACHE``, or the user's cache folder.

    Absolute; it need not exist.
    """
    named = _folder("BENCHSUITE_CACHE")
    if named is not None:
        return named
    import platformdirs

    return platformdirs.user_cache_path("benchsuite")


def console(*, stderr: bool = False) -> Console:
    """Return a console for what people read. It knows by itself whether it writes to a terminal.

    Markup is off, so that text from plugins and records is printed as it is; ask for it where you need it.
    """
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


def printable(text: str) -> str:
    """Return ``text`` with every control character replaced, so that no plugin steers the terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def one_line(text: str) -> str:
    """Return ``text`` on one line, without control characters."""
    return printable(" ".join(text.split()))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under headings: a table on a terminal, aligned lines (whole, never cut) elsewhere."""
    clean = [[printable(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        _print_aligned([list(columns), *clean])
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=number == 0)
    for row in clean:
        table.add_row(*map(Text, row))
    console().print(table)


def _print_aligned(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def _host(paths: tuple[Path, ...], switches: tuple[str, ...], no_plugins: bool, prefer: tuple[str, ...]) -> HostOptions:
    from benchsuite.host import HostOptions

    return HostOptions(
        builtins=BUILTINS,
        plugin_paths=(*paths, *_environment_paths()),
        disabled=tuple(map(_disabled, switches)),
        no_plugins=no_plugins,
        prefer=dict(map(_preference, prefer)),
        strict=_flag("BENCHSUITE_STRICT"),
    )


def _environment_paths() -> Iterable[Path]:
    listed = os.environ.get("BENCHSUITE_PLUGIN_PATH", "").split(os.pathsep)
    return [Path(entry).expanduser() for entry in listed if entry]


def _disabled(switch: str) -> str:
    word, _, name = switch.partition(":")
    if word != "no" or not name:
        raise UsageError(f"-p takes no:NAME, not {switch!r}", "Example: -p no:ptq")
    return name


def _preference(text: str) -> tuple[str, str]:
    name, _, origin = text.partition("=")
    if not name or not origin:
        raise UsageError(f"--prefer takes NAME=ORIGIN, not {text!r}", "Example: --prefer ptq=installed")
    return name, origin


def _flag(variable: str) -> bool:
    value = os.environ.get(variable, "").lower()
    if value not in _TRUE | _FALSE:
        raise UsageError(f"{variable} is {value!r}", "Set it to 1 or 0")
    return value in _TRUE


def _folder(variable: str) -> Path | None:
    named = os.environ.get(variable)
    return Path(named).expanduser().absolute() if named else None
