"""``benchsuite reproduce`` and ``explain``: one recorded cell, again and in full."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchsuite.cli.main import main
from benchsuite.contracts.cards import Metric
from benchsuite.engine.reproduce import compare
from benchsuite.store import read_store

TOY = Path(__file__).parent.parent / "engine" / "plugins" / "toy"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A folder with the records of two toy methods, and the environment of the commands."""
    folder = tmp_path_factory.mktemp("recorded")
    environment = {**os.environ, "BENCHSUITE_CACHE": str(folder / "cache")}
    words = ["--plugin", "toy-good[bits=4]", "--plugin", "toy-bad", "--task", "toy-one", "--seeds", "2"]
    done = command(folder, environment, "run", *words)
    assert done.returncode == 1
    return folder, environment


def command(folder, environment, *words, plugin=TOY):
    """Run a command in a process of its own: the toy plugin is changed below, and a process imports it once."""
    line = [sys.executable, "-m", "benchsuite.cli.main", *words, "--plugin-path", str(plugin)]
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def cell_of(folder, method, seed=1):
    return next(
        record.cell
        for record in read_store(folder / "leaderboards").cells
        if (record.key["methods"]["quantizer"]["name"], record.key["seed"]) == (method, seed)
    )


def changed(tmp_path, file, old, new):
    plugin = tmp_path / "toy"
    shutil.copytree(TOY, plugin)
    path = plugin / "benchsuite_toy" / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    return plugin


def test_the_same_code_gives_the_same_bits_and_records_nothing(recorded):
    folder, environment = recorded
    cell = cell_of(folder, "toy-good")
    before = len(read_store(folder / "leaderboards").cells)
    done = command(folder, environment, "reproduce", cell[:12])
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "bitwise")
    assert f"cell {cell}: toy-one, toy-good[bits=4,share=0.5], seed 1" in done.stderr
    assert len(read_store(folder / "leaderboards").cells) == before


def test_other_answers_with_the_same_score_are_within_tolerance(recorded, tmp_path):
    folder, environment = recorded
    plugin = changed(tmp_path, "methods.py", "-1 - cell.seed", "-3 - cell.seed")
    done = command(folder, environment, "reproduce", cell_of(folder, "toy-good"), plugin=plugin)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "within tolerance")
    assert "other bits" in done.stdout


def test_another_score_differs_and_exits_with_1(recorded, tmp_path):
    folder, environment = recorded
    plugin = changed(tmp_path, "methods.py", "self.share * len(labels)", "0.3 * len(labels)")
    done = command(folder, environment, "reproduce", cell_of(folder, "toy-good"), plugin=plugin)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "differs")
    assert "-20" in done.stdout


def test_a_cell_that_fails_this_time_is_one_line_and_exit_code_1(recorded, tmp_path):
    folder, environment = recorded
    plugin = changed(
        tmp_path, "methods.py", "        wrong = np", "        raise ValueError('not today')\n        wrong = np"
    )
    done = command(folder, environment, "reproduce", cell_of(folder, "toy-good"), plugin=plugin)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("has no result this time: ValueError: not today")


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("__init__.py", 'version="1"', 'version="2"', "method toy-good is version 2, was 1"),
        ("task.py", 'f"hash-of-', 'f"new-hash-of-', "data changed"),
        ("__init__.py", '"answers": 10', '"answers": 11', "task config changed; data changed"),
        ("__init__.py", '"share", default', '"part", default', "has no parameter 'share'"),
    ],
)
def test_what_changed_since_is_named(recorded, tmp_path, file, old, new, says):
    folder, environment = recorded
    plugin = changed(tmp_path, file, old, new)
    done = command(folder, environment, "reproduce", cell_of(folder, "toy-good"), plugin=plugin)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr.splitlines()[-1]


def test_a_failed_cell_and_a_wrong_id_are_one_line(recorded, monkeypatch, capsys):
    folder, _ = recorded
    monkeypatch.chdir(folder)
    for words, says in [
        (["reproduce", cell_of(folder, "toy-bad")], "is failed: there is no result to reproduce"),
        (["reproduce", "zz"], "no recorded cell begins with 'zz'. benchsuite results export lists them all"),
        (["explain", ""], "6 cells begin with ''"),
    ]:
        assert main([*words, "--plugin-path", str(TOY)]) == 2
        assert says in capsys.readouterr().err


def test_explain_says_every_seed_and_a_command_that_finds_the_cell_done(recorded):
    folder, environment = recorded
    cell = cell_of(folder, "toy-good")
    done = command(folder, environment, "explain", cell)
    assert done.returncode == 0
    lines = {tuple(line.split(None, 1)) for line in done.stdout.splitlines()[1:]}
    assert ("value", "accuracy 50.0") in lines
    assert ("seed", f"1        accuracy 50  ({cell})") in lines
    assert ("config", "answers: 10") in lines
    again = shlex.split(next(rest for head, rest in lines if head == "command"))
    plan = command(folder, environment, *again[1:], "--dry-run").stdout.splitlines()
    row = next(line.split() for line in plan if "toy-good" in line)
    assert row[2:5] == ["2", "2", "0"]


def test_explain_shows_why_a_cell_failed(recorded):
    folder, environment = recorded
    done = command(folder, environment, "explain", cell_of(folder, "toy-bad"))
    assert "failed: ValueError: this method cannot count" in done.stdout


def test_tolerance_is_what_boards_print(recorded):
    folder, _ = recorded
    record = next(r for r in read_store(folder / "leaderboards").cells if r.status == "ok")
    card = type("Card", (), {"metrics": (Metric(name="accuracy", unit="%", digits=1),)})
    old = record.metrics["accuracy"]
    assert compare(record, {"accuracy": old + 0.05}, record.outputs, card).verdict == "within tolerance"
    assert compare(record, {"accuracy": old + 0.06}, record.outputs, card).verdict == "differs"
    bare = record.model_copy(update={"outputs": {}})
    assert compare(bare, {"accuracy": old}, record.outputs, card).verdict == "within tolerance"
    assert compare(bare, {"accuracy": old}, record.outputs, card).outputs is None
