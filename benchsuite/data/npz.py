"""Amazon's Computers and Photo and Coauthor's CS and Physics, whose graphs lie as one ``.npz`` each.

Two forms are read: the original one of Shchur et al. (2018, arXiv 1811.05868), which PyTorch Geometric downloads, and
one without pickles (``node_npz/``), where the features lack their values if all are 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy.sparse import csr_matrix

from benchsuite.contracts.dataset import NodeDataset
from benchsuite.contracts.graph import Graph
from benchsuite.data.arrays import Arrays, read_npz
from benchsuite.data.edges import per_class_split, undirected
from benchsuite.data.places import find

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

#: Bytes that one array may have; the largest of the four has 15 million.
LIMIT = 2**28
#: Nodes of each class that train, and that validate; the others test.
TRAIN, VALIDATION, SEED = 20, 30, 0


@dataclass(frozen=True)
class Facts:
    """What is known of one graph (Shchur et al. 2018, table 1; edges directed, without duplicates and self loops)."""

    name: str
    folder: str
    """Below the data folder, as PyTorch Geometric has it."""
    file: str
    """What the original file is called."""
    plain: str
    """What the file without pickles is called."""
    nodes: int
    edges: int
    features: int
    classes: int


FACTS = {
    facts.name: facts
    for facts in (
        Facts(
            "amazon-computers",
            "Amazon/Computers/raw",
            "amazon_electronics_computers.npz",
            "amazon_cs.npz",
            13_752,
            491_722,
            767,
            10,
        ),
        Facts(
            "amazon-photo",
            "Amazon/Photo/raw",
            "amazon_electronics_photo.npz",
            "amazon_photo.npz",
            7_650,
            238_162,
            745,
            8,
        ),
        Facts("coauthor-cs", "Coauthor/CS/raw", "ms_academic_cs.npz", "coauthor_cs.npz", 18_333, 163_788, 6_805, 15),
        Facts(
            "coauthor-physics",
            "Coauthor/Physics/raw",
            "ms_academic_phy.npz",
            "coauthor_phy.npz",
            34_493,
            495_924,
            8_415,
            5,
        ),
    )
}


def amazon_computers(root: Path | None) -> NodeDataset:
    """Return Amazon Computers. Raises as :func:`read_graph`."""
    return read_graph(FACTS["amazon-computers"], root)


def amazon_photo(root: Path | None) -> NodeDataset:
    """Return Amazon Photo. Raises as :func:`read_graph`."""
    return read_graph(FACTS["amazon-photo"], root)


def coauthor_cs(root: Path | None) -> NodeDataset:
    """Return Coauthor CS. Raises as :func:`read_graph`."""
    return read_graph(FACTS["coauthor-cs"], root)


def coauthor_physics(root: Path | None) -> NodeDataset:
    """Return Coauthor Physics, whose features take 1.2 GB of memory. Raises as :func:`read_graph`."""
    return read_graph(FACTS["coauthor-physics"], root)


def read_graph(facts: Facts, root: Path | None) -> NodeDataset:
    """Return the graph with bags of words as features: a word is there or not, and a row's sum is 1.

    Edges are made undirected, self loops are dropped; nodes outside the largest component stay, as in PyTorch
    Geometric. 20 nodes of each class train, the next 30 validate and the others test: one split, of seed 0.

    Args:
        facts: what the file must hold.
        root: the data folder, or None.

    Raises:
        MissingDataError: no folder or file, or one that is damaged, holds a pickle, or is another graph's.
    """
    layouts = [(f"{place}/{file}",) for place in _places(facts) for file in (facts.file, facts.plain)]
    (path,) = find(facts.name, root, layouts, _mend(facts))
    wanted = [f"{part}_{each}" for part in ("adj", "attr", "x") for each in ("indptr", "indices", "data")]
    arrays = read_npz(path, [*wanted, "labels", "y"], LIMIT)
    prefix, y = ("attr", "labels") if "attr_indptr" in arrays.found else ("x", "y")
    classes = arrays.classes(y, facts.nodes, facts.classes)
    source, target = arrays.pairs("adj_", facts.nodes, facts.nodes)
    edges = undirected(source, target, facts.nodes)
    if edges.shape[1] != facts.edges:
        raise arrays.wrong(f"has {edges.shape[1]:,} edges in place of {facts.edges:,}")
    train, val, test = per_class_split(classes, TRAIN, VALIDATION, SEED)
    return NodeDataset(
        name=facts.name,
        graph=Graph(_features(facts, arrays, prefix), edges),
        y=torch.from_numpy(classes),
        train=train,
        val=val,
        test=test,
        num_classes=facts.classes,
    )


def _features(facts: Facts, arrays: Arrays, prefix: str) -> Tensor:
    """Return ``[nodes, features]`` float32; the only dense copy of them."""
    rows, columns = arrays.pairs(f"{prefix}_", facts.nodes, facts.features)
    ones = np.ones(len(rows), np.float32)
    if f"{prefix}_data" in arrays.found:
        ones = (arrays.take(f"{prefix}_data", "numbers", len(rows)) > 0).astype(np.float32)
    words = csr_matrix((ones, (rows, columns)), (facts.nodes, facts.features))
    words.data = np.minimum(words.data, 1)  # a word that is listed twice is there once
    counts = np.asarray(words.sum(1)).reshape(-1).clip(1)
    words.data /= np.repeat(counts, np.diff(words.indptr)).astype(np.float32)
    return torch.from_numpy(words.toarray())


def _places(facts: Facts) -> list[str]:
    inner = facts.folder.partition("/")[2]
    return [facts.folder, facts.folder.lower(), inner, "node_npz", "."]


def _mend(facts: Facts) -> str:
    return f"Run: benchsuite data fetch {facts.name} (needs a network), or put {facts.file} into {{}}{facts.folder}"
