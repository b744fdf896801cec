"""Small data sets in OGB's two forms, and ogb's own code without its network thread."""

from __future__ import annotations

import gzip
import importlib
import sys
import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchsuite.data.molecules.features import ATOM_CATEGORIES, BOND_CATEGORIES
from benchsuite.data.ogb.facts import FACTS, Facts

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Specimen:
    """What a data set's files hold, and a writer of them."""

    facts: Facts
    root: Path
    sizes: list[int]
    edges: list[list[tuple[int, int]]]
    """Of each graph."""
    x: np.ndarray | None
    edge_attr: np.ndarray | None
    targets: np.ndarray
    split: dict[str, list[int]]
    texts: dict[str, str] = field(default_factory=dict)
    """Tables whose text is another than the values say."""

    def tables(self) -> dict[str, str]:
        pairs = [pair for edges in self.edges for pair in edges]
        raw = {
            "edge": "".join(f"{i},{j}\n" for i, j in pairs),
            "num-node-list": "".join(f"{size}\n" for size in self.sizes),
            "num-edge-list": "".join(f"{len(edges)}\n" for edges in self.edges),
            self.facts.label: _csv(self.targets),
        }
        if self.x is not None:
            raw["node-feat"] = _csv(self.x)
        if self.edge_attr is not None:
            raw["edge-feat"] = _csv(self.edge_attr)
        return {f"raw/{name}": text for name, text in raw.items()} | self._splits() | self.texts

    def _splits(self) -> dict[str, str]:
        return {
            f"split/{self.facts.split}/{part}": "".join(f"{item}\n" for item in items)
            for part, items in self.split.items()
        }

    def csv(self, where: str = "", suffix: str = ".csv.gz", without: tuple[str, ...] = ()) -> Path:
        folder = self.root / (where or self.facts.folder)
        for name, text in self.tables().items():
            if name not in without:
                path = folder / f"{name}{suffix}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(gzip.compress(text.encode()) if suffix == ".csv.gz" else text.encode())
        return folder

    def npz(self, where: str = "", **changes: object) -> Path:
        folder = self.root / (where or self.facts.folder)
        arrays: dict[str, object] = {
            "edge_index": np.array([pair for edges in self.edges for pair in edges], np.int64).reshape(-1, 2).T,
            "num_nodes_list": np.array(self.sizes, np.int64),
            "num_edges_list": np.array([len(edges) for edges in self.edges], np.int64),
            "node_feat": self.x,
            "edge_feat": self.edge_attr,
        }
        (folder / "raw").mkdir(parents=True, exist_ok=True)
        arrays |= changes
        np.savez_compressed(folder / "raw/data.npz", **{k: v for k, v in arrays.items() if v is not None})
        label = self.facts.label
        np.savez_compressed(folder / f"raw/{label}.npz", **{label.replace("-", "_"): self.targets})
        for name, text in self._splits().items():
            path = folder / f"{name}.csv.gz"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gzip.compress(text.encode()))
        return folder


def _csv(table: np.ndarray) -> str:
    def text(value: object) -> str:
        return "" if value != value else repr(value.item())

    empty = '""' if table.shape[1] == 1 else ""  # as pandas writes a row of one missing number
    return "".join((",".join(map(text, row)) or empty) + "\n" for row in table)


def molecules(root: Path, name: str = "ogbg-moltox21", graphs: int = 30, seed: int = 0) -> Specimen:
    """Return graphs of 1 to 6 nodes, no edge twice, in the form of one of OGB's molecule sets."""
    draw = np.random.RandomState(seed)
    facts = replace(FACTS[name], items=graphs)
    sizes = [1, *draw.randint(1, 7, graphs - 1).tolist()]
    edges = []
    for size in sizes:
        pairs = [(i, j) if draw.rand() < 0.5 else (j, i) for i in range(size) for j in range(i) if draw.rand() < 0.5]
        edges.append([pairs[k] for k in draw.permutation(len(pairs))])
    nodes, total = sum(sizes), sum(map(len, edges))
    targets = draw.randint(0, 2, (graphs, facts.outputs)).astype(np.float64)
    if facts.target_type == "values":
        targets = draw.randn(graphs, facts.outputs)
    targets[draw.rand(*targets.shape) < 0.2] = np.nan
    order = draw.permutation(graphs)
    return Specimen(
        facts=facts,
        root=root,
        sizes=sizes,
        edges=edges,
        x=np.stack([draw.randint(0, count, nodes) for count in ATOM_CATEGORIES], 1),
        edge_attr=np.stack([draw.randint(0, count, total) for count in BOND_CATEGORIES], 1),
        targets=targets,
        split=_split(order),
    )


def one_graph(root: Path, name: str, nodes: int = 60, seed: int = 0) -> Specimen:
    """Return a graph without an edge twice, in the form of one of OGB's node sets."""
    draw = np.random.RandomState(seed)
    facts = replace(FACTS[name], items=nodes, outputs=min(FACTS[name].outputs, 5))
    pairs = [(i, j) if draw.rand() < 0.5 else (j, i) for i in range(nodes) for j in range(i) if draw.rand() < 0.1]
    if facts.target_type == "classes":
        targets = draw.permutation(nodes)[:, None] % facts.outputs
    else:
        targets = draw.randint(0, 2, (nodes, facts.outputs))
    return Specimen(
        facts=facts,
        root=root,
        sizes=[nodes],
        edges=[[pairs[k] for k in draw.permutation(len(pairs))]],
        x=draw.randn(nodes, facts.node_columns) if facts.node_columns else None,
        edge_attr=draw.rand(len(pairs), facts.edge_columns).round(3) if facts.edge_columns else None,
        targets=targets,
        split=_split(draw.permutation(nodes)),
    )


def _split(order: np.ndarray) -> dict[str, list[int]]:
    first, second = len(order) * 8 // 10, len(order) * 9 // 10
    parts = (order[:first], order[first:second], order[second:])
    return {name: part.tolist() for name, part in zip(("train", "valid", "test"), parts, strict=True)}


@pytest.fixture
def specimen(tmp_path):
    """Return a maker of small data sets below an empty data folder: ``specimen(name, **options)``."""
    root = tmp_path / "data"
    root.mkdir()

    def make(name: str, **options: int) -> Specimen:
        return (molecules if name.startswith("ogbg-") else one_graph)(root, name, **options)

    return make


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    # One for the session: what one test parsed, the next maps.
    monkeypatch.setenv("BENCHSUITE_CACHE", str(tmp_path_factory.getbasetemp() / "benchsuite-cache"))


@pytest.fixture(scope="session")
def ogb():
    """Return an importer of ogb's modules, which ask the network for a newer version where ``outdated`` is there."""
    before = sys.modules.get("outdated", "absent")
    sys.modules["outdated"] = None  # an import of it raises ImportError

    def load(name: str):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return pytest.importorskip(f"ogb.{name}", reason="ogb is not installed", exc_type=ImportError)

    yield load
    if before == "absent":
        sys.modules.pop("outdated", None)
    else:
        sys.modules["outdated"] = before
    importlib.invalidate_caches()
