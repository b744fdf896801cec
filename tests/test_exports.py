"""``benchsuite.plugin`` is what authors import: everything there is meant, and nothing is left out."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import benchsuite.cli.common
import benchsuite.errors
import benchsuite.host
import benchsuite.plugin

#: Modules whose public names are a promise.
PROMISES = (benchsuite.plugin, benchsuite.errors, benchsuite.host, benchsuite.cli.common)


def _public(module) -> set[str]:
    """Return the names that a module's source defines or imports at its top, but for what it takes from elsewhere."""
    names: set[str] = set()
    for node in ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("benchsuite."):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("module", PROMISES, ids=lambda m: m.__name__)
def test_all_is_sorted_without_duplicates_and_exists(module):
    names = module.__all__
    # As ruff's RUF022 sorts: constants, then classes, then the rest.
    constants = [n for n in names if n.isupper()]
    classes = [n for n in names if n[0].isupper() and not n.isupper()]
    others = [n for n in names if n[0].islower()]
    assert list(names) == sorted(constants) + sorted(classes) + sorted(others)
    assert len(set(names)) == len(names)
    assert [name for name in names if not hasattr(module, name)] == []


@pytest.mark.parametrize("module", [benchsuite.plugin, benchsuite.host], ids=lambda m: m.__name__)
def test_all_is_complete(module):
    assert _public(module) == set(module.__all__)


def test_every_protocol_and_card_can_be_had_from_plugin():
    """A class that a contract module defines is either exported or an alias of types."""
    contracts = Path(benchsuite.plugin.__file__).parent / "contracts"
    defined = {
        node.name
        for path in contracts.glob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    assert defined - set(benchsuite.plugin.__all__) == {"Frozen"}
