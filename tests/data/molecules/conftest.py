"""A cache of this session's own, and ogb's featuriser without its network thread."""

from __future__ import annotations

import gzip
import importlib
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    # One for the session: what one test rebuilt, the next reads.
    folder = tmp_path_factory.getbasetemp() / "benchsuite-cache"
    monkeypatch.setenv("BENCHSUITE_CACHE", str(folder))


@pytest.fixture(scope="session")
def rdkit():
    """Return rdkit.Chem; skip where it is not installed."""
    return pytest.importorskip("rdkit.Chem", reason="rdkit is not installed: pip install 'benchsuite[molecules]'")


@pytest.fixture(scope="session")
def smiles2graph(rdkit):
    """Return ogb's own function. Its package asks the network for a newer version, but for a module it then lacks."""
    before = sys.modules.get("outdated", "absent")
    sys.modules["outdated"] = None  # an import of it raises ImportError
    try:
        return pytest.importorskip("ogb.utils.mol", reason="ogb is not installed", exc_type=ImportError).smiles2graph
    finally:
        if before == "absent":
            del sys.modules["outdated"]
        else:
            sys.modules["outdated"] = before
        importlib.invalidate_caches()


@pytest.fixture
def write_gz():
    """Return a writer of gzip files."""

    def write(path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))
        return path

    return write
