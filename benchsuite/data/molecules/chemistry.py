"""RDKit: imported where it is needed, and quiet."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

EXTRA = "Install it: pip install 'benchsuite[molecules]'"


def chemistry(name: str) -> ModuleType:
    """Return ``rdkit.Chem``.

    Args:
        name: of the data set that needs it, for the message.

    Raises:
        MissingDataError: RDKit is not installed.
    """
    try:
        return importlib.import_module("rdkit.Chem")
    except ImportError as error:
        raise MissingDataError(f"data set {name!r} is rebuilt from SMILES by RDKit, which is missing", EXTRA) from error


def version() -> str:
    """Return RDKit's version; it decides which SMILES are read, and some codes of atoms."""
    return str(importlib.import_module("rdkit").__version__)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep RDKit from writing a line to stderr about every molecule that it does not like."""
    blocked = importlib.import_module("rdkit.rdBase").BlockLogs()
    try:
        yield
    finally:
        del blocked


def molecule(chem: ModuleType, smiles: str) -> Any | None:
    """Return the ``rdkit.Chem.Mol`` of ``smiles``, or None where RDKit refuses it or it has no atom."""
    made = chem.MolFromSmiles(smiles)
    return made if made is not None and made.GetNumAtoms() else None
