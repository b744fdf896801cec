"""Molecules rebuilt from MoleculeNet's SMILES with OGB's features and its split made again. Not OGB's own files."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np
import torch

from benchsuite.contracts.dataset import GraphDataset, Split
from benchsuite.contracts.graph import Graph
from benchsuite.data.bounded import digest
from benchsuite.data.edges import mask
from benchsuite.data.molecules.chemistry import chemistry, molecule, quiet, version
from benchsuite.data.molecules.facts import FACTS, Facts
from benchsuite.data.molecules.features import ATOM_CATEGORIES, BOND_CATEGORIES, small_graph
from benchsuite.data.molecules.scaffold import murcko, scaffold_split
from benchsuite.data.molecules.tables import read_table
from benchsuite.data.unions import kept, union
from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

#: Raise it when the same table gives other tensors: kept files are then made again.
CODE = "1"

log = logging.getLogger(__name__)


def molbace_rebuilt(root: Path | None) -> GraphDataset:
    """Return BACE. Raises as :func:`rebuild`."""
    return rebuild(FACTS["molbace-rebuilt"], root)


def molbbbp_rebuilt(root: Path | None) -> GraphDataset:
    """Return BBBP. Raises as :func:`rebuild`."""
    return rebuild(FACTS["molbbbp-rebuilt"], root)


def molclintox_rebuilt(root: Path | None) -> GraphDataset:
    """Return ClinTox. Raises as :func:`rebuild`."""
    return rebuild(FACTS["molclintox-rebuilt"], root)


def molesol_rebuilt(root: Path | None) -> GraphDataset:
    """Return ESOL. Raises as :func:`rebuild`."""
    return rebuild(FACTS["molesol-rebuilt"], root)


def molfreesolv_rebuilt(root: Path | None) -> GraphDataset:
    """Return FreeSolv. Raises as :func:`rebuild`."""
    return rebuild(FACTS["molfreesolv-rebuilt"], root)


def mollipo_rebuilt(root: Path | None) -> GraphDataset:
    """Return Lipophilicity. Raises as :func:`rebuild`."""
    return rebuild(FACTS["mollipo-rebuilt"], root)


def molsider_rebuilt(root: Path | None) -> GraphDataset:
    """Return SIDER. Raises as :func:`rebuild`."""
    return rebuild(FACTS["molsider-rebuilt"], root)


def moltox21_rebuilt(root: Path | None) -> GraphDataset:
    """Return Tox21. Raises as :func:`rebuild`."""
    return rebuild(FACTS["moltox21-rebuilt"], root)


def rebuild(facts: Facts, root: Path | None) -> GraphDataset:
    """Return the molecules of a table that RDKit can read, with the scaffold split over the whole table.

    Molecules that RDKit refuses are in the split as scaffolds of their own and are then left out, so that the others
    fall where they would with an RDKit that reads all.

    Args:
        facts: what the table must hold.
        root: the data folder, or None.

    Raises:
        MissingDataError: no folder or table, RDKit is missing, or the table is damaged or another one.
        StoreError: the cache cannot be written.
    """
    tensors = _tensors(facts, root)
    if refused := facts.rows - len(tensors["rows"]):
        log.info("%s: %d of %s SMILES are left out: RDKit %s refuses them", facts.name, refused, facts.rows, version())
    return GraphDataset(
        name=facts.name,
        graph=Graph(tensors["x"], tensors["edge_index"], tensors["batch"], tensors["edge_attr"]),
        y=tensors["y"],
        folds=(Split(tensors["train"], tensors["val"], tensors["test"]),),
        num_classes=facts.targets,
        target_type=facts.target_type,
        node_categories=ATOM_CATEGORIES,
        edge_categories=BOND_CATEGORIES,
    )


def report(name: str, root: Path | None) -> list[tuple[str, str]]:
    """Return the lines of :func:`notes` for the data set called ``name``."""
    return notes(FACTS[name], root)


def notes(facts: Facts, root: Path | None) -> list[tuple[str, str]]:
    """Return ``(heading, text)`` lines on how far the data set is OGB's, for its report. Raises as :func:`rebuild`."""
    rows = _tensors(facts, root)["rows"].tolist()
    refused = [str(row) for row in range(facts.rows) if row not in set(rows)]
    left_out = f"{len(refused)} ({'rows ' + ', '.join(refused) if refused else 'RDKit reads all'})"
    return [
        ("rebuilt", f"from {facts.file} with RDKit {version()}; OGB's data set has {facts.ogb_rows:,} graphs"),
        ("left out", left_out),
        ("split", "by scaffold, made again; not compared with OGB's file"),
    ]


def _tensors(facts: Facts, root: Path | None) -> dict[str, Tensor]:
    path = table_path(facts.name, facts.file, root)
    chemistry(facts.name)
    return kept(facts.name, (digest(path), version(), CODE), lambda: _make(facts, path))


def table_path(name: str, file: str, root: Path | None) -> Path:
    """Return where a file of a data set lies: below ``root``, or flat in it.

    Raises:
        MissingDataError: no folder is named, or the file is in neither place.
    """
    if root is None or not root.is_dir():
        lack = "is not set" if root is None else f"names no folder: {root}"
        mend = f"Set BENCHSUITE_DATA to a folder and put {file} into it"
        raise MissingDataError(f"data set {name!r} needs {file}, and BENCHSUITE_DATA {lack}", mend)
    for path in (root / file, root / file.rpartition("/")[2]):
        if path.is_file():
            return path
    raise MissingDataError(f"data set {name!r}: {root} has no {file}", f"Put it there as {root / file}")


def _make(facts: Facts, path: Path) -> dict[str, Tensor]:
    table = read_table(path, facts.targets, facts.target_type == "binary")
    if len(table.smiles) != facts.rows:
        message = (
            f"{path} has {len(table.smiles):,} rows in place of {facts.rows:,}: another table than {facts.table!r}"
        )
        raise MissingDataError(message, "Get the original file again")
    log.info("%s: %s molecules are rebuilt from SMILES, once", facts.name, f"{facts.rows:,}")
    chem = chemistry(facts.name)
    with quiet():
        molecules = [molecule(chem, smiles) for smiles in table.smiles]
        scaffolds = [index if made is None else murcko(made) for index, made in enumerate(molecules)]
    rows = np.array([index for index, made in enumerate(molecules) if made is not None])
    graph = union([small_graph(molecules[row]) for row in rows])
    assert graph.batch is not None
    assert graph.edge_attr is not None
    split = [mask(part, facts.rows)[rows] for part in scaffold_split(scaffolds)]
    return {
        "rows": torch.from_numpy(rows),
        "x": graph.x,
        "edge_index": graph.edge_index,
        "batch": graph.batch,
        "edge_attr": graph.edge_attr,
        "y": torch.from_numpy(table.y[rows]),
        **dict(zip(("train", "val", "test"), split, strict=True)),
    }
