"""``benchsuite new`` writes a plugin that is complete but for its method, or nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchsuite.cli.main import main
from benchsuite.cli.new import scaffold
from benchsuite.errors import UsageError

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
#: Long, short, a keyword, a digit in front, and names of things that the scaffold imports.
NAMES = ["q", "my-quant", "none", "4-bit", "quantization-job", "object", "a" * 19 + "-" + "b" * 20]


def line_of(capsys):
    """Return what stands on stderr, which must be one line."""
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return lines[0]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_it_writes_the_whole_folder_and_says_what_comes_next(capsys):
    assert main(["new", "quantizer", "my-quant"]) == 0
    files = sorted(str(path.relative_to("plugins/my-quant")) for path in Path("plugins").rglob("*") if path.is_file())
    assert files == [
        "README.md",
        "benchsuite_my_quant/__init__.py",
        "benchsuite_my_quant/method.py",
        "pyproject.toml",
        "tests/conftest.py",
        "tests/test_my_quant.py",
    ]
    said = capsys.readouterr().out
    assert "benchsuite check plugins/my-quant" in said
    assert "--plugin-path plugins" in said  # this folder is not the suite's own
    assert [path.name for path in Path("plugins").iterdir()] == ["my-quant"]


def test_the_scaffolds_tests_fail_only_where_the_method_is_missing(tmp_path):
    folder = scaffold("a-scaffold", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-c", ROOT / "pyproject.toml", "--rootdir", ROOT, folder]
    done = subprocess.run([*command, "-rA", "--tb=line"], capture_output=True, text=True, check=False, cwd=ROOT)
    summary = [line for line in done.stdout.splitlines() if line.startswith(("PASSED", "FAILED", "ERROR"))]
    passed = {line.partition("[")[2].rstrip("]") for line in summary if line.startswith("PASSED")}
    failed = [line for line in summary if line.startswith("FAILED")]
    of_the_card = {"card-is-valid", "card-names-its-sources", "target-loads", "target-quantizes"}
    of_the_folder = {
        "readme-is-there",
        "folder-names-one-plugin",
        "card-module-imports",
        "card-module-is-light",
        "cards-load",
    }
    assert passed == of_the_folder | {f"{name}-a-scaffold" for name in of_the_card}
    assert len(failed) == 15
    assert done.stdout.count("NotImplementedError: the method is missing: write quantize") >= len(failed)
    assert not [line for line in summary if line.startswith("ERROR")]


@pytest.mark.parametrize("name", NAMES)
def test_what_it_writes_is_clean_python_whatever_the_name(tmp_path, name):
    folder = scaffold(name, tmp_path / "plugins", author='Ada "Countess" Lovelace \\ é')
    for file in folder.rglob("*.py"):
        compile(file.read_text(), str(file), "exec")
    for command in (["check", "--ignore", "ANN,D"], ["format", "--check"]):
        ruff = [BIN / "ruff", *command, "--no-cache", "--config", ROOT / "pyproject.toml", folder]
        done = subprocess.run(ruff, capture_output=True, text=True, check=False, cwd=ROOT)
        assert done.returncode == 0, done.stdout


def test_the_author_is_written_as_toml(tmp_path):
    tomllib = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    author = 'Ada "Countess" Lovelace \\ é'
    with_author = tomllib.loads((scaffold("with", tmp_path, author) / "pyproject.toml").read_text())
    without = tomllib.loads((scaffold("without", tmp_path) / "pyproject.toml").read_text())
    assert with_author["project"]["authors"] == [{"name": author}]
    assert "authors" not in without["project"]


@pytest.mark.parametrize(
    "name", ["My-Quant", "my_quant", "-quant", "quant-", "a--b", "../up", "a/b", "", "a b", "é", "a" * 41, "q\n"]
)
def test_a_name_that_cannot_be_a_plugins_is_refused(name, capsys):
    assert main(["new", "quantizer", "--", name]) == 2
    assert "cannot be a plugin's name" in line_of(capsys)
    assert not Path("plugins").exists()


@pytest.mark.parametrize("kind", ["norm_placement", "curriculum", "probe"])
def test_other_kinds_are_refused_in_one_line(kind, capsys):
    assert main(["new", kind, "mine"]) == 2
    assert "only a quantizer can be scaffolded so far" in line_of(capsys)


def test_an_unknown_kind_is_refused_with_the_near_name(capsys):
    assert main(["new", "quantiser", "mine"]) == 2
    assert "Did you mean 'quantizer'?" in line_of(capsys)


def test_a_folder_that_is_there_is_left_as_it_is(capsys):
    Path("plugins/mine").mkdir(parents=True)
    Path("plugins/mine/notes.txt").write_text("mine")
    assert main(["new", "quantizer", "mine"]) == 2
    assert "plugins/mine exists already" in line_of(capsys)
    assert [path.name for path in Path("plugins/mine").iterdir()] == ["notes.txt"]


def test_a_dangling_link_is_not_written_through(tmp_path):
    (tmp_path / "mine").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="exists already"):
        scaffold("mine", tmp_path)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("name", "words"), [("topgq", "there is a plugin 'topgq' already"), ("ptq-node", "'ptq' offers a method")]
)
def test_a_name_that_a_plugin_or_a_method_has_is_refused(name, words, capsys):
    assert main(["new", "quantizer", name]) == 2
    assert words in line_of(capsys)


def test_a_place_that_cannot_be_written_is_one_line(capsys):
    Path("file").write_text("")
    assert main(["new", "quantizer", "mine", "--dir", "file/below"]) == 2
    assert "cannot be written" in line_of(capsys)


def test_nothing_is_left_where_writing_fails_halfway(tmp_path, monkeypatch):
    written = []
    write = Path.write_text

    def full(self, *args, **kwargs):
        if len(written) == 3:
            raise OSError(28, os.strerror(28))
        written.append(self)
        return write(self, *args, **kwargs)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(UsageError, match="No space left on device"):
        scaffold("mine", tmp_path / "plugins")
    assert len(written) == 3
    assert list((tmp_path / "plugins").iterdir()) == []


def test_an_author_of_two_lines_is_refused(tmp_path):
    with pytest.raises(UsageError, match="--author takes one line"):
        scaffold("mine", tmp_path, author="Ada\nLovelace")
