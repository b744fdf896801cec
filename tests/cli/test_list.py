"""``benchsuite list``."""

from __future__ import annotations

import json
import sys

import pytest

from benchsuite.cli.list_ import dataset_state
from benchsuite.cli.main import main
from benchsuite.contracts.cards import DatasetCard

CARD = """
from benchsuite.plugin import MethodCard, hookimpl

@hookimpl
def benchsuite_methods():
    return [MethodCard(name="mine", kind="quantizer", target=__name__ + ":M", summary="A sham.", sham=True)]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a working plugin and a broken one."""
    for name, source in (("list-test-good", CARD), ("list-test-bad", "import no_such_library")):
        package = name.replace("-", "_")
        (tmp_path / name / package).mkdir(parents=True)
        (tmp_path / name / package / "__init__.py").write_text(source)
        entry = f'[project]\nversion = "7"\n[project.entry-points.benchsuite]\n{name} = "{package}"\n'
        (tmp_path / name / "pyproject.toml").write_text(entry)
        monkeypatch.delitem(sys.modules, package, raising=False)
    return str(tmp_path)


def table(capsys) -> dict[str, list[str]]:
    """Return the printed rows by their first column, split where two spaces are."""
    lines = capsys.readouterr().out.splitlines()
    rows = [[cell.strip() for cell in line.split("  ") if cell] for line in lines[1:]]
    return {row[0]: row for row in rows}


def test_methods(folder, capsys):
    assert main(["list", "methods", "--plugin-path", folder]) == 0
    captured = capsys.readouterr()
    (mine,) = [line.split() for line in captured.out.splitlines() if line.startswith("mine ")]
    assert mine == ["mine", "quantizer", "list-test-good", "1", "Sham", "control.", "A", "sham."]
    assert "topgq" in captured.out
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("benchsuite: warning: plugin 'list-test-bad' (path in ")
    assert "phase import: ModuleNotFoundError: No module named 'no_such_library'" in captured.err


def test_plugins_shows_the_broken_ones_with_phase_and_cause(folder, capsys):
    assert main(["list", "plugins", "--plugin-path", folder]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    rows = {line.split()[0]: " ".join(line.split()) for line in captured.out.splitlines()}
    assert rows["list-test-good"] == "list-test-good ok path 7 mine"
    assert rows["list-test-bad"].startswith("list-test-bad broken: import path ModuleNotFoundError: No module named")
    assert rows["builtin"].startswith("builtin ok builtin ")


def test_plugins_as_json(folder, capsys):
    assert main(["list", "plugins", "--json", "--plugin-path", folder]) == 0
    entries = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert entries["list-test-good"]["methods"] == ["mine"]
    assert entries["list-test-good"]["state"] == "ok"
    bad = entries["list-test-bad"]
    assert (bad["state"], bad["phase"]) == ("broken", "import")
    assert bad["location"].endswith("list-test-bad")


def test_strict_ends_with_the_broken_plugin(folder, capsys, monkeypatch):
    monkeypatch.setenv("BENCHSUITE_STRICT", "1")
    assert main(["list", "methods", "--plugin-path", folder]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("benchsuite: plugin 'list-test-bad'")


def test_no_plugins_leaves_the_suites_own(capsys):
    assert main(["list", "plugins", "--no-plugins"]) == 0
    assert list(table(capsys)) == ["builtin"]
    assert main(["list", "methods", "--no-plugins"]) == 0
    assert table(capsys) == {}


def test_one_plugin_can_be_left_out(capsys):
    assert main(["list", "methods", "-p", "no:topgq"]) == 0
    assert "topgq" not in capsys.readouterr().out


def test_tasks_and_suites(capsys):
    assert main(["list", "tasks", "--json"]) == 0
    tasks = {task["name"]: task for task in json.loads(capsys.readouterr().out)}
    assert tasks["cora-gcn"]["dataset"] == "cora"
    assert main(["list", "suites", "--json"]) == 0
    suites = {suite["name"]: suite["tasks"] for suite in json.loads(capsys.readouterr().out)}
    assert {"quick", "standard", "full"} <= set(suites)
    assert suites["quick"] == sorted(name for name, task in tasks.items() if "quick" in task["suites"])
    assert main(["list", "tasks"]) == 0
    assert table(capsys)["cora-gcn"][1:4] == ["quantizer", "cora", "node-quantization/1"]


def test_datasets_say_what_is_here(capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("BENCHSUITE_DATA", raising=False)
    main(["list", "datasets"])
    states = {name: row[1] for name, row in table(capsys).items()}
    assert [states[name] for name in ("citeseer", "cora", "pubmed")] == ["absent"] * 3
    assert [states[name] for name in ("digits-knn", "powerlaw-sbm")] == ["bundled"] * 2
    monkeypatch.setenv("BENCHSUITE_DATA", str(tmp_path / "not-there"))
    assert main(["list", "datasets"]) == 0


@pytest.mark.data
def test_the_real_data_is_present(capsys, data_root):
    main(["list", "datasets"])
    rows = table(capsys)
    assert {rows[name][1] for name in ("cora", "citeseer", "pubmed")} == {"present"}


@pytest.mark.parametrize("layout", ["planetoid", "Planetoid", ".", "Cora/raw", "planetoid/Cora/raw", "cora/raw"])
def test_a_data_set_is_found_in_each_layout(tmp_path, layout):
    names = ("ind.cora.x", "ind.cora.graph")
    files = tuple(f"planetoid/{name}" for name in names)
    card = DatasetCard(name="cora", target="m:f", summary="S", licence="L", source="S", files=files)
    assert dataset_state(card, None) == "absent"
    assert dataset_state(card, tmp_path) == "absent"
    (tmp_path / layout).mkdir(parents=True, exist_ok=True)
    (tmp_path / layout / names[0]).touch()
    assert dataset_state(card, tmp_path) == "absent"
    (tmp_path / layout / names[1]).touch()
    assert dataset_state(card, tmp_path) == "present"


def test_another_data_sets_folder_is_not_taken_for_it(tmp_path):
    card = DatasetCard(name="cora", target="m:f", summary="S", licence="L", source="S", files=("planetoid/x",))
    (tmp_path / "PubMed" / "raw").mkdir(parents=True)
    (tmp_path / "PubMed" / "raw" / "x").touch()
    assert dataset_state(card, tmp_path) == "absent"


def test_a_wrong_list_offers_the_near_one(capsys):
    assert main(["list", "dataset"]) == 2
    assert capsys.readouterr().err == "benchsuite: there is no list of 'dataset'. Did you mean 'datasets'?\n"


def test_no_list_is_a_wrong_use(capsys):
    assert main(["list"]) == 2
    assert "methods|tasks|suites|plugins|datasets" in capsys.readouterr().err
