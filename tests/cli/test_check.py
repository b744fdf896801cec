"""``benchsuite check`` prints one line per check, ends with 0 or 1, and with 2 where there is nothing to check."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchsuite.cli.check import _find
from benchsuite.cli.common import BUILTINS
from benchsuite.cli.main import main
from benchsuite.cli.new import scaffold
from benchsuite.host import HostOptions
from benchsuite.testing.folder import PluginFolder

SOUND = """
from benchsuite.models.quantized import SiteQuantizedModel, WeightFiller


class {name}:
    def __init__(self, bits=8):
        self.bits = bits

    def quantize(self, job):
        for _, module in job.model.weights():
            module.weight_site.fill(WeightFiller(self.bits))
        return SiteQuantizedModel(job.model)
"""


def check(*args, env=None):
    """Run the command in a process of its own, as people do."""
    command = [sys.executable, "-m", "benchsuite.cli.main", "check", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8", env=env)


def test_a_sound_plugin_passes_with_one_line_per_check(tmp_path):
    folder = scaffold("sound-one", tmp_path)
    (folder / "benchsuite_sound_one" / "method.py").write_text(SOUND.format(name="SoundOne"))
    done = check(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "folder"
    assert sum("✔" in line for line in lines) == 24
    assert lines[-1].startswith("all 24 checks passed")
    assert done.stderr == ""


def test_a_plugin_that_fails_says_what_and_how_to_mend_it_in_json_too(tmp_path):
    folder = scaffold("unwritten", tmp_path)
    done = check(folder, "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    failed = {entry["check"]: entry for entry in report["checks"] if not entry["passed"]}
    assert not report["passed"]
    assert len(failed) == 15
    assert "the method is missing" in failed["logits-are-finite"]["found"]
    assert "method.py, line" in failed["logits-are-finite"]["mend"]


def broken_folder(tmp_path):
    folder = scaffold("broken", tmp_path)
    (folder / "README.md").unlink()
    (folder / "benchsuite_broken" / "__init__.py").write_text("raise RuntimeError('not é today')\n")
    return folder


def test_a_plugin_that_does_not_load_ends_with_1_and_no_worker_starts(tmp_path, capsys):
    assert main(["check", str(broken_folder(tmp_path))]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == ["✘", "found:", "mend:", "✔", "✘", "found:", "mend:"]
    assert lines[-1].startswith("2 of 3 checks failed")


def test_signs_are_ascii_where_the_output_is(tmp_path):
    done = check(broken_folder(tmp_path), env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.returncode == 1
    assert done.stdout.isascii()
    assert "  FAIL readme-is-there" in done.stdout
    assert "  ok   folder-names-one-plugin" in done.stdout


@pytest.mark.parametrize(
    ("plugin", "words"),
    [
        ("no/such/folder", "there is no folder 'no/such/folder'"),
        ("./empty", "there is no folder"),
        ("topqg", "there is no plugin 'topqg'. Did you mean 'topgq'"),
        ("ptq-node", "is a method of the plugin 'ptq'. Check that: benchsuite check ptq"),
        ("plugins", "'plugins' is no plugin's folder, it has no pyproject.toml. Plugins in it: one, two"),
    ],
)
def test_what_is_no_plugin_is_one_line_and_exit_code_2(plugin, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        scaffold(name, Path("plugins"))
    assert main(["check", plugin]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line


def test_a_bundled_plugin_is_found_by_name():
    folder = _find("ptq", HostOptions(builtins=BUILTINS))
    assert isinstance(folder, PluginFolder)
    info, cards = folder.load()
    assert info.name == "ptq"
    assert "ptq-minmax" in {card.name for card in cards}


def test_checking_starts_without_torch():
    code = "import sys, benchsuite.cli.check, benchsuite.testing.runner; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
