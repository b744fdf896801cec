"""``flickr``: images with their descriptions, joined where they share a property, from the files that PyG downloads.

Graph, features and split are those of GraphSAINT (Zeng et al., ICLR 2020, arXiv 1907.04931), seven groups of tags are
the classes. It is not the Flickr graph of 7,575 users.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from benchsuite.contracts.dataset import NodeDataset
from benchsuite.contracts.graph import Graph
from benchsuite.data.arrays import read_npy, read_npz
from benchsuite.data.edges import mask, ordered
from benchsuite.data.places import find
from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from pathlib import Path

#: Bytes that one array, and one JSON file, may have.
LIMIT, TEXT_LIMIT = 2**30, 2**26
FILES = ("adj_full.npz", "feats.npy", "class_map.json", "role.json")
PLACES = ("Flickr/raw", "flickr/raw", "Flickr", "flickr")
MEND = f"Run: benchsuite data fetch flickr (needs a network), or put {', '.join(FILES)} into {{}}Flickr/raw"
_AGAIN = "Get the original file again"


@dataclass(frozen=True)
class Facts:
    """What the files must hold; edges directed."""

    name: str = "flickr"
    nodes: int = 89_250
    edges: int = 899_756
    features: int = 500
    classes: int = 7


def flickr(root: Path | None) -> NodeDataset:
    """Return Flickr. Raises as :func:`read_flickr`."""
    return read_flickr(Facts(), root)


def read_flickr(facts: Facts, root: Path | None) -> NodeDataset:
    """Return the graph; features as stored.

    Args:
        facts: what the files must hold.
        root: the data folder, or None.

    Raises:
        MissingDataError: no folder, missing files, or one that is damaged, holds a pickle, or is another graph's.
    """
    layouts = [[f"{place}/{file}" for file in FILES] for place in PLACES]
    adjacency, features, classes, role = find(facts.name, root, layouts, MEND)
    arrays = read_npz(adjacency, ("indptr", "indices"), LIMIT)
    edges, both = ordered(*arrays.pairs("", facts.nodes, facts.nodes), facts.nodes)
    if edges.shape[1] != facts.edges:
        raise arrays.wrong(f"has {edges.shape[1]:,} edges in place of {facts.edges:,}")
    x = read_npy(features, "feats", LIMIT).table("feats", facts.nodes, facts.features)
    train, val, test = _split(role, facts.nodes)
    return NodeDataset(
        name=facts.name,
        graph=Graph(torch.from_numpy(x), edges),
        y=_classes(classes, facts),
        train=train,
        val=val,
        test=test,
        num_classes=facts.classes,
        undirected=both,
    )


def _classes(path: Path, facts: Facts) -> torch.Tensor:
    """Return ``[nodes]`` int64 from an object of node: class."""
    named = _json(path)
    y = [named.get(str(node)) for node in range(facts.nodes)]
    if len(named) != facts.nodes or not all(type(each) is int and 0 <= each < facts.classes for each in y):
        raise _wrong(
            path, f"does not name one of the classes 0 to {facts.classes - 1} for each of {facts.nodes:,} nodes"
        )
    return torch.tensor(y)


def _split(path: Path, nodes: int) -> list[torch.Tensor]:
    """Return the three masks from an object of lists of nodes."""
    named = _json(path)
    parts = []
    for part in ("tr", "va", "te"):
        members = named.get(part)
        if not isinstance(members, list) or not all(type(each) is int and 0 <= each < nodes for each in members):
            raise _wrong(path, f"has no list of nodes 0 to {nodes - 1} as {part!r}")
        parts.append(mask(np.array(members, np.int64), nodes))
    return parts


def _json(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > TEXT_LIMIT:
            raise MissingDataError(f"{path} has more than {TEXT_LIMIT:,} bytes", "Do not trust this file")
        named = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise _wrong(path, f"is no JSON ({' '.join(str(error).split())[:80]})") from error
    except OSError as error:
        raise MissingDataError(f"{path} cannot be read: {error.strerror}", _AGAIN) from error
    if not isinstance(named, dict):
        raise _wrong(path, "holds no JSON object")
    return named


def _wrong(path: Path, what: str) -> MissingDataError:
    return MissingDataError(f"{path} {what}: damaged, or another data set", _AGAIN)
