"""OGB's raw arrays as the tensors of a data set."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np
import torch

from benchsuite.contracts.graph import Graph
from benchsuite.data.edges import mask, undirected
from benchsuite.data.ogb.keeping import Kept
from benchsuite.data.ogb.raw import read_raw

if TYPE_CHECKING:
    from torch import Tensor

    from benchsuite.data.ogb.folder import Folder
    from benchsuite.data.ogb.raw import Raw

#: Raise it when the same files give other tensors: parsed copies are then made again.
CODE = "1"

log = logging.getLogger(__name__)


def assemble(folder: Folder) -> Kept:
    """Return the tensors of a data set, and how many edges were left out.

    Raises:
        MissingDataError: a file is absent, damaged or another data set's; or they do not fit together.
    """
    facts = folder.facts
    log.info("%s: its raw files are parsed, once", facts.name)
    raw = read_raw(folder)
    if facts.target_type == "classes":
        y = torch.from_numpy(_classes(folder, raw.targets))
    else:
        y = torch.from_numpy(raw.targets.astype(np.float32))
    found, loops = len(raw.edges), int((raw.edges[:, 0] == raw.edges[:, 1]).sum())
    graph = _graph(raw)
    notes = {"self_loops": loops, "duplicates": found - loops - graph.num_edges // 2}
    log.info("%s: %s edges; left out: %s", facts.name, f"{graph.num_edges:,}", notes)
    tensors = {
        "x": graph.x,
        "edge_index": graph.edge_index,
        "batch": graph.batch if facts.of_graphs else None,
        "edge_attr": graph.edge_attr,
        "y": y,
        **dict(zip(("train", "val", "test"), (mask(part, len(y)) for part in raw.split), strict=True)),
    }
    kept_tensors = {name: tensor.contiguous() for name, tensor in tensors.items() if tensor is not None}
    return Kept(kept_tensors, {name: str(count) for name, count in notes.items()})


def _graph(raw: Raw) -> Graph:
    """Return all graphs as one, every edge in both directions; takes the edges out of ``raw``, to need less memory."""
    nodes = int(raw.sizes.sum())
    edges, attributes = raw.edges, raw.edge_attr
    raw.edges, raw.edge_attr = np.empty((0, 2), np.int64), None
    if len(raw.sizes) > 1:
        edges += np.repeat(raw.sizes.cumsum() - raw.sizes, raw.counts)[:, None]
    batch = torch.from_numpy(np.repeat(np.arange(len(raw.sizes)), raw.sizes))
    if attributes is None:
        x = torch.empty(nodes, 0) if raw.x is None else torch.from_numpy(raw.x)
        return Graph(x, undirected(edges[:, 0], edges[:, 1], nodes), batch)
    edge_index, rows = _both_ways(edges, nodes)
    attr = torch.from_numpy(attributes[rows])
    x = incoming_mean(edge_index, attr, nodes) if raw.x is None else torch.from_numpy(raw.x)
    return Graph(x, edge_index, batch, attr)


def _both_ways(edges: np.ndarray, nodes: int) -> tuple[Tensor, np.ndarray]:
    """Return every edge in both directions once, by target then source, without self loops; and its row in the file.

    Args:
        edges: ``[edges, 2]`` int64, from and to.
        nodes: number of nodes.
    """
    source, target = edges.T
    # The file's own direction goes first: where it has both, each keeps the features that it has there.
    keys, order = torch.sort(
        torch.from_numpy(np.concatenate([target * nodes + source, source * nodes + target])), stable=True
    )
    keep = torch.ones(len(keys), dtype=torch.bool)
    keep[1:] = keys[1:] != keys[:-1]
    keep &= keys % (nodes + 1) != 0  # a self loop's key is node * (nodes + 1)
    keys, order = keys[keep], order[keep]
    return torch.stack([keys % nodes, keys // nodes]), order.remainder_(max(1, len(edges))).numpy()


def incoming_mean(edge_index: Tensor, edge_attr: Tensor, nodes: int) -> Tensor:
    """Return the mean of the features of each node's incoming edges, ``[nodes, columns]`` float32; 0 where it has none.

    Args:
        edge_index: ``[2, edges]`` int64.
        edge_attr: ``[edges, columns]`` float32.
        nodes: number of nodes.
    """
    target = edge_index[1].numpy()
    degrees = np.maximum(np.bincount(target, minlength=nodes), 1)
    # In float64, a column at a time: the sums do not depend on the order of the edges, to float32's precision.
    columns = [np.bincount(target, column, nodes) / degrees for column in edge_attr.numpy().T]
    return torch.from_numpy(np.stack(columns, 1).astype(np.float32))


def _classes(folder: Folder, targets: np.ndarray) -> np.ndarray:
    """Return the class of each node, int64.

    Raises:
        MissingDataError: one is missing, or is no class.
    """
    labels, classes = targets[:, 0], folder.facts.outputs
    with np.errstate(invalid="ignore"):
        odd = np.flatnonzero(~((labels >= 0) & (labels < classes) & (labels == np.floor(labels))))
    if len(odd):
        said = f"has {labels[odd[0]]:g} as class of node {odd[0]}, and the classes are 0 to {classes - 1}"
        label = folder.facts.label
        raise folder.wrong(folder.arrays(label) if folder.binary else folder.table(f"raw/{label}"), said)
    return labels.astype(np.int64)
