"""The stand-in for ZINC-12k: kinds of atoms and bonds, the target, the split."""

from __future__ import annotations

import gzip
import itertools

import pytest
import torch

from benchsuite.data.molecules import zinc_jtnn
from benchsuite.data.molecules.penalized_logp import LOGP, RING, SYNTHESIS, penalized_logp
from benchsuite.data.molecules.zinc_jtnn import Kind, atoms_and_bonds
from benchsuite.errors import MissingDataError


def test_kinds_of_atoms_and_bonds(rdkit):
    smiles = ["C[C@H](N)c1ccccc1", "CC#N", "C[NH3+]"]
    graphs, kinds = atoms_and_bonds([rdkit.MolFromSmiles(each) for each in smiles])
    # Ten plain carbons, then two nitrogens, then one each by name.
    assert kinds == [Kind("C", 0, 0), Kind("N", 0, 0), Kind("C", 1, 0), Kind("N", 3, 1)]
    assert graphs[0].x.flatten().tolist() == [0, 2, 1, 0, 0, 0, 0, 0, 0]
    assert graphs[1].edges.tolist() == [[0, 1, 1, 2], [1, 2, 0, 1]]
    assert graphs[1].edge_attr.flatten().tolist() == [1, 3, 1, 3]
    # The ring is written out with three double bonds.
    assert sorted(graphs[0].edge_attr.flatten().tolist()) == [1] * 12 + [2] * 6


def test_the_target_by_its_parts(rdkit):
    """Ethanol against its parts: RDKit's logP is -0.0014; without rings; and one with a ring of 8 loses two atoms."""
    from rdkit.Chem.Crippen import MolLogP

    ethanol = rdkit.MolFromSmiles("CCO")
    parts = LOGP.scaled(-0.0014) + RING.scaled(0)
    score = -((penalized_logp(ethanol) - parts) * SYNTHESIS.deviation + SYNTHESIS.mean)
    assert score == pytest.approx(1.9803, abs=1e-3)  # Ertl's score, from 1 (easy) to 10
    eight, six = (rdkit.MolFromSmiles(f"C1{'C' * n}1") for n in (7, 5))
    gap = penalized_logp(eight) - penalized_logp(six)
    assert MolLogP(eight) - MolLogP(six) == pytest.approx(2 * 0.3901, abs=1e-3)
    assert gap < (MolLogP(eight) - MolLogP(six)) / LOGP.deviation - 1.9 / RING.deviation + 1.0


@pytest.fixture
def small(tmp_path, monkeypatch, write_gz):
    """Return a folder with 20 and 5 molecules: alkanes, and alcohols to test."""
    monkeypatch.setattr(zinc_jtnn, "ROWS", (20, 5))
    write_gz(tmp_path / zinc_jtnn.FILES[0], "".join("C" * n + "\n" for n in range(2, 22)))
    write_gz(tmp_path / zinc_jtnn.FILES[1], "".join("C" * n + "O\n" for n in range(1, 6)))
    return tmp_path


def test_the_data_set(small, rdkit):
    dataset = zinc_jtnn.zinc_jtnn(small)
    fold = dataset.folds[0]
    assert fold.val.nonzero().flatten().tolist() == [9, 19]
    assert fold.test.nonzero().flatten().tolist() == [20, 21, 22, 23, 24]
    assert int(fold.train.sum()) == 18
    assert (dataset.node_categories, dataset.edge_categories) == ((2,), (4,))
    assert (dataset.target_type, dataset.y.shape) == ("values", (25, 1))
    assert dataset.y[3, 0] == pytest.approx(penalized_logp(rdkit.MolFromSmiles("CCCCC")))
    source, target = dataset.graph.edge_index
    assert (torch.diff(target * dataset.graph.num_nodes + source) > 0).all()


def test_a_molecule_that_rdkit_refuses(small, rdkit, write_gz):
    write_gz(small / zinc_jtnn.FILES[1], "CO\nCO\nCO\nCO\nC(C)(C)(C)(C)C\n")
    with pytest.raises(MissingDataError, match=r"refuses 'C\(C\)\(C\)\(C\)\(C\)C' of .*zinc_jtnn \(and 0 more\)"):
        zinc_jtnn.zinc_jtnn(small)


def test_another_number_of_molecules(small, rdkit, write_gz):
    write_gz(small / zinc_jtnn.FILES[1], "CO\n")
    with pytest.raises(MissingDataError, match=r"zinc_test\.smi\.gz has 1 molecules in place of 5"):
        zinc_jtnn.zinc_jtnn(small)


def test_absent(tmp_path):
    with pytest.raises(MissingDataError, match=r"data set 'zinc-jtnn': .* has no zinc_jtnn/zinc_valid\.smi\.gz"):
        zinc_jtnn.zinc_jtnn(tmp_path)


@pytest.mark.data
def test_the_real_files(data_root, rdkit, tmp_path, monkeypatch, write_gz):
    """Counts of whole files, and the target's scale on their first 150 molecules: about that of ZINC-250k."""
    heads = []
    for file, rows in zip(zinc_jtnn.FILES, (24_445, 5_000), strict=True):
        if not (data_root / file).is_file():
            pytest.skip(f"{file} is not below BENCHSUITE_DATA")
        with gzip.open(data_root / file, "rt") as lines:
            head = list(itertools.islice(lines, 150))
            assert len(head) + sum(1 for _ in lines) == rows
        heads.append(head)
        write_gz(tmp_path / file, "".join(head))
    monkeypatch.setattr(zinc_jtnn, "ROWS", (150, 150))
    dataset = zinc_jtnn.zinc_jtnn(tmp_path)
    assert 10 <= dataset.node_categories[0] <= 20
    assert abs(float(dataset.y.mean())) < 0.5
    assert 1.2 < float(dataset.y.std()) < 2.8
    assert 22 < dataset.graph.num_nodes / 300 < 24.5
    assert sorted(dataset.graph.edge_attr.unique().tolist()) == [1, 2, 3]
