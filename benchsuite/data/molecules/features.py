"""Atoms and bonds as OGB's codes (Hu et al., NeurIPS 2020, arXiv 2005.00687; ``ogb.utils.features`` of ogb 1.3.6).

Written anew from its tables, since importing ``ogb`` starts a thread that asks the network for a newer version. The
tests hold both equal on every molecule of the real tables. A value that a table lacks gets its last code, "other".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchsuite.data.unions import Small

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Codes per column of an atom: atomic number, chirality, degree with hydrogens, charge, hydrogens, radical electrons,
#: hybridization, aromatic, in a ring.
ATOM_CATEGORIES = (119, 5, 12, 12, 10, 6, 6, 2, 2)
#: Codes per column of a bond: kind, stereo, conjugated.
BOND_CATEGORIES = (5, 6, 2)

_CHIRALITY = ("CHI_UNSPECIFIED", "CHI_TETRAHEDRAL_CW", "CHI_TETRAHEDRAL_CCW", "CHI_OTHER")
_HYBRIDIZATION = ("SP", "SP2", "SP3", "SP3D", "SP3D2")
_BOND = ("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC")
_STEREO = ("STEREONONE", "STEREOZ", "STEREOE", "STEREOCIS", "STEREOTRANS", "STEREOANY")
_CHARGE = 5
"""Charges from -5 to 5 have a code."""


def small_graph(molecule: Any) -> Small:
    """Return the graph of an RDKit molecule: an atom is a node, a bond is two edges.

    Args:
        molecule: an ``rdkit.Chem.Mol`` with an atom.
    """
    x = np.array([atom_codes(atom) for atom in molecule.GetAtoms()], np.int64)
    return Small(x, *both_ways(molecule, [bond_codes(bond) for bond in molecule.GetBonds()], len(BOND_CATEGORIES)))


def both_ways(molecule: Any, codes: Sequence[Sequence[int]], columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return every bond in both directions, ``[2, edges]`` int64, and its codes, ``[edges, columns]`` int64."""
    ends = np.array([(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in molecule.GetBonds()], np.int64).reshape(-1, 2)
    attributes = np.array(codes, np.int64).reshape(-1, columns)
    return np.concatenate([ends.T, ends.T[::-1]], 1), np.concatenate([attributes, attributes])


def atom_codes(atom: Any) -> list[int]:
    """Return the nine codes of an ``rdkit.Chem.Atom``."""
    number, charge = atom.GetAtomicNum(), atom.GetFormalCharge()
    return [
        number - 1 if 1 <= number <= 118 else 118,
        _code(_CHIRALITY, str(atom.GetChiralTag())),
        min(atom.GetTotalDegree(), 11),
        charge + _CHARGE if abs(charge) <= _CHARGE else 11,
        min(atom.GetTotalNumHs(), 9),
        min(atom.GetNumRadicalElectrons(), 5),
        _code(_HYBRIDIZATION, str(atom.GetHybridization())),
        int(atom.GetIsAromatic()),
        int(atom.IsInRing()),
    ]


def bond_codes(bond: Any) -> list[int]:
    """Return the three codes of an ``rdkit.Chem.Bond``."""
    # OGB has no "other" for stereo: what its table lacks (atropisomers) would be an error there, and is "any" here.
    stereo = min(_code(_STEREO, str(bond.GetStereo())), len(_STEREO) - 1)
    return [_code(_BOND, str(bond.GetBondType())), stereo, int(bond.GetIsConjugated())]


def _code(table: tuple[str, ...], value: str) -> int:
    return table.index(value) if value in table else len(table)
