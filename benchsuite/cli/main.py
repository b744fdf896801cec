"""The command ``benchsuite``.

Each command lives in a module of its own that is imported when the command runs. Names and help lines stand in a
table here, so ``benchsuite --help`` imports click and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from benchsuite import __version__
from benchsuite.errors import BenchsuiteError, UsageError, near

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["COMMANDS", "Entry", "benchsuite", "main"]

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

#: click raises it from version 8.2 on where a group below this one is called without a command; before, it printed the
#: help by itself.
_NO_ARGUMENTS: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())


class Entry(NamedTuple):
    """Where a command is, and what ``--help`` says of it."""

    target: str
    """``"module:attribute"`` of a click command."""
    help: str


COMMANDS: dict[str, Entry] = {
    "run": Entry("benchsuite.cli.run:run", "Run methods on tasks, record what happens, show the board."),
    "list": Entry("benchsuite.cli.list_:list_", "List methods, tasks, suites, plugins or data sets."),
    "show": Entry("benchsuite.cli.show:show", "Show all there is to know about one of them."),
    "leaderboard": Entry("benchsuite.cli.leaderboard:leaderboard", "Make the boards from the records."),
    "explain": Entry("benchsuite.cli.explain:explain", "Print all that stands behind one recorded number."),
    "reproduce": Entry("benchsuite.cli.reproduce:reproduce", "Run one recorded cell again, and compare."),
    "results": Entry("benchsuite.cli.results:results", "Verify, merge, withdraw and export records."),
    "data": Entry("benchsuite.cli.data:data", "Download and check data sets."),
    "new": Entry("benchsuite.cli.new:new", "Start a plugin of your own."),
    "check": Entry("benchsuite.cli.check:check", "Check a plugin against its contract."),
}


class LazyGroup(click.Group):
    """A group that imports a command when it is called, and lists commands without importing any."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of their table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, or None where there is none of that name."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        import importlib

        module, _, attribute = entry.target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that ``args`` begins with.

        Raises:
            UsageError: there is none; the nearest name is the mend.
        """
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise UsageError(f"there is no command {args[0]!r}", near(args[0], COMMANDS))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands' help lines from their table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: benchsuite run --plugin topgq",
)
@click.version_option(__version__, prog_name="benchsuite")
@click.pass_context
def benchsuite(ctx: click.Context) -> None:
    """Benchmarks for GNN quantizers, norm placements, depth curricula and model probes."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(EXIT_USAGE)
    from benchsuite.cli.common import warnings_to_stderr

    warnings_to_stderr()


def main(args: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; what people can mend ends as one line on stderr.

    Args:
        args: the words after ``benchsuite``; None takes them from the command line.

    Returns:
        0, or what the command ended with; 2 for a wrong use or an operating system's error; 130 after Ctrl-C.
    """
    try:
        code = benchsuite.main(args=None if args is None else list(args), prog_name="benchsuite", standalone_mode=False)
        sys.stdout.flush()
    except _NO_ARGUMENTS as error:
        error.show()
        return EXIT_USAGE
    except (BenchsuiteError, click.ClickException, OSError) as error:
        return _report(error)
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    return code if isinstance(code, int) else 0


def _report(error: BenchsuiteError | click.ClickException | OSError) -> int:
    from benchsuite.cli.common import one_line

    _silence_stdout_if_broken()
    if isinstance(error, BrokenPipeError):
        return 1
    if isinstance(error, click.ClickException):
        code, text = error.exit_code, error.format_message()
        if isinstance(error, click.UsageError) and error.ctx is not None:
            text = f"{text.rstrip('.')}. See {error.ctx.command_path} --help"
    elif isinstance(error, BenchsuiteError):
        code, text = error.exit_code, str(error)
    else:
        code, text = EXIT_USAGE, _os_line(error)
    click.echo(f"benchsuite: {one_line(text)}", err=True)
    return code


def _os_line(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename is not None else ""
    return f"{where}{error.strerror or error}"


def _silence_stdout_if_broken() -> None:
    """Point a stdout that cannot be written at nothing: the interpreter's own last flush would fail and say so."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
