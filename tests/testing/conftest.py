"""What the tests of the checks share: plugins on disk."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CARD = """
from benchsuite.plugin import MethodCard, hookimpl

@hookimpl
def benchsuite_methods():
    return [MethodCard(name="{name}", kind="quantizer", target="{package}.method:Method", summary="For a test.")]
"""


@pytest.fixture
def write_plugin(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a plugin's folder: ``write(name, method="...", **{path: text or None})``.

    The host imports a card module into this process, so every test takes a name of its own.
    """

    def write(name: str, method: str = "", **files: str | None) -> Path:
        package = f"benchsuite_{name.replace('-', '_')}"
        entry = f'[project.entry-points.benchsuite]\n{name} = "{package}"\n'
        contents = {
            "pyproject.toml": f'[project]\nname = "benchsuite-{name}"\nversion = "0.1.0"\n{entry}',
            "README.md": f"# {name}\n",
            "__init__.py": CARD.format(name=name, package=package),
            "method.py": method,
        } | files
        folder = tmp_path / name
        (folder / package).mkdir(parents=True)
        for file, text in contents.items():
            if text is not None:
                parent = folder / package if file.endswith(".py") else folder
                (parent / file).write_text(textwrap.dedent(text))
        return folder

    return write
