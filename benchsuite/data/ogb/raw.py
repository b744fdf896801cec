"""OGB's raw files as arrays, both forms alike, and held to what must be true of them.

Follows the layouts that ``ogb/io/read_graph_raw.py`` of ogb 1.3.6 reads; ``split_dict.pt`` is a pickle and is not read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchsuite.data.ogb.tables import read_csv, read_npz

if TYPE_CHECKING:
    from benchsuite.data.ogb.folder import Folder

_NODES_AT_MOST = 2**40


@dataclass
class Raw:
    """What the files hold; nodes are counted from 0 within each graph."""

    sizes: np.ndarray
    """``[graphs]`` int64, nodes of each."""
    counts: np.ndarray
    """``[graphs]`` int64, edges of each."""
    edges: np.ndarray
    """``[edges, 2]`` int64, from and to, in the order of the file."""
    x: np.ndarray | None
    """``[nodes, columns]`` float32 or int64 codes."""
    edge_attr: np.ndarray | None
    """``[edges, columns]`` float32 or int64 codes."""
    targets: np.ndarray
    """``[items, targets]`` float64, NaN where one is missing."""
    split: tuple[np.ndarray, np.ndarray, np.ndarray]
    """Items that train, validate and test, int64."""


def read_raw(folder: Folder) -> Raw:
    """Return what a folder holds.

    Raises:
        MissingDataError: a file is absent, damaged or another data set's; or they do not fit together.
    """
    facts = folder.facts
    source: _Csv | _Npz = _Npz(folder) if folder.binary else _Csv(folder)
    graphs = facts.items if facts.of_graphs else 1
    sizes, counts = source.sizes(graphs), source.counts(graphs)
    if len(sizes) != len(counts):
        raise folder.wrong(folder.path, f"has nodes of {len(sizes):,} graphs, and edges of {len(counts):,}")
    if sizes.min(initial=1) < 1 or counts.min(initial=0) < 0 or not len(sizes) or sizes.sum() > _NODES_AT_MOST:
        raise folder.wrong(source.place("num-node-list"), "has a graph of less than one node, or less than no edges")
    nodes, edges = int(sizes.sum()), int(counts.sum())
    items = len(sizes) if facts.of_graphs else nodes
    if facts.items not in (None, items):
        what = "graphs" if facts.of_graphs else "nodes"
        raise folder.wrong(source.place("num-node-list"), f"has {items:,} {what} in place of {facts.items:,}")
    kind = np.int64 if facts.of_graphs else np.float32
    raw = Raw(
        sizes=sizes,
        counts=counts,
        edges=source.edges(edges),
        x=source.features("node-feat", kind, facts.node_columns, nodes) if facts.node_columns else None,
        edge_attr=source.features("edge-feat", kind, facts.edge_columns, edges) if facts.edge_columns else None,
        targets=source.targets(items),
        split=_split(folder, items),
    )
    _check_edges(folder, raw, source.place("edge"))
    return raw


class _Csv:
    """The text form."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    def place(self, table: str) -> str:
        return str(self.folder.table(f"raw/{table}"))

    def sizes(self, graphs: int | None) -> np.ndarray:
        return self._numbers("num-node-list", graphs)

    def counts(self, graphs: int | None) -> np.ndarray:
        return self._numbers("num-edge-list", graphs)

    def _numbers(self, table: str, rows: int | None) -> np.ndarray:
        return self._table(table, np.int64, 1, rows)[:, 0]

    def edges(self, edges: int) -> np.ndarray:
        return self._table("edge", np.int64, 2, edges)

    def features(self, table: str, dtype: type, columns: int, rows: int) -> np.ndarray:
        return self._table(table, dtype, columns, rows)

    def targets(self, items: int) -> np.ndarray:
        return self._table(self.folder.facts.label, np.float64, self.folder.facts.targets, items)

    def _table(self, table: str, dtype: type, columns: int, rows: int | None) -> np.ndarray:
        return read_csv(self.folder, self.folder.table(f"raw/{table}"), dtype, columns, rows, _NODES_AT_MOST)


class _Npz:
    """The binary form."""

    def __init__(self, folder: Folder) -> None:
        self.folder, self.path = folder, folder.arrays("data")

    def place(self, table: str) -> str:
        return f"{_ARRAYS[table]} in {self.path}"

    def sizes(self, graphs: int | None) -> np.ndarray:
        return self._array("num-node-list", np.int64, (graphs,))

    def counts(self, graphs: int | None) -> np.ndarray:
        return self._array("num-edge-list", np.int64, (graphs,))

    def edges(self, edges: int) -> np.ndarray:
        return np.ascontiguousarray(self._array("edge", np.int64, (2, edges)).T)

    def features(self, table: str, dtype: type, columns: int, rows: int) -> np.ndarray:
        return self._array(table, dtype, (rows, columns))

    def targets(self, items: int) -> np.ndarray:
        facts = self.folder.facts
        path, name = self.folder.arrays(facts.label), facts.label.replace("-", "_")
        return read_npz(self.folder, path, name, np.float64, (items, facts.targets))

    def _array(self, table: str, dtype: type, shape: tuple[int | None, ...]) -> np.ndarray:
        return read_npz(self.folder, self.path, _ARRAYS[table], dtype, shape)


_ARRAYS = {
    "num-node-list": "num_nodes_list",
    "num-edge-list": "num_edges_list",
    "edge": "edge_index",
    "node-feat": "node_feat",
    "edge-feat": "edge_feat",
}


def _split(folder: Folder, items: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the items of the three parts.

    Raises:
        MissingDataError: one is not there, or is there twice.
    """
    what = "graph" if folder.facts.of_graphs else "node"
    seen = np.zeros(items, bool)
    parts = []
    for table in folder.facts.parts:
        path = folder.table(table)
        part = read_csv(folder, path, np.int64, 1, most=items)[:, 0]
        outside = np.flatnonzero((part < 0) | (part >= items))
        if len(outside):
            row = int(outside[0])
            raise folder.wrong(path, f"names {what} {part[row]} in line {row + 1:,}, and there are {items:,}")
        numbers, first = np.unique(part, return_index=True)
        again = numbers[seen[numbers]]
        if len(again) or len(numbers) < len(part):
            twice = again[0] if len(again) else part[np.setdiff1d(np.arange(len(part)), first)[0]]
            raise folder.wrong(
                path, f"names {what} {twice}, which {'an earlier part' if len(again) else 'it'} names too"
            )
        seen[numbers] = True
        parts.append(part)
    return parts[0], parts[1], parts[2]


def _check_edges(folder: Folder, raw: Raw, where: str) -> None:
    room = np.repeat(raw.sizes, raw.counts) if len(raw.sizes) > 1 else raw.sizes[0]
    outside = (raw.edges.min(1) < 0) | (raw.edges.max(1) >= room)
    if not outside.any():
        return
    row = int(outside.argmax())
    graph = int(np.searchsorted(raw.counts.cumsum(), row, side="right"))
    source, target = raw.edges[row].tolist()
    of = f"graph {graph:,}" if folder.facts.of_graphs else "it"
    said = f"has an edge from node {source} to node {target} (edge {row:,}), and {of} has {raw.sizes[graph]:,} nodes"
    raise folder.wrong(where, said)
