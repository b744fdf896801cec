"""Real plugin folders and fabricated distributions, with package names that no other test uses."""

from __future__ import annotations

import itertools
import sys
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from benchsuite.host import HostOptions, discovery

if TYPE_CHECKING:
    from pathlib import Path

_numbers = itertools.count()

METHOD = """
    from benchsuite.plugin import MethodCard, hookimpl

    @hookimpl
    def benchsuite_methods():
        return [MethodCard(name={name!r}, kind="quantizer", target=__name__ + ":Method", summary="A method.")]
"""


class Workshop:
    """Writes plugins below one temporary folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.packages: list[str] = []

    def package(self) -> str:
        self.packages.append(f"host_test_plugin_{next(_numbers)}")
        return self.packages[-1]

    def folder(self, name: str, body: str | None = None, *, parent: str = "path", package: str | None = None) -> Path:
        """Write a plugin folder; ``body`` is its module's source, by default one method called as the plugin."""
        package = package or self.package()
        folder = self.root / parent / name
        (folder / package).mkdir(parents=True)
        source = METHOD.format(name=name) if body is None else body
        (folder / package / "__init__.py").write_text(dedent(source), encoding="utf-8")
        self.pyproject(folder, f'{name} = "{package}"')
        return folder

    def pyproject(self, folder: Path, entries: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        head = f'[project]\nname = "benchsuite-{folder.name}"\nversion = "1.2"\ndescription = "About {folder.name}."\n'
        (folder / "pyproject.toml").write_text(f"{head}[project.entry-points.benchsuite]\n{entries}\n", "utf-8")

    def distribution(self, name: str, value: str) -> Path:
        """Write the metadata of an installed distribution into the folder ``site``, and return that folder."""
        site = self.root / "site"
        info = site / f"benchsuite_{name.replace('-', '_')}-3.4.dist-info"
        info.mkdir(parents=True)
        text = f"Metadata-Version: 2.1\nName: benchsuite-{name}\nVersion: 3.4\nSummary: Installed {name}.\n"
        (info / "METADATA").write_text(text, encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[benchsuite]\n{name} = {value}\n", encoding="utf-8")
        return site

    def options(self, **changes) -> HostOptions:
        return HostOptions(**{"plugin_paths": (self.root / "path",), **changes})


@pytest.fixture
def workshop(tmp_path, monkeypatch):
    """A workshop; the suite's own plugins are out of sight, and what a test imported is forgotten after it."""
    monkeypatch.setattr(discovery, "bundled_folder", lambda: tmp_path / "bundled")
    workshop = Workshop(tmp_path)
    yield workshop
    for module in list(sys.modules):
        if module.partition(".")[0] in workshop.packages:
            del sys.modules[module]
