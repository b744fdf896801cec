"""Each check of a plugin's folder is held against a folder that breaks its rule."""

from __future__ import annotations

import pytest

from benchsuite.errors import ProtocolError
from benchsuite.testing.folder import FOLDER_CHECKS, PluginFolder
from benchsuite.testing.runner import run_folder_checks


def failures(folder):
    """Return the outcome of each check that fails, by the check's name."""
    return {outcome.check: outcome for outcome in run_folder_checks(PluginFolder(folder)) if not outcome.passed}


def test_a_sound_folder_passes_every_check(write_plugin):
    outcomes = list(run_folder_checks(PluginFolder(write_plugin("sound"))))
    assert [outcome.passed for outcome in outcomes] == [True] * len(FOLDER_CHECKS)
    assert outcomes[-1].remark == "methods: sound"


@pytest.mark.parametrize("text", [None, " \n"])
def test_a_readme_that_is_missing_or_empty_is_found(write_plugin, text):
    found = failures(write_plugin(f"no-readme-{text is None}".lower(), **{"README.md": text}))
    assert list(found) == ["readme-is-there"]


@pytest.mark.parametrize(
    ("pyproject", "words"),
    [
        ("[project]\nname = 'x'\n", "0 entry points"),
        ("[project.entry-points.benchsuite]\na = 'm'\nb = 'm'\n", "2 entry points"),
        ("[project.entry-points.benchsuite]\nMy_Plugin = 'm'\n", "'My_Plugin'; wanted: lower-case words"),
        ("[project.entry-points.benchsuite]\nmine = 'benchsuite_mine'\n", "'benchsuite_mine', which is not in"),
        ("[project\n", "cannot be read"),
        ("project = 3\n", "0 entry points"),
    ],
)
def test_a_folder_that_names_no_plugin_ends_the_checks(write_plugin, pyproject, words):
    folder = write_plugin("nameless", **{"pyproject.toml": pyproject})
    outcomes = list(run_folder_checks(PluginFolder(folder)))
    assert outcomes[-1].check == "folder-names-one-plugin"
    assert words in outcomes[-1].found


def test_a_folder_without_pyproject_is_no_plugin(tmp_path):
    with pytest.raises(ProtocolError, match=r"no pyproject\.toml"):
        PluginFolder(tmp_path).entry_points()


def test_heavy_imports_of_the_card_module_are_named(write_plugin):
    card = """
    import numpy
    from benchsuite.plugin import MethodCard, hookimpl

    @hookimpl
    def benchsuite_methods():
        return [MethodCard(name="heavy", kind="quantizer", target="benchsuite_heavy.method:M", summary="x")]
    """
    found = failures(write_plugin("heavy", **{"__init__.py": card}))
    assert list(found) == ["card-module-is-light"]
    assert "importing benchsuite_heavy imports numpy" in found["card-module-is-light"].found


def test_a_card_module_that_cannot_be_imported_ends_the_checks(write_plugin):
    found = failures(write_plugin("raises", **{"__init__.py": "import no_such_module\n"}))
    assert list(found) == ["card-module-imports"]
    assert "ModuleNotFoundError: No module named 'no_such_module'" in found["card-module-imports"].found


def test_a_card_module_that_ends_the_process_ends_the_checks_alone(write_plugin):
    found = failures(write_plugin("exits", **{"__init__.py": "import os\nos._exit(3)\n"}))
    assert list(found) == ["card-module-imports"]


def test_a_card_module_that_hangs_is_given_up(write_plugin, monkeypatch):
    monkeypatch.setattr("benchsuite.testing.folder._IMPORT_SECONDS", 1)
    found = failures(write_plugin("hangs", **{"__init__.py": "import time\ntime.sleep(60)\n"}))
    assert "takes longer than 1 s" in found["card-module-imports"].found


INVALID = """
from benchsuite.plugin import MethodCard, hookimpl

@hookimpl
def benchsuite_methods():
    return [MethodCard(name="No Name", kind="quantizer", target="benchsuite_invalid.method:M", summary="x")]
"""
EMPTY = """
from benchsuite.plugin import hookimpl

@hookimpl
def benchsuite_methods():
    return []
"""
TAKEN = INVALID.replace("No Name", "fp32").replace("invalid", "taken")


@pytest.mark.parametrize(
    ("name", "card", "words"),
    [
        ("invalid", INVALID, "the host refuses it in phase validate"),
        ("empty", EMPTY, "offers no method"),
        ("taken", TAKEN, "the host refuses it in phase conflict: method 'fp32' is offered by the plugins"),
    ],
)
def test_cards_that_the_host_refuses_are_found(write_plugin, name, card, words):
    found = failures(write_plugin(name, **{"__init__.py": card}))
    assert list(found) == ["cards-load"]
    assert words in found["cards-load"].found
