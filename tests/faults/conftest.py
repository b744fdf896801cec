"""Plugins that misbehave, written into a folder of their own and run through the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from benchsuite.store import read_store

TOY = Path(__file__).parents[1] / "engine" / "plugins" / "toy"

PROJECT = """
[project]
name = "benchsuite-{name}"
version = "1"

[project.entry-points.benchsuite]
{name} = "benchsuite_{name}"
"""

CARDS = """
from benchsuite.plugin import MethodCard, hookimpl

@hookimpl
def benchsuite_methods():
    return [MethodCard(name={name!r}, kind="quantizer", target="benchsuite_{name}.method:Method", summary="S")]
"""


class Workshop:
    """Writes plugins and runs the command on them and on the toy plugin."""

    def __init__(self, folder):
        self.folder = folder
        self.plugins = folder / "plugins"
        self.plugins.mkdir()

    def plugin(self, name, cards=CARDS, method=None):
        package = self.plugins / name / f"benchsuite_{name}"
        package.mkdir(parents=True)
        (package.parent / "pyproject.toml").write_text(PROJECT.format(name=name))
        (package / "__init__.py").write_text(cards.format(name=name) if cards is CARDS else dedent(cards))
        if method is not None:
            (package / "method.py").write_text(dedent(method))

    def run(self, *words, timeout=120):
        command = [sys.executable, "-m", "benchsuite.cli.main", "run", *words, "--task", "toy-one", "--seeds", "2"]
        for folder in (TOY, self.plugins):
            command += ["--plugin-path", str(folder)]
        environment = {**os.environ, "BENCHSUITE_CACHE": str(self.folder / "cache"), "TMPDIR": str(self.folder)}
        environment.pop("BENCHSUITE_STRICT", None)
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False, timeout=timeout
        )

    def records(self):
        return {
            (record.key["methods"]["quantizer"]["name"], record.key["seed"]): record
            for record in read_store(self.folder / "leaderboards").latest().values()
        }


@pytest.fixture
def workshop(tmp_path):
    return Workshop(tmp_path)
