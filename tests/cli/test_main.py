"""The frame of the command line: help, errors as one line, exit codes."""

from __future__ import annotations

import importlib
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from benchsuite import __version__
from benchsuite.cli import common
from benchsuite.cli import main as frame
from benchsuite.errors import BenchsuiteError, UsageError


@pytest.fixture
def command(monkeypatch):
    """Put a function in the place of ``benchsuite show``."""

    def put(function):
        monkeypatch.setattr("benchsuite.cli.show.show", click.command("show")(function))

    return put


def process(*words: str, stdout=subprocess.PIPE, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("BENCHSUITE_")}
    code = "import sys; from benchsuite.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, env={**clean, **environment})


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_every_command_with_its_line(capsys, flag):
    assert frame.main([flag]) == 0
    out = capsys.readouterr().out
    for name, entry in frame.COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(entry.help)}$", out, re.MULTILINE)


def test_without_a_command_there_is_help_and_exit_code_2(capsys):
    assert frame.main([]) == 2
    captured = capsys.readouterr()
    assert "Commands:" in captured.err
    assert captured.out == ""


def test_version(capsys):
    assert frame.main(["--version"]) == 0
    assert capsys.readouterr().out == f"benchsuite, version {__version__}\n"


@pytest.mark.parametrize("name", frame.COMMANDS)
def test_every_command_is_where_the_table_says_and_has_that_name(name):
    module, _, attribute = frame.COMMANDS[name].target.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    assert isinstance(found, click.Command)
    assert found.name == name


def test_an_unknown_command_offers_the_near_one(capsys):
    assert frame.main(["lst"]) == 2
    assert capsys.readouterr().err == "benchsuite: there is no command 'lst'. Did you mean 'list'?\n"


def test_a_wrong_option_is_one_line(capsys):
    assert frame.main(["list", "methods", "--jsn"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith("benchsuite: ")
    assert "--jsn" in err
    assert err.endswith("See benchsuite list --help\n")


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (BenchsuiteError("it is bad", "Mend it"), 2, "benchsuite: it is bad. Mend it\n"),
        (UsageError("two\nlines\x1b"), 2, "benchsuite: two lines\N{REPLACEMENT CHARACTER}\n"),
        (OSError(28, "No space left on device", "/x/run.jsonl"), 2, "benchsuite: /x/run.jsonl: No space left on devi"),
        (PermissionError(13, "Permission denied", "/x"), 2, "benchsuite: /x: Permission denied\n"),
        (OSError("no number"), 2, "benchsuite: no number\n"),
        (click.ClickException("of click"), 1, "benchsuite: of click\n"),
    ],
)
def test_what_people_can_mend_is_one_line(command, capsys, error, code, line):
    def fail():
        raise error

    command(fail)
    assert frame.main(["show"]) == code
    err = capsys.readouterr().err
    assert err.startswith(line)
    assert err.count("\n") == 1


def test_a_mistake_of_ours_keeps_its_traceback(command):
    def fail():
        raise ZeroDivisionError

    command(fail)
    with pytest.raises(ZeroDivisionError):
        frame.main(["show"])


def test_ctrl_c_is_130(command):
    def fail():
        raise KeyboardInterrupt

    command(fail)
    assert frame.main(["show"]) == 130


def test_a_command_sets_the_exit_code(command):
    command(lambda: click.get_current_context().exit(1))
    assert frame.main(["show"]) == 1


def test_a_command_that_returns_nothing_is_0(command):
    command(lambda: None)
    assert frame.main(["show"]) == 0


def test_warnings_are_lines_on_stderr_once(command, capsys):
    command(lambda: logging.getLogger("benchsuite.host").warning("a %s\nline\x1b[31m", "bad"))
    for _ in range(2):
        frame.main(["show"])
    assert capsys.readouterr().err == "benchsuite: warning: a bad line\N{REPLACEMENT CHARACTER}[31m\n" * 2


def test_a_reader_that_goes_away_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    done = process("--help", stdout=writer)
    os.close(writer)
    assert done.stderr == ""
    assert done.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_behind_stdout_is_one_line():
    with Path("/dev/full").open("w") as full:
        done = process("list", "suites", stdout=full)
    assert done.returncode == 2
    assert done.stderr == "benchsuite: No space left on device\n"


def test_the_startup_benchmark_prints_a_ratio():
    script = Path(__file__).parents[2] / "benchmarks" / "startup.py"
    done = subprocess.run([sys.executable, str(script), "-n", "1"], capture_output=True, text=True, check=True)
    assert re.search(r"^ratio +\d+\.\d\d ", done.stdout, re.MULTILINE)


def test_host_options_reach_the_command(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setenv("BENCHSUITE_PLUGIN_PATH", os.pathsep.join(["/env/one", "", "/env/two"]))
    monkeypatch.setenv("BENCHSUITE_STRICT", "1")
    probe = click.command()(common.host_options(lambda host: seen.append(host)))
    words = ["--plugin-path", str(tmp_path), "-p", "no:alpha", "-p", "no:beta", "--prefer", "ptq=path", "--no-plugins"]
    probe.main(words, standalone_mode=False)
    (host,) = seen
    assert host.builtins == ("benchsuite.tasks.builtin",)
    assert host.plugin_paths == (tmp_path, Path("/env/one"), Path("/env/two"))
    assert host.disabled == ("alpha", "beta")
    assert host.prefer == {"ptq": "path"}
    assert host.no_plugins
    assert host.strict


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["-p", "alpha"], "-p takes no:NAME, not 'alpha'. Example: -p no:ptq"),
        (["-p", "no:"], "-p takes no:NAME, not 'no:'. Example: -p no:ptq"),
        (["--prefer", "ptq"], "--prefer takes NAME=ORIGIN, not 'ptq'. Example: --prefer ptq=installed"),
        (["-p", "no:fp23"], "there is no plugin 'fp23' to leave out. Did you mean 'fp32'?"),
        (["--plugin-path", "/no/such"], "plugin path '/no/such' is not a folder. Name a plugin's folder, or a folder "),
    ],
)
def test_wrong_host_options_are_one_line(capsys, words, line):
    assert frame.main(["list", "methods", *words]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"benchsuite: {line}")
    assert err.count("\n") == 1


def test_a_switch_that_is_neither_on_nor_off_is_refused(monkeypatch, capsys):
    monkeypatch.setenv("BENCHSUITE_STRICT", "maybe")
    assert frame.main(["list", "methods"]) == 2
    assert capsys.readouterr().err == "benchsuite: BENCHSUITE_STRICT is 'maybe'. Set it to 1 or 0\n"


def test_folders_come_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("BENCHSUITE_DATA", raising=False)
    monkeypatch.delenv("BENCHSUITE_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert common.data_root() is None
    assert common.cache_root().name == "benchsuite"
    monkeypatch.setenv("BENCHSUITE_DATA", "~/data")
    monkeypatch.setenv("BENCHSUITE_CACHE", "cache")
    assert common.data_root() == tmp_path / "data"
    assert common.cache_root() == tmp_path / "cache"


def test_tables_are_aligned_and_whole_where_nobody_watches(capsys):
    common.print_table(("A", "BBB"), [("x" * 100, "[bold]y"), ("z", "\x1b[2Jq")])
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"{'A':100}  BBB", f"{'x' * 100}  [bold]y", f"{'z':100}  \N{REPLACEMENT CHARACTER}[2Jq"]


def test_tables_on_a_terminal_print_markup_as_it_is(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    common.print_table(("A", "BBB"), [("[bold]x", "\x1b[2Jq")])
    out = capsys.readouterr().out
    assert "[bold]x" in out
    assert "\x1b[2J" not in out
    assert "\N{REPLACEMENT CHARACTER}[2Jq" in out
