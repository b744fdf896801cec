"""Finding plugins, without importing any."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import benchsuite
from benchsuite.errors import UsageError
from benchsuite.host import BrokenPlugin
from benchsuite.host.discovery import Candidate, bundled_folder, discover

EXPLODES = "raise RuntimeError('imported')"


def test_a_folder_is_found_without_importing_it(workshop):
    folder = workshop.folder("alpha", EXPLODES)
    (found,) = discover(workshop.options())
    info = found.info
    assert (info.name, info.version, info.summary) == ("alpha", "1.2", "About alpha.")
    assert (info.origin, info.location, info.search_path) == ("path", folder, folder)
    assert info.module not in sys.modules


def test_a_path_may_be_the_plugin_itself(workshop):
    folder = workshop.folder("alpha")
    workshop.folder("beta")
    assert [f.info.name for f in discover(workshop.options(plugin_paths=(folder,)))] == ["alpha"]


def test_order_is_by_name_wherever_plugins_lie(workshop):
    workshop.folder("gamma")
    workshop.folder("beta", parent="bundled")
    workshop.folder("alpha")
    found = discover(workshop.options())
    assert [(f.info.name, f.info.origin) for f in found] == [("alpha", "path"), ("beta", "bundled"), ("gamma", "path")]


def test_hidden_folders_and_folders_without_pyproject_are_no_plugins(workshop):
    workshop.folder("alpha")
    workshop.folder(".hidden")
    (workshop.root / "path" / "notes").mkdir()
    (workshop.root / "path" / "README.md").write_text("text")
    assert [f.info.name for f in discover(workshop.options())] == ["alpha"]


def test_a_src_layout_is_searched_in_src(workshop):
    folder, package = workshop.root / "path" / "alpha", workshop.package()
    workshop.pyproject(folder, f'alpha = "{package}.cards"')
    (folder / "src" / package).mkdir(parents=True)
    (found,) = discover(workshop.options())
    assert found.info.search_path == folder / "src"
    assert found.package_path == folder / "src" / package
    assert found.info.package == package


def test_one_folder_may_hold_several_plugins(workshop):
    folder = workshop.folder("alpha")
    package = workshop.packages[0]
    workshop.pyproject(folder, f'two = "{package}"\none = "{package}"')
    assert [f.info.name for f in discover(workshop.options())] == ["one", "two"]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("[project", "pyproject.toml cannot be read"),
        ("[tool.ruff]", "pyproject.toml has no table [project]"),
        ("project = 3", "pyproject.toml has no table [project]"),
        ("[project]\nname = 'x'", "pyproject.toml names no plugin"),
        ("[project]\nentry-points = 'x'", "pyproject.toml names no plugin"),
        ("[project.entry-points.benchsuite]", "pyproject.toml names no plugin"),
        ("[project.entry-points.benchsuite]\nBad_Name = 'm'", "plugin name 'Bad_Name'"),
        ("[project.entry-points.benchsuite]\nx = 'module:thing'", "must name a module, not 'module:thing'"),
        ("[project.entry-points.benchsuite]\nx = 3", "must name a module, not 3"),
    ],
)
def test_a_bad_pyproject_is_one_broken_plugin(workshop, text, cause):
    folder = workshop.folder("alpha")
    (folder / "pyproject.toml").write_text(text)
    workshop.folder("beta")
    broken, good = sorted(discover(workshop.options()), key=lambda f: isinstance(f, Candidate))
    assert isinstance(broken, BrokenPlugin)
    assert (broken.phase, broken.location) == ("discover", folder)
    assert cause in broken.cause
    assert "\n" not in broken.cause
    assert good.info.name == "beta"


def test_a_pyproject_that_is_no_text_is_broken(workshop):
    (workshop.folder("alpha") / "pyproject.toml").write_bytes(b"\xff\xfe\x00")
    (broken,) = discover(workshop.options())
    assert broken.phase == "discover"


@pytest.mark.parametrize(("make", "says"), [(False, "is not a folder"), (True, "holds no plugin")])
def test_a_plugin_path_without_plugins_is_a_wrong_use(workshop, make, says):
    path = workshop.root / "nothing"
    if make:
        path.mkdir()
    with pytest.raises(UsageError, match=says) as caught:
        discover(workshop.options(plugin_paths=(path,)))
    assert str(path) in str(caught.value)
    assert caught.value.mend


def test_a_distribution_is_found_without_importing_it(workshop, monkeypatch):
    package = workshop.package()
    site = workshop.distribution("installed-one", package)
    (site / package).mkdir()
    (site / package / "__init__.py").write_text(EXPLODES)
    monkeypatch.syspath_prepend(site)
    (found,) = discover(workshop.options(plugin_paths=()))
    info = found.info
    assert (info.name, info.version, info.summary) == ("installed-one", "3.4", "Installed installed-one.")
    assert (info.origin, info.location, info.search_path) == ("installed", site / package, None)
    assert package not in sys.modules


def test_a_distribution_that_names_no_module_is_broken(workshop, monkeypatch):
    monkeypatch.syspath_prepend(workshop.distribution("installed-one", "module:thing"))
    (found,) = discover(workshop.options(plugin_paths=()))
    assert (found.name, found.origin, found.phase) == ("installed-one", "installed", "discover")


def test_a_distribution_without_metadata_file_still_costs_itself_alone(workshop, monkeypatch):
    site = workshop.distribution("installed-one", workshop.package())
    next(site.glob("*.dist-info/METADATA")).unlink()
    monkeypatch.syspath_prepend(site)
    workshop.folder("alpha")
    assert [f.info.name if isinstance(f, Candidate) else f.name for f in discover(workshop.options())] == [
        "alpha",
        "installed-one",
    ]


def test_builtins_come_first_and_know_their_package(workshop):
    workshop.folder("alpha")
    first, _ = discover(workshop.options(builtins=("benchsuite.tasks.builtin",)))
    assert (first.info.name, first.info.origin) == ("builtin", "builtin")
    assert first.info.location == Path(benchsuite.__file__).resolve().parent


def _package_at(monkeypatch, folder: Path) -> None:
    (folder / "benchsuite").mkdir()
    monkeypatch.setattr(benchsuite, "__file__", str(folder / "benchsuite" / "__init__.py"))


def test_a_checkout_has_its_plugins_beside_the_package(monkeypatch, tmp_path):
    _package_at(monkeypatch, tmp_path)
    (tmp_path / "plugins").mkdir()
    (tmp_path / "pyproject.toml").touch()
    assert bundled_folder() == tmp_path / "plugins"


def test_a_wheel_has_its_plugins_inside_the_package(monkeypatch, tmp_path):
    _package_at(monkeypatch, tmp_path)
    (tmp_path / "plugins").mkdir()
    (tmp_path / "benchsuite" / "_plugins").mkdir()
    assert bundled_folder() == tmp_path / "benchsuite" / "_plugins"


def test_somebody_elses_plugins_beside_an_installed_package_are_left_alone(monkeypatch, tmp_path):
    _package_at(monkeypatch, tmp_path)
    (tmp_path / "plugins").mkdir()
    assert bundled_folder() is None
