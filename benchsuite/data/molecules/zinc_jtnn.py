"""``zinc-jtnn``: 29,445 molecules of ZINC-250k with penalized logP. A stand-in for ZINC-12k, and not ZINC-12k.

The SMILES are the validation and test files of the junction tree VAE (Jin et al., ICML 2018, arXiv 1802.04364).
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from benchsuite.contracts.dataset import GraphDataset, Split
from benchsuite.contracts.graph import Graph
from benchsuite.data.bounded import digest
from benchsuite.data.molecules.chemistry import chemistry, molecule, quiet, version
from benchsuite.data.molecules.features import both_ways
from benchsuite.data.molecules.moleculenet import table_path
from benchsuite.data.molecules.penalized_logp import penalized_logp
from benchsuite.data.molecules.tables import read_smiles
from benchsuite.data.unions import Small, kept, union
from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

NAME = "zinc-jtnn"
FILES = ("zinc_jtnn/zinc_valid.smi.gz", "zinc_jtnn/zinc_test.smi.gz")
ROWS = (24_445, 5_000)
#: Raise it when the same files give other tensors: kept files are then made again.
CODE = "1"
#: As ZINC-12k has them: 0 is no bond; 1, 2 and 3 are single, double and triple, with aromatic rings written out.
BOND_CATEGORIES = (4,)
_TENTH = 10
_PROGRESS = 5000

log = logging.getLogger(__name__)


class Kind(NamedTuple):
    """What tells atoms apart, as in ZINC-12k."""

    symbol: str
    hydrogens: int
    """Those that the SMILES writes down."""
    charge: int


def zinc_jtnn(root: Path | None) -> GraphDataset:
    """Return the molecules: kinds of atoms and bonds as one column of codes each, penalized logP as the target.

    Kinds are numbered by how many atoms have them, most frequent first, ties by name. The test file is the test set;
    of the validation file every tenth molecule validates, and the others train.

    Args:
        root: the data folder, or None.

    Raises:
        MissingDataError: no folder or file, RDKit is missing, or a file is damaged or another one.
        StoreError: the cache cannot be written.
    """
    paths = [table_path(NAME, file, root) for file in FILES]
    chemistry(NAME)
    tensors = kept(NAME, (*map(digest, paths), version(), CODE), lambda: _make(paths))
    return GraphDataset(
        name=NAME,
        graph=Graph(tensors["x"], tensors["edge_index"], tensors["batch"], tensors["edge_attr"]),
        y=tensors["y"],
        folds=(Split(tensors["train"], tensors["val"], tensors["test"]),),
        num_classes=1,
        target_type="values",
        node_categories=(int(tensors["kinds"]),),
        edge_categories=BOND_CATEGORIES,
    )


def _make(paths: list[Path]) -> dict[str, Tensor]:
    files = [read_smiles(path) for path in paths]
    for path, lines, wanted in zip(paths, files, ROWS, strict=True):
        if len(lines) != wanted:
            message = f"{path} has {len(lines):,} molecules in place of {wanted:,}: another file than that of {NAME!r}"
            raise MissingDataError(message, "Get the original file again")
    log.info("%s: %s molecules are rebuilt from SMILES, once; some minutes", NAME, f"{sum(ROWS):,}")
    made = _molecules([smiles for lines in files for smiles in lines], paths)
    targets = []
    for number, each in enumerate(made, 1):
        targets.append(penalized_logp(each))
        if number % _PROGRESS == 0:
            log.info("%s: %s of %s", NAME, f"{number:,}", f"{len(made):,}")
    graphs, kinds = atoms_and_bonds(made)
    graph = union(graphs)
    assert graph.batch is not None
    assert graph.edge_attr is not None
    place = torch.arange(len(made))
    test = place >= len(files[0])
    val = ~test & (place % _TENTH == _TENTH - 1)
    return {
        "x": graph.x,
        "edge_index": graph.edge_index,
        "batch": graph.batch,
        "edge_attr": graph.edge_attr,
        "y": torch.tensor(targets, dtype=torch.float32)[:, None],
        "train": ~(val | test),
        "val": val,
        "test": test,
        "kinds": torch.tensor(len(kinds)),
    }


def _molecules(smiles: list[str], paths: list[Path]) -> list[Any]:
    chem = chemistry(NAME)
    with quiet():
        made = [molecule(chem, each) for each in smiles]
    if refused := [each for each, one in zip(smiles, made, strict=True) if one is None]:
        message = f"RDKit {version()} refuses {refused[0][:60]!r} of {paths[0].parent} (and {len(refused) - 1} more)"
        raise MissingDataError(message, "Get the original files again, or install another rdkit")
    return made


def atoms_and_bonds(molecules: list[Any]) -> tuple[list[Small], list[Kind]]:
    """Return the graph of each ``rdkit.Chem.Mol``, and the kinds of atoms in the order of their codes."""
    atoms = [
        [Kind(a.GetSymbol(), a.GetNumExplicitHs(), a.GetFormalCharge()) for a in each.GetAtoms()] for each in molecules
    ]
    counts = Counter(kind for each in atoms for kind in each)
    kinds = sorted(counts, key=lambda kind: (-counts[kind], kind))
    codes = {kind: code for code, kind in enumerate(kinds)}
    graphs = []
    for each, own in zip(molecules, atoms, strict=True):
        bonds = [[code] for code in _bond_codes(each)]
        graphs.append(Small(np.array([[codes[kind]] for kind in own], np.int64), *both_ways(each, bonds, 1)))
    return graphs, kinds


def _bond_codes(molecule: Any) -> list[int]:
    chem = chemistry(NAME)
    plain = chem.Mol(molecule)
    chem.Kekulize(plain, clearAromaticFlags=True)
    names = ("SINGLE", "DOUBLE", "TRIPLE")
    return [names.index(str(bond.GetBondType())) + 1 for bond in plain.GetBonds()]
