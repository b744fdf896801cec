"""Walks CONTRIBUTING.md as a stranger would: its commands and its code, from a copy of the checkout to a board."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "CONTRIBUTING.md"
pytestmark = pytest.mark.timeout(600)  # eight commands in a row, on a machine that may be busy
#: What of the checkout the walk needs; the records that are there would only make it longer.
COPIED = ("benchsuite", "plugins", "pyproject.toml")
#: Commands that need a network, or all the time of a whole CI run. Each is stood in for as the comment says.
NOT_RUN = {
    "git clone URL-OF-YOUR-FORK benchsuite": "a copy of the checkout",
    "cd benchsuite": "the copy is the working folder",
    "make install": "the environment that runs this test",
    "source .venv/bin/activate": "its bin folder comes first on PATH",
    "make test lint types check": "run by CI itself; that the targets exist is tested below",
}


class Step(NamedTuple):
    """A command to run, or a file to write."""

    command: str = ""
    fails: bool = False
    file: str = ""
    text: str = ""


def blocks():
    """Yield language and text of each fenced block."""
    yield from re.findall(r"^```(\w*)\n(.*?)^```$", GUIDE.read_text(), flags=re.MULTILINE | re.DOTALL)


def steps():
    """Yield the steps of the guide in order."""
    for language, text in blocks():
        if language == "console":
            for line in text.splitlines():
                command, _, remark = line.removeprefix("$ ").partition("  # ")
                yield Step(command=command, fails=remark.startswith("fails"))
        else:
            name, _, rest = text.partition("\n")
            yield Step(file=name.removeprefix("# "), text=rest)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """Return a copy of the checkout."""
    clone = tmp_path_factory.mktemp("walk") / "benchsuite"
    clone.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        else:
            shutil.copy(ROOT / name, clone / name)
    return clone


@pytest.fixture(scope="module")
def environment(clone):
    """Return the variables of a stranger's shell: nothing of this test run's, and the copy before the checkout."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("BENCHSUITE_", "PYTEST_", "PYTHON"))}
    return kept | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), kept["PATH"]]),
        "PYTHONPATH": str(clone),
        "PYTHONIOENCODING": "utf-8",
        "BENCHSUITE_CACHE": str(clone.parent / "cache"),
    }


@pytest.fixture(scope="module")
def walked(clone, environment):
    """Walk, and return what each command said."""
    said = {}
    for step in steps():
        if step.file:
            assert (clone / step.file).is_file(), f"{step.file} is not what the scaffold calls it"
            (clone / step.file).write_text(step.text)
        elif step.command not in NOT_RUN:
            command = shlex.split(step.command)
            done = subprocess.run(
                command, cwd=clone, env=environment, capture_output=True, text=True, check=False, encoding="utf-8"
            )
            assert (done.returncode != 0) == step.fails, f"{step.command}\n{done.stdout}\n{done.stderr}"
            said[step.command] = said.get(step.command, "") + done.stdout
    return said


def test_the_guide_holds_commands_and_files_and_nothing_else():
    for language, text in blocks():
        assert language in {"console", "python"}
        lines = text.splitlines()
        if language == "console":
            assert all(line.startswith("$ ") for line in lines)
        else:
            assert re.fullmatch(r"# plugins/[\w./-]+\.py", lines[0])


def test_every_stand_in_is_in_the_guide():
    assert set(NOT_RUN) <= {step.command for step in steps()}


def test_the_make_targets_of_the_guide_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for step in steps():
        if step.command.startswith("make "):
            assert set(step.command.split()[1:]) <= targets


def test_the_files_and_folders_of_the_guide_exist():
    for link in re.findall(r"\]\(([^)#:]+)\)", GUIDE.read_text()):
        assert (ROOT / link).exists(), link


def test_the_walk_uses_the_copy(clone, environment):
    command = [sys.executable, "-c", "import benchsuite; print(benchsuite.__file__)"]
    done = subprocess.run(command, cwd=clone.parent, env=environment, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_relative_to(clone)


def test_the_scaffold_fails_where_the_method_is_missing_and_passes_once_it_is_written(walked):
    first, second = re.findall(r"=+ (?:(\d+) failed, )?(\d+) passed", walked["pytest plugins/my-quant"])
    assert int(first[0]) > 0
    assert second == ("", str(int(first[0]) + int(first[1])))


def test_every_check_passes(walked):
    last = walked["benchsuite check plugins/my-quant"].splitlines()[-1]
    assert re.match(r"all \d+ checks passed", last)


def test_the_walk_ends_with_the_method_on_the_board(walked, clone):
    lines = (clone / "leaderboards" / "quantizer.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| my-quant")]
    task = [row for row in rows if len(row) > 2]
    assert [row[0] for row in task] == ["my-quant INT8", "my-quant INT4"]
    for row in task:
        value = float(re.match(r"[\d.]+", row[1]).group())
        assert 80 < value <= 100  # ten classes: guessing gives 10
    assert list((clone / "leaderboards" / "results").glob("*.jsonl"))
