"""``benchsuite run`` from the command line: exit codes, output, configuration, and being killed."""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from benchsuite.cli.main import main
from benchsuite.cli.progress import LiveReporter, PlainReporter, duration, make_reporter
from benchsuite.engine.estimate import Durations
from benchsuite.store import read_store

TOY = Path(__file__).parent.parent / "engine" / "plugins" / "toy"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command in an empty folder on the toy plugin; return exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHSUITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BENCHSUITE_DATA", raising=False)

    def call(*words, executor="inline", plugins=TOY):
        code = main(["run", "--executor", executor, "--plugin-path", str(plugins), *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def cells(folder):
    return read_store(folder / "leaderboards").cells


def test_a_run_ends_in_records_boards_and_exit_code_0(run, tmp_path):
    code, out, err = run("--plugin", "toy-good[bits=4]", "--task", "toy-one")
    assert code == 0
    assert "toy-good" in out
    assert "50.00" in out
    assert "toy-reference" in (tmp_path / "leaderboards" / "quantizer.md").read_text()
    assert len(cells(tmp_path)) == 6
    assert err.splitlines()[0] == "benchsuite: 1 task: toy-one"
    assert err.splitlines()[1:3] == ["preparing toy-one", "6 cells: 6 to do"]
    assert re.fullmatch(r"benchsuite: 6 ok; boards: .*quantizer\.md.*", err.splitlines()[-1])


def test_elsewhere_than_on_a_terminal_each_cell_is_a_line(run):
    _, _, err = run("--plugin", "toy-good[bits=4]", "--task", "toy-one", "--seeds", "1")
    lines = [line for line in err.splitlines() if line.startswith("[")]
    assert re.fullmatch(r"\[1/2\] ok      toy-one  toy-reference  seed 0  100\.00  0\.0 s", lines[0])
    assert re.fullmatch(r"\[2/2\] ok      toy-one  toy-good\[bits=4\]  seed 0  50\.00  0\.0 s", lines[1])


def test_a_failed_cell_is_a_line_with_its_cause_and_exit_code_1(run, tmp_path):
    code, _, err = run("--plugin", "toy-bad", "--task", "toy-one", "--seeds", "1")
    assert code == 1
    assert "[2/2] failed  toy-one  toy-bad  seed 0  ValueError: this method cannot count" in err
    assert err.splitlines()[-1].startswith("benchsuite: 1 failed, 1 ok")
    assert Counter(record.status for record in cells(tmp_path)) == {"ok": 1, "failed": 1}


def test_the_same_command_again_runs_nothing_and_shows_the_board(run, tmp_path):
    run("--plugin", "toy-good", "--task", "toy-one")
    board = (tmp_path / "leaderboards" / "quantizer.md").read_bytes()
    code, out, err = run("--plugin", "toy-good", "--task", "toy-one")
    assert code == 0
    assert "9 cells: 9 done" in err
    assert "toy-good" in out
    assert (tmp_path / "leaderboards" / "quantizer.md").read_bytes() == board
    assert len(list((tmp_path / "leaderboards" / "results").iterdir())) == 1


def test_the_default_executor_is_a_worker_process(run, tmp_path):
    code, _, _ = run("--plugin", "toy-good[bits=4]", "--task", "toy-one", "--seeds", "1", executor="local")
    assert code == 0
    assert {r.notes["pid"] for r in cells(tmp_path) if r.notes}.isdisjoint({os.getpid()})


def test_retry_chooses_among_what_failed_and_leaves_the_rest(run, tmp_path):
    words = ("--plugin", "toy-bad[how=raise|memory]", "--task", "toy-one", "--seeds", "1")
    code, _, err = run(*words)
    assert code == 1
    assert "1 failed, 1 ok, 1 oom" in err.splitlines()[-1]
    code, _, err = run(*words, "--retry", "oom")
    assert code == 1
    assert "3 cells: 1 done, 1 to do, 1 left as they failed" in err
    assert err.splitlines()[-1].startswith("benchsuite: 1 oom, 1 done before, 1 left as they failed;")
    code, _, err = run(*words, "--retry", "none")
    assert (code, len(cells(tmp_path))) == (1, 4)
    assert "3 cells: 1 done, 2 left as they failed" in err
    assert run(*words, "--retry", "failed,ooom")[2] == ("benchsuite: --retry takes no 'ooom'. Did you mean 'oom'?\n")


def test_a_dry_run_shows_the_plan_and_runs_nothing(run, tmp_path):
    run("--plugin", "toy-good[bits=4]", "--task", "toy-one", "--seeds", "2")
    run("--plugin", "toy-bad", "--task", "toy-one", "--seeds", "1")
    before = len(cells(tmp_path))
    changed = tmp_path / "toy"
    shutil.copytree(TOY, changed)
    card = changed / "benchsuite_toy" / "__init__.py"
    card.write_text(card.read_text().replace('version="1"', 'version="2"'))
    words = ["run", "--plugin", "toy-good[bits=4]", "--plugin", "toy-bad", "--task", "toy-one", "--dry-run"]
    # A process of its own: this one has imported the plugin from its other folder.
    environment = {**os.environ, "BENCHSUITE_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "benchsuite.cli.main", *words, "--plugin-path", str(changed)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 0
    rows = [re.split(r"  +", line.strip()) for line in done.stdout.splitlines()]
    assert rows == [
        ["Task", "Method", "Cells", "Done", "To do", "Stale", "Left", "Why"],
        [
            "toy-one",
            "toy-reference",
            "3",
            "2",
            "1",
            "0",
            "0",
            "the code of toy-reference changed since, its version did not",
        ],
        ["toy-one", "toy-good[bits=4]", "3", "0", "1", "2", "0", "method toy-good is version 2, was 1"],
        ["toy-one", "toy-bad", "3", "0", "3", "0", "0", "failed before: this method cannot count"],
    ]
    assert len(cells(tmp_path)) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--plugin", "topgp"], "there is no plugin or method 'topgp'. Did you mean 'topgq'"),
        (["--plugin", "toy-good", "--task", "toy-on"], "there is no task 'toy-on'. Did you mean 'toy-one'"),
        (["--plugin", "toy-good", "--task", "zzz*"], "no task matches 'zzz*'"),
        (["--plugin", "toy-good", "--suite", "quik"], "there is no suite 'quik'. Did you mean 'quick'"),
        (["--plugin", "toy-good[bit=4]"], "method 'toy-good' has no parameter 'bit'. Did you mean 'bits'"),
        (["--plugin", "toy-good[bits=1]"], "parameter 'bits' = 1 is out of range. It takes int from 2 to 8"),
        (["--plugin", "toy-good", "--task", "toy-absent"], "data set 'toy' is not here. Put it there"),
        (["--plugin", "toy-good", "--seeds", "0"], "Invalid value for '--seeds'"),
        (["--plugin", "toy-good", "--executor", "lokal"], "there is no executor 'lokal'. Did you mean 'local'"),
        (["--task", "toy-more"], "no method is named, and task 'toy-more' proposes none that is here"),
    ],
)
def test_what_cannot_be_run_is_one_line_and_exit_code_2(run, tmp_path, words, message):
    code, out, err = run(*words)
    assert code == 2
    lines = [line for line in err.splitlines() if "preparing" not in line and ": 1 task:" not in line]
    assert len(lines) == 1
    assert lines[0].startswith(f"benchsuite: {message}")
    assert out == ""
    assert not (tmp_path / "leaderboards").exists()


def test_a_results_folder_that_cannot_be_written_is_one_line_and_exit_code_2(run, tmp_path):
    (tmp_path / "leaderboards").mkdir()
    (tmp_path / "leaderboards" / "results").write_text("")
    code, _, err = run("--plugin", "toy-good", "--task", "toy-one")
    assert code == 2
    assert "cannot be written: " in err.splitlines()[-1]


def test_a_task_without_data_is_left_out_of_a_glob_and_the_exit_code_says_so(run):
    code, _, err = run("--plugin", "toy-good", "--task", "toy-[ao]*")
    assert code == 1
    assert "skipped toy-absent: data set 'toy' is not here. Put it there" in err
    assert err.splitlines()[-1].startswith("benchsuite: 9 ok, left out: toy-absent")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", 'plugin = ["toy-good[bits=4]"]\ntask = "toy-one"\nseeds = 2\ndry-run = false\n'),
        ("a.yaml", "plugin: toy-good[bits=4]\ntask: [toy-one]\nseeds: 2\ndry_run: false\n"),
    ],
)
def test_a_config_file_sets_options_and_the_command_line_wins(run, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert run("--config", name)[0] == 0
    assert len(cells(tmp_path)) == 4
    assert run("--config", name, "--seeds", "3", "--plugin", "toy-good[bits=2]")[0] == 0
    assert len(cells(tmp_path)) == 8


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", 'plugins = ["x"]', "has no option 'plugins' to set. Did you mean 'plugin'"),
        ("a.yaml", "config: b.yaml", "has no option 'config' to set"),
        ("a.toml", "seeds = [1]", "sets 'seeds' to [1]. It takes one value"),
        ("a.toml", "force = 1", "sets 'force' to 1. It takes true or false"),
        ("a.toml", "seeds = true", "sets 'seeds' to True. It takes one value"),
        ("a.toml", "plugin = [1, [2]]", "sets 'plugin' to [1, [2]]. It takes a list or one value"),
        ("a.toml", "dry-run = true\ndry_run = true", "sets 'dry-run' twice"),
        ("a.toml", "seeds = ", "cannot be read"),
        ("a.yaml", "{", "cannot be read"),
        ("a.yaml", "- x", "holds no options"),
        ("a.json", "{}", "is neither TOML nor YAML by its name"),
        ("a.toml", None, "cannot be read: No such file or directory"),
    ],
)
def test_a_config_file_that_is_wrong_is_refused(run, tmp_path, name, text, message):
    if text is not None:
        (tmp_path / name).write_text(text)
    code, _, err = run("--config", name)
    assert code == 2
    assert err.startswith(f"benchsuite: config file {name} {message}")
    assert len(err.splitlines()) == 1


def test_a_config_value_of_the_wrong_kind_is_refused_by_its_option(run, tmp_path):
    (tmp_path / "a.toml").write_text('seeds = "many"')
    code, _, err = run("--config", "a.toml")
    assert code == 2
    assert "'--seeds'" in err


class Killed:
    """Starts the command in a process group of its own, and kills the group."""

    def __init__(self, folder, words):
        self.folder = folder
        self.words = [sys.executable, "-m", "benchsuite.cli.main", "run", *words]
        # Nobody tidies up after kill -9: let the scratch folders lie where pytest does.
        self.environment = {**os.environ, "BENCHSUITE_CACHE": str(folder / "cache"), "TMPDIR": str(folder)}

    def start(self):
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        # A process that was started in the background ignores SIGINT, and so would its child.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return subprocess.Popen(
                self.words, cwd=self.folder, env=self.environment, start_new_session=True, text=True, **pipes
            )
        finally:
            signal.signal(signal.SIGINT, before)

    def kill_after(self, lines, seconds):
        """Kill the group some time after so many cells have ended; return whether it still ran."""
        process = self.start()
        for line in process.stderr:
            lines -= line.startswith("[")
            if lines < 0 or (lines == 0 and line.startswith("[")):
                break
        time.sleep(seconds)
        ended = process.poll() is not None
        with_group(process.pid, signal.SIGKILL)
        process.stderr.close()
        process.wait()
        return not ended

    def finish(self):
        process = self.start()
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err


def with_group(leader, number):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, number)


def outcome(folder):
    """Return by cell the metrics of its ok records."""
    found = {}
    for record in read_store(folder / "leaderboards").cells:
        assert record.status == "ok"
        found.setdefault(record.cell, []).append(record.metrics)
    return found


def hunt(folder, words, moments):
    """Start the command again and again, kill it at these moments, let it finish; return what is in its store."""
    victim = Killed(folder, words)
    assert any([victim.kill_after(lines, seconds) for lines, seconds in moments])
    victim.finish()
    return outcome(folder)


def test_a_run_that_is_killed_again_and_again_redoes_no_finished_cell(run, tmp_path):
    """The calm run is made inline: so it shows too that cells do not depend on where they run."""
    words = ["--plugin", "toy-slow", "--task", "toy-one", "--seeds", "8"]
    assert run(*words)[0] == 0
    chance = random.Random(20)
    moments = [(1, 0.05), *((chance.randint(0, 2), chance.uniform(0, 0.3)) for _ in range(2))]
    (tmp_path / "hunted").mkdir()
    hunted = hunt(tmp_path / "hunted", [*words, "--plugin-path", str(TOY)], moments)
    assert hunted == outcome(tmp_path)
    assert all(len(metrics) == 1 for metrics in hunted.values())


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_on_the_quick_data_that_is_killed_again_and_again_ends_as_if_it_was_not(tmp_path):
    words = ["--plugin", "ptq-minmax", "--task", "digits-knn-gcn", "--seeds", "3"]
    calm, hunted = tmp_path / "calm", tmp_path / "hunted"
    calm.mkdir()
    hunted.mkdir()
    Killed(calm, words).finish()
    chance = random.Random(21)
    moments = [(1, 0.1), *((chance.randint(0, 2), chance.uniform(0, 3)) for _ in range(3))]
    found = hunt(hunted, words, moments)
    assert found == outcome(calm)
    assert all(len(metrics) == 1 for metrics in found.values())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_lose_nothing_and_exit_with_130(tmp_path, number):
    words = ["--plugin", "toy-slow[seconds=0.3]", "--task", "toy-one", "--seeds", "30", "--plugin-path", str(TOY)]
    process = Killed(tmp_path, words).start()
    lines = iter(process.stderr.readline, "")
    next(line for line in lines if "toy-slow" in line and line.startswith("["))
    # Ctrl-C at a terminal reaches the whole group, SIGTERM the process alone.
    with_group(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    rest = list(lines)
    process.stderr.close()
    assert process.wait() == 130
    assert re.fullmatch(r"benchsuite: interrupted after \d+ of 60 cells; the same command goes on\n", rest[-1])
    assert not any("Traceback" in line for line in rest)
    [path] = (tmp_path / "leaderboards" / "results").iterdir()
    assert '"status":"interrupted","type":"end"' in path.read_text().splitlines()[-1]


def test_the_first_line_comes_at_once(tmp_path):
    """Within two seconds of a process that would not start faster than that on a loaded machine: torch comes later."""
    code = "import sys; from benchsuite.cli.main import main; import benchsuite.cli.run as r\n"
    code += "r._announce = lambda *_, **__: sys.exit('torch' in sys.modules)\n"
    code += f"main(['run', '--plugin', 'toy-good', '--task', 'toy-one', '--plugin-path', {str(TOY)!r}])"
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (7500, "2 h 5 min")],
)
def test_a_time_span_is_written_as_people_do(seconds, text):
    assert duration(seconds) == text


def test_a_terminal_gets_a_live_display_and_a_pipe_lines():
    digits = {"toy-one": ("accuracy", 2)}
    terminal = Console(file=io.StringIO(), force_terminal=True)
    assert isinstance(make_reporter(terminal, Durations(), 1, digits), LiveReporter)
    pipe = make_reporter(Console(file=io.StringIO()), Durations(), 1, digits)
    assert type(pipe) is PlainReporter


def test_the_live_display_shows_counts_the_running_cell_and_the_time_left(run, monkeypatch):
    screen = Console(file=io.StringIO(), force_terminal=True, width=150, markup=False, highlight=False)
    monkeypatch.setattr("benchsuite.cli.common.console", lambda stderr=False: screen)
    code, _, _ = run("--plugin", "toy-slow[seconds=0.4]", "--task", "toy-one", "--seeds", "3")
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.file.getvalue())
    assert code == 0
    assert "3/6" in shown
    assert re.search(r"about 0\.[0-9] s left", shown)
    assert "toy-one toy-slow[seconds=0.4] seed 1" in shown
    assert "[6/6] ok" in shown
