"""Our codes of atoms and bonds are OGB's."""

from __future__ import annotations

import numpy as np
import pytest

from benchsuite.data.molecules.chemistry import quiet
from benchsuite.data.molecules.facts import FACTS
from benchsuite.data.molecules.features import ATOM_CATEGORIES, BOND_CATEGORIES, atom_codes, bond_codes, small_graph
from benchsuite.data.molecules.tables import read_table
from benchsuite.data.unions import union

ODD = [
    "Cl[C@H](/C=C/C)Br",
    "[Na+].[Cl-]",
    "C",
    "*C",
    "[H][H]",
    "[CH3]",
    "O=S(=O)(O)c1ccc2cc[nH]c2c1",
    "F[S](F)(F)(F)(F)F",
    "[Fe+6]",
    "[C-6]",
    "C[N+](C)(C)C.[O-][Cl](=O)(=O)=O",
    "F/C=C\\F",
    "N->[Cu]",
    "[SiH4].[U]",
]


def test_hand_computed(rdkit):
    """The carbon between chlorine and bromine, and the double bond: the two examples in OGB's source."""
    molecule = rdkit.MolFromSmiles("Cl[C@H](/C=C/C)Br")
    assert atom_codes(molecule.GetAtomWithIdx(1)) == [5, 2, 4, 5, 1, 0, 2, 0, 0]
    assert bond_codes(molecule.GetBondWithIdx(2)) == [1, 2, 0]


def test_the_numbers_of_codes_are_ogbs(smiles2graph):
    from ogb.utils.features import get_atom_feature_dims, get_bond_feature_dims

    assert get_atom_feature_dims() == list(ATOM_CATEGORIES)
    assert get_bond_feature_dims() == list(BOND_CATEGORIES)


def same(smiles, molecule, smiles2graph) -> None:
    theirs, ours = smiles2graph(smiles), small_graph(molecule)
    assert np.array_equal(ours.x, theirs["node_feat"]), smiles
    assert (ours.x < ATOM_CATEGORIES).all()
    graph = union([ours])
    order = np.lexsort(theirs["edge_index"])
    assert np.array_equal(graph.edge_index.numpy(), theirs["edge_index"][:, order]), smiles
    assert np.array_equal(graph.edge_attr.numpy(), theirs["edge_feat"][order]), smiles


@pytest.mark.parametrize("smiles", ODD)
def test_odd_molecules(smiles, rdkit, smiles2graph):
    same(smiles, rdkit.MolFromSmiles(smiles), smiles2graph)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", FACTS)
def test_every_molecule_of_the_real_tables(name, data_root, rdkit, smiles2graph):
    facts = FACTS[name]
    path = data_root / facts.file
    if not path.is_file():
        pytest.skip(f"{path} is not here")
    with quiet():
        for smiles in read_table(path, facts.targets, facts.target_type == "binary").smiles:
            molecule = rdkit.MolFromSmiles(smiles)
            if molecule is not None:
                same(smiles, molecule, smiles2graph)


def test_a_bond_that_ogb_has_no_code_for_is_any(rdkit):
    molecule = rdkit.MolFromSmiles("C=C")
    bond = molecule.GetBondWithIdx(0)
    bond.SetStereo(rdkit.BondStereo.STEREOATROPCW)
    assert bond_codes(bond) == [1, 5, 0]


@pytest.mark.slow
def test_the_featuriser_starts_no_thread_and_imports_no_ogb(rdkit):
    import subprocess
    import sys

    code = (
        "import sys, threading; from benchsuite.data.molecules.features import small_graph; from rdkit import Chem; "
        "small_graph(Chem.MolFromSmiles('CCO')); print('ogb' in sys.modules, threading.active_count())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "1"]
