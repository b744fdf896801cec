"""OGB's scaffold split, made again."""

from __future__ import annotations

import importlib
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence


def murcko(molecule: Any) -> str:
    """Return the Bemis-Murcko scaffold of an ``rdkit.Chem.Mol`` as SMILES without stereo; empty without rings."""
    chem = importlib.import_module("rdkit.Chem")
    scaffolds = importlib.import_module("rdkit.Chem.Scaffolds.MurckoScaffold")
    return str(chem.MolToSmiles(scaffolds.GetScaffoldForMol(molecule), isomericSmiles=False))


def scaffold_split(scaffolds: Sequence[Hashable]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the indices that train, validate and test, each ascending.

    Molecules of one scaffold stay together. Their sets are taken by size, then by the first index in them, largest
    first: into training up to 80 %, then into validation up to 90 % of all, then into the test set.

    Args:
        scaffolds: of each molecule.
    """
    members: defaultdict[Hashable, list[int]] = defaultdict(list)
    for index, scaffold in enumerate(scaffolds):
        members[scaffold].append(index)
    train: list[int] = []
    val: list[int] = []
    test: list[int] = []
    for group in sorted(members.values(), key=lambda group: (len(group), group[0]), reverse=True):
        if len(train) + len(group) <= 0.8 * len(scaffolds):
            train += group
        elif len(train) + len(val) + len(group) <= 0.9 * len(scaffolds):
            val += group
        else:
            test += group
    first, second, third = (np.sort(np.array(part, np.int64)) for part in (train, val, test))
    return first, second, third
