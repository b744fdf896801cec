"""``benchsuite show``."""

from __future__ import annotations

import json
import sys

import pytest

from benchsuite.cli.main import main

CARDS = """
from benchsuite.plugin import *
from benchsuite.plugin import hookimpl

@hookimpl
def benchsuite_methods():
    return [MethodCard(
        name="show-test", kind="quantizer", target=__name__ + ":M", version="3", summary="Rounds\\x1b[31m.", sham=True,
        paper=Paper(title="On rounding", url="https://example.org/p", year=2031, venue="Venue"),
        parameters=(Parameter(name="bits", default=8, low=2, high=8, grid=(8, 4), doc="Width."),
                    Parameter(name="mode", default="a", choices=("a", "b"), doc="Way.")),
        reported=(Reported(task="cora-gcn", metric="accuracy", value=80.5, reference=81.25, params={"bits": 4},
                           source="Table 9", note="Another split."),),
        departures=("Departs here.", "And there."), requires=("click", "no-such-library"))]

@hookimpl
def benchsuite_tasks():
    return [TaskCard(name="show-test", target=__name__ + ":T", summary="A task.", factors=("quantizer",),
        dataset="show-test-data", protocol="node/4", seeds=3, suites=("show-test",), config={"hidden": [16, 8]},
        reference={"quantizer": "fp32"}, metrics=(Metric(name="mae", unit="eV", higher_is_better=False),))]

@hookimpl
def benchsuite_datasets():
    return [DatasetCard(name="show-test-data", target=__name__ + ":f", summary="Data.", licence="L1", source="S1",
                        files=("x/y",), fetch=__name__ + ":g")]
"""


@pytest.fixture(autouse=True)
def path(tmp_path, monkeypatch):
    """Plugins "show-test", whose name a method, a task and a suite have too, and "show-bad", which is broken."""
    for name, source in (("show-test", CARDS), ("show-bad", "import no_such_library")):
        package = name.replace("-", "_") + "_plugin"
        (tmp_path / name / package).mkdir(parents=True)
        (tmp_path / name / package / "__init__.py").write_text(source)
        entry = f'[project]\nversion = "7"\n[project.entry-points.benchsuite]\n{name} = "{package}"\n'
        (tmp_path / name / "pyproject.toml").write_text(entry)
        monkeypatch.delitem(sys.modules, package, raising=False)
    monkeypatch.setenv("BENCHSUITE_PLUGIN_PATH", str(tmp_path))
    monkeypatch.delenv("BENCHSUITE_DATA", raising=False)


def shown(capsys, *words: str) -> dict[str, str]:
    """Return what is printed, by heading."""
    assert main(["show", *words]) == 0
    blocks = capsys.readouterr().out.rstrip("\n").split("\n\n")
    return {block.partition("\n")[0]: block.partition("\n")[2] for block in blocks}


def test_a_name_of_several_kinds_shows_all(capsys):
    assert list(shown(capsys, "show-test")) == [
        "method show-test",
        "task show-test",
        "suite show-test",
        "plugin show-test",
    ]


def test_a_method_is_shown_whole(capsys):
    lines = [line.strip() for line in shown(capsys, "show-test")["method show-test"].splitlines()]
    assert lines == [
        "summary       Rounds\N{REPLACEMENT CHARACTER}[31m.",
        "kind          quantizer, contract 1, sham control: it must not win",
        "version       3",
        "plugin        show-test 7 (path)",
        "target        show_test_plugin:M",
        "paper         On rounding, 2031, Venue",
        "https://example.org/p",
        "parameters    bits = 8: Width. Takes int from 2 to 8; a run plans 8, 4.",
        "mode = a: Way. Takes one of a, b.",
        "reported      cora-gcn[bits=4]: accuracy 80.5 (reference 81.25), Table 9. Another split.",
        "departures    Departs here.",
        "And there.",
        f"requires      click: installed, {click_version()}",
        "no-such-library: not installed",
    ]


def click_version() -> str:
    import importlib.metadata

    return importlib.metadata.version("click")


def test_a_task_is_shown_whole(capsys):
    lines = [line.strip() for line in shown(capsys, "show-test")["task show-test"].splitlines()]
    assert lines == [
        "summary       A task.",
        "factors       quantizer",
        "dataset       show-test-data",
        "protocol      node/4",
        "metrics       mae in eV, lower is better",
        "reference     fp32 (for quantizer)",
        "suites        show-test",
        "seeds         3",
        "version       1",
        "target        show_test_plugin:T",
        "config        hidden: [16, 8]",
    ]


def test_a_data_set_says_whether_it_is_here_and_how_to_get_it(capsys, monkeypatch, tmp_path):
    lines = shown(capsys, "show-test-data")["dataset show-test-data"].splitlines()
    assert "  state         absent; get it with: benchsuite data fetch show-test-data" in lines
    assert "  tasks         show-test" in lines
    (tmp_path / "data" / "x").mkdir(parents=True)
    (tmp_path / "data" / "x" / "y").touch()
    monkeypatch.setenv("BENCHSUITE_DATA", str(tmp_path / "data"))
    assert "  state         present" in shown(capsys, "show-test-data")["dataset show-test-data"].splitlines()


def test_a_plugin_lists_what_it_offers(capsys):
    text = shown(capsys, "show-test")["plugin show-test"]
    assert "  methods       show-test: Rounds" in text
    assert "  tasks         show-test: A task." in text
    assert "  datasets      show-test-data: Data." in text
    assert "  module        show_test_plugin" in text


def test_json_has_the_fields_of_the_cards(capsys):
    main(["show", "show-test", "--json"])
    data = json.loads(capsys.readouterr().out)
    assert set(data) == {"method", "task", "suite", "plugin"}
    assert data["method"]["parameters"][0]["grid"] == [8, 4]
    assert data["method"]["plugin"] == "show-test"
    assert data["suite"] == {"name": "show-test", "tasks": ["show-test"]}


def test_the_suites_own_cards_can_be_shown(capsys):
    assert "method topgq" in shown(capsys, "topgq")
    assert "task cora-gcn" in shown(capsys, "cora-gcn")
    assert "suite quick" in shown(capsys, "quick")


def test_a_broken_plugin_is_one_line_with_phase_and_cause(capsys):
    assert main(["show", "show-bad"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "is broken in phase import: ModuleNotFoundError: No module named 'no_such_library'" in captured.err


def test_an_unknown_name_offers_near_ones_of_all_kinds(capsys):
    assert main(["show", "show-tst-data"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("benchsuite: there is no method, task, data set, suite or plugin 'show-tst-data'. Did you me")
    assert "'show-test-data'" in err
    assert main(["show", "quik"]) == 2
    assert "'quick'" in capsys.readouterr().err


def test_long_lines_are_wrapped_on_a_terminal_alone(capsys, monkeypatch):
    longest = max(map(len, shown(capsys, "show-test")["method show-test"].splitlines()))
    assert longest > 60
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["show", "show-test"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60 + len("\x1b[1m\x1b[0m")
