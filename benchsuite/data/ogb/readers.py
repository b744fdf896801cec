"""OGB's data sets, read from its raw files (``docs/data-ogb.md``); never through ``ogb``, which unpickles and asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchsuite.contracts.dataset import GraphDataset, NodeDataset, Split
from benchsuite.contracts.graph import Graph
from benchsuite.data.molecules.features import ATOM_CATEGORIES, BOND_CATEGORIES
from benchsuite.data.ogb.assembly import CODE, assemble
from benchsuite.data.ogb.facts import FACTS, Facts
from benchsuite.data.ogb.folder import find
from benchsuite.data.ogb.keeping import Kept, kept

if TYPE_CHECKING:
    from pathlib import Path


def ogbn_arxiv(root: Path | None) -> NodeDataset:
    """Return ogbn-arxiv. Raises as :func:`read_nodes`."""
    return read_nodes(FACTS["ogbn-arxiv"], root)


def ogbn_products(root: Path | None) -> NodeDataset:
    """Return ogbn-products. Raises as :func:`read_nodes`."""
    return read_nodes(FACTS["ogbn-products"], root)


def ogbn_proteins(root: Path | None) -> NodeDataset:
    """Return ogbn-proteins. Raises as :func:`read_nodes`."""
    return read_nodes(FACTS["ogbn-proteins"], root)


def ogbg_molhiv(root: Path | None) -> GraphDataset:
    """Return ogbg-molhiv. Raises as :func:`read_graphs`."""
    return read_graphs(FACTS["ogbg-molhiv"], root)


def ogbg_molpcba(root: Path | None) -> GraphDataset:
    """Return ogbg-molpcba. Raises as :func:`read_graphs`."""
    return read_graphs(FACTS["ogbg-molpcba"], root)


def ogbg_molbace(root: Path | None) -> GraphDataset:
    """Return ogbg-molbace. Raises as :func:`read_graphs`."""
    return read_graphs(FACTS["ogbg-molbace"], root)


def ogbg_molbbbp(root: Path | None) -> GraphDataset:
    """Return ogbg-molbbbp. Raises as :func:`read_graphs`."""
    return read_graphs(FACTS["ogbg-molbbbp"], root)


def ogbg_molclintox(root: Path | None) -> GraphDataset:
    """Return ogbg-molclintox. Raises as :func:`read_graphs`."""
    return read_graphs(FACTS["ogbg-molclintox"], root)


def ogbg_moltox21(root: Path | None) -> GraphDataset:
    """Return ogbg-moltox21. Raises as :func:`read_graphs`."""
    return read_graphs(FACTS["ogbg-moltox21"], root)


def ogbg_moltoxcast(root: Path | None) -> GraphDataset:
    """Return ogbg-moltoxcast. Raises as :func:`read_graphs`."""
    return read_graphs(FACTS["ogbg-moltoxcast"], root)


def ogbg_molsider(root: Path | None) -> GraphDataset:
    """Return ogbg-molsider. Raises as :func:`read_graphs`."""
    return read_graphs(FACTS["ogbg-molsider"], root)


def ogbg_molmuv(root: Path | None) -> GraphDataset:
    """Return ogbg-molmuv. Raises as :func:`read_graphs`."""
    return read_graphs(FACTS["ogbg-molmuv"], root)


def ogbg_molesol(root: Path | None) -> GraphDataset:
    """Return ogbg-molesol. Raises as :func:`read_graphs`."""
    return read_graphs(FACTS["ogbg-molesol"], root)


def ogbg_molfreesolv(root: Path | None) -> GraphDataset:
    """Return ogbg-molfreesolv. Raises as :func:`read_graphs`."""
    return read_graphs(FACTS["ogbg-molfreesolv"], root)


def ogbg_mollipo(root: Path | None) -> GraphDataset:
    """Return ogbg-mollipo. Raises as :func:`read_graphs`."""
    return read_graphs(FACTS["ogbg-mollipo"], root)


def read_nodes(facts: Facts, root: Path | None) -> NodeDataset:
    """Return a graph with targets at its nodes, and its official split.

    Every edge comes in both directions, once; self loops are dropped. Where nodes have no features, each gets the mean
    of its incoming edges' features, as in OGB's own examples.

    Args:
        facts: what the files must hold.
        root: the data folder, or None.

    Raises:
        MissingDataError: no folder; files that are absent, damaged, or another data set's.
        StoreError: the cache cannot be written.
    """
    tensors = parsed(facts, root).tensors
    return NodeDataset(
        name=facts.name,
        graph=Graph(tensors["x"], tensors["edge_index"], edge_attr=tensors.get("edge_attr")),
        y=tensors["y"],
        train=tensors["train"],
        val=tensors["val"],
        test=tensors["test"],
        num_classes=facts.outputs,
        target_type=facts.target_type,
    )


def read_graphs(facts: Facts, root: Path | None) -> GraphDataset:
    """Return molecules and their official split; atoms and bonds are codes of categories.

    Arguments, edges and errors as :func:`read_nodes`.
    """
    tensors = parsed(facts, root).tensors
    return GraphDataset(
        name=facts.name,
        graph=Graph(tensors["x"], tensors["edge_index"], tensors["batch"], tensors["edge_attr"]),
        y=tensors["y"],
        folds=(Split(tensors["train"], tensors["val"], tensors["test"]),),
        num_classes=facts.outputs,
        target_type=facts.target_type,
        node_categories=ATOM_CATEGORIES,
        edge_categories=BOND_CATEGORIES,
    )


def parsed(facts: Facts, root: Path | None) -> Kept:
    """Return the tensors of a data set, mapped from a parsed copy. Arguments and errors as :func:`read_nodes`.

    Their notes say how many ``self_loops`` and ``duplicates`` (edges that the files have twice, in either direction)
    were left out.
    """
    folder = find(facts, root)
    return kept(facts.name, CODE, folder.files(), lambda: assemble(folder))
