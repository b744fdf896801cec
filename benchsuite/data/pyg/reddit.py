"""``reddit``: posts of September 2014, joined where one user commented on both, from the files that PyG downloads.

The graph and split are those of GraphSAGE (Hamilton et al., NeurIPS 2017, arXiv 1706.02216): 41 communities are the
classes, the first twenty days train.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from benchsuite.contracts.dataset import NodeDataset
from benchsuite.contracts.graph import Graph
from benchsuite.data.arrays import Arrays, read_npz
from benchsuite.data.edges import ordered
from benchsuite.data.places import find

if TYPE_CHECKING:
    from pathlib import Path

#: Bytes that one array may have; as float64 the features have 1.1 thousand million.
LIMIT = 2**32
FILES = ("reddit_data.npz", "reddit_graph.npz")
PLACES = ("Reddit/raw", "reddit/raw", "Reddit", "reddit", ".")
MEND = (
    "Run: benchsuite data fetch reddit (needs a network), or put reddit_data.npz and reddit_graph.npz into {}Reddit/raw"
)


@dataclass(frozen=True)
class Facts:
    """What the files must hold; edges directed."""

    name: str = "reddit"
    nodes: int = 232_965
    edges: int = 114_615_892
    features: int = 602
    classes: int = 41


def reddit(root: Path | None) -> NodeDataset:
    """Return Reddit. Raises as :func:`read_reddit`."""
    return read_reddit(Facts(), root)


def read_reddit(facts: Facts, root: Path | None) -> NodeDataset:
    """Return the graph; features as stored.

    Args:
        facts: what the files must hold.
        root: the data folder, or None.

    Raises:
        MissingDataError: no folder, missing files, or one that is damaged, holds a pickle, or is another graph's.
    """
    layouts = [[f"{place}/{file}" for file in FILES] for place in PLACES]
    data_path, graph_path = find(facts.name, root, layouts, MEND)
    data = read_npz(data_path, ("feature", "label", "node_types"), LIMIT)
    x = torch.from_numpy(data.table("feature", facts.nodes, facts.features))
    y = torch.from_numpy(data.classes("label", facts.nodes, facts.classes))
    part = torch.from_numpy(data.classes("node_types", facts.nodes, 4))
    edges, both = _edges(facts, read_npz(graph_path, ("row", "col"), LIMIT))
    return NodeDataset(
        name=facts.name,
        graph=Graph(x, edges),
        y=y,
        train=part == 1,
        val=part == 2,
        test=part == 3,
        num_classes=facts.classes,
        undirected=both,
    )


def _edges(facts: Facts, arrays: Arrays) -> tuple[torch.Tensor, bool]:
    """Return the edges of a matrix that SciPy saved as coordinates."""
    source = arrays.take("row", "integers", None)
    target = arrays.take("col", "integers", len(source))
    for name, ends in (("row", source), ("col", target)):
        arrays.below(name, ends, facts.nodes)
    edges, both = ordered(source, target, facts.nodes)
    if edges.shape[1] != facts.edges:
        raise arrays.wrong(f"has {edges.shape[1]:,} edges in place of {facts.edges:,}")
    return edges, both
