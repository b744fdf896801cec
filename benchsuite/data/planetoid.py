"""Cora, CiteSeer and PubMed with Planetoid's public split, from the original ``ind.*`` files.

The files are found in the flat layout and in the one that PyTorch Geometric downloads; see :func:`folders`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from benchsuite.contracts.dataset import NodeDataset
from benchsuite.contracts.graph import Graph
from benchsuite.data.cards import PLANETOID_PARTS
from benchsuite.data.edges import mask, undirected
from benchsuite.data.pickles import Refused
from benchsuite.data.unpickle import read_array, read_bytes, read_lists, read_matrix
from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class Facts:
    """What is known of one data set (Kipf and Welling, ICLR 2017, table 1; edges directed, after deduplication)."""

    name: str
    folder: str
    """As PyTorch Geometric spells it."""
    nodes: int
    edges: int
    features: int
    classes: int
    train: int
    validation: int = 500
    test: int = 1000


FACTS = {
    facts.name: facts
    for facts in (
        Facts("cora", "Cora", nodes=2708, edges=10556, features=1433, classes=7, train=140),
        Facts("citeseer", "CiteSeer", nodes=3327, edges=9104, features=3703, classes=6, train=120),
        Facts("pubmed", "PubMed", nodes=19717, edges=88648, features=500, classes=3, train=60),
    )
}


def cora(root: Path | None) -> NodeDataset:
    """Return Cora. Raises as :func:`read_planetoid`."""
    return read_planetoid(FACTS["cora"], root)


def citeseer(root: Path | None) -> NodeDataset:
    """Return CiteSeer. Raises as :func:`read_planetoid`."""
    return read_planetoid(FACTS["citeseer"], root)


def pubmed(root: Path | None) -> NodeDataset:
    """Return PubMed. Raises as :func:`read_planetoid`."""
    return read_planetoid(FACTS["pubmed"], root)


def read_planetoid(facts: Facts, root: Path | None) -> NodeDataset:
    """Return the data set with row-normalised features.

    The first ``train`` nodes train, the next 500 validate, and ``test.index`` names the test nodes. CiteSeer has 15
    nodes without text or links behind its test nodes: as in PyTorch Geometric their features are zero, their class
    is 0, and they are in no split.

    Args:
        facts: what the files must hold.
        root: the data folder, or None.

    Raises:
        MissingDataError: no folder, missing files, a file that is damaged or refused, or another data set's files.
    """
    folder = find(facts, root)
    parts = _Parts(facts, folder)
    x, y = parts.features_and_labels()
    features = torch.from_numpy(x)
    # Sums are at least 1 but for rows of zeros, so this is the usual row normalisation without a division by zero.
    features = features / features.sum(1, keepdim=True).clamp(min=1)
    nodes, first = np.arange(facts.nodes), facts.train
    return NodeDataset(
        name=facts.name,
        graph=Graph(features, parts.edges()),
        y=torch.from_numpy(y),
        train=mask(nodes[:first], facts.nodes),
        val=mask(nodes[first : first + facts.validation], facts.nodes),
        test=mask(parts.test_index(), facts.nodes),
        num_classes=facts.classes,
    )


def file_names(facts: Facts) -> tuple[str, ...]:
    """Return the names of the eight files."""
    return tuple(f"ind.{facts.name}.{part}" for part in PLANETOID_PARTS)


def folders(facts: Facts, root: Path) -> Iterator[Path]:
    """Yield where the files may lie below ``root``, in the order of search.

    PyTorch Geometric's layout: ``Cora/raw``, in a folder ``Planetoid``, ``planetoid`` or ``Cora`` or in ``root``
    itself; its data set may be spelled in lower case. Flat: ``planetoid/``, and ``root`` itself. The folder that
    ``benchsuite data fetch`` fills comes first, so that fetching mends a damaged copy elsewhere.
    """
    for parent in ("Planetoid", "planetoid", ".", facts.folder, facts.name):
        for folder in (facts.folder, facts.name):
            yield root / parent / folder / "raw"
    for flat in ("planetoid", "Planetoid", "."):
        yield root / flat


def mend(facts: Facts, root: Path | None) -> str:
    """Return the line that says how to get the files."""
    fetch = f"benchsuite data fetch {facts.name}"
    if root is None:
        return f"Set BENCHSUITE_DATA to a folder and run: {fetch} (or put ind.{facts.name}.* into its planetoid/)"
    return f"Run: {fetch} (needs a network), or put the original ind.{facts.name}.* into {root / 'planetoid'}"


def find(facts: Facts, root: Path | None) -> Path:
    """Return the first folder with all eight files.

    Raises:
        MissingDataError: there is none; where a folder has some of them, the line names those it lacks.
    """
    what = f"data set {facts.name!r}"
    if root is None:
        raise MissingDataError(f"{what} needs files, and BENCHSUITE_DATA is not set", mend(facts, root))
    if not root.is_dir():
        raise MissingDataError(f"{what} needs files, and BENCHSUITE_DATA names no folder: {root}", mend(facts, root))
    try:
        return _search(facts, root)
    except OSError as error:
        raise MissingDataError(f"{what}: {root} cannot be searched ({error.strerror})", mend(facts, root)) from error


def _search(facts: Facts, root: Path) -> Path:
    what = f"data set {facts.name!r}"
    whole = complete(facts, root)
    if whole is not None:
        return whole
    for folder in folders(facts, root):
        missing = missing_files(facts, folder)
        if len(missing) < len(PLANETOID_PARTS):
            raise MissingDataError(f"{what}: {folder} lacks {', '.join(missing)}", mend(facts, root))
    empty = "is empty" if not any(root.iterdir()) else f"has no ind.{facts.name}.* in any known layout"
    raise MissingDataError(f"{what}: {root} {empty}", mend(facts, root))


def complete(facts: Facts, root: Path) -> Path | None:
    """Return the first folder with all eight files, or None; what is in them is not looked at."""
    return next((folder for folder in folders(facts, root) if not missing_files(facts, folder)), None)


def missing_files(facts: Facts, folder: Path) -> list[str]:
    """Return the names of the files that ``folder`` lacks."""
    return [name for name in file_names(facts) if not (folder / name).is_file()]


class _Parts:
    """The eight files of one folder, each checked against the facts and against the others."""

    def __init__(self, facts: Facts, folder: Path) -> None:
        self.facts, self.folder = facts, folder
        self.mend = f"Run: benchsuite data fetch {facts.name} (needs a network), or put the original file in its place"

    def features_and_labels(self) -> tuple[np.ndarray, np.ndarray]:
        """Return ``[nodes, features]`` float32, as stored, and ``[nodes]`` int64."""
        facts, index = self.facts, self.test_index()
        known = facts.nodes - (int(index.max()) - int(index.min()) + 1)
        train_x, train_y = self._matrix("x", facts.train), self._one_hot("y", facts.train)
        rest_x, rest_y = self._matrix("allx", known), self._one_hot("ally", known)
        if (rest_x[: facts.train] != train_x).nnz or (rest_y[: facts.train] != train_y).any():
            raise self._wrong("allx", f"does not begin with the rows of ind.{facts.name}.x")
        x = np.zeros((facts.nodes, facts.features), np.float32)
        y = np.zeros(facts.nodes, np.int64)
        x[:known], y[:known] = rest_x.toarray(), rest_y.argmax(1)
        x[index], y[index] = self._matrix("tx", facts.test).toarray(), self._one_hot("ty", facts.test).argmax(1)
        return x, y

    def edges(self) -> torch.Tensor:
        """Return ``[2, edges]`` int64."""
        nodes = self.facts.nodes
        lists = read_lists(self._path("graph"), self.mend)
        lengths = [len(others) for others in lists.values()]
        source = np.repeat(np.fromiter(lists, np.int64, len(lists)), lengths)
        target = np.fromiter((other for others in lists.values() for other in others), np.int64, sum(lengths))
        both = np.concatenate([source, target])
        if ((both < 0) | (both >= nodes)).any():
            raise self._wrong("graph", f"names nodes outside 0 to {nodes - 1}")
        edges = undirected(source, target, nodes)
        self._count("graph", "edges", edges.shape[1], self.facts.edges)
        return edges

    def test_index(self) -> np.ndarray:
        """Return ``[test]`` int64: the ids of the test nodes, in the order of ``tx`` and ``ty``."""
        try:
            index = np.array(read_bytes(self._path("test.index")).split(), np.int64)
        except (Refused, ValueError, OverflowError) as error:
            raise self._wrong("test.index", f"is no list of numbers: {error}") from error
        self._count("test.index", "different ids", len(np.unique(index)), self.facts.test)
        self._count("test.index", "ids", len(index), self.facts.test)
        self._count("test.index", "as its last id", int(index.max()), self.facts.nodes - 1)
        if index.min() < self.facts.train + self.facts.validation:
            raise self._wrong("test.index", f"names node {index.min()}, which trains or validates")
        return index

    def _matrix(self, part: str, rows: int) -> csr_matrix:
        matrix = read_matrix(self._path(part), self.mend)
        self._count(part, "columns", matrix.shape[1], self.facts.features)
        self._count(part, "rows", matrix.shape[0], rows)
        return matrix

    def _one_hot(self, part: str, rows: int) -> np.ndarray:
        labels = read_array(self._path(part), self.mend)
        if labels.ndim != 2:
            raise self._wrong(part, "is no table of labels")
        self._count(part, "columns", labels.shape[1], self.facts.classes)
        self._count(part, "rows", labels.shape[0], rows)
        if not (np.isin(labels, (0, 1)).all() and (labels.sum(1) == 1).all()):
            raise self._wrong(part, "has a row that does not name exactly one class")
        return labels

    def _count(self, part: str, what: str, found: int, wanted: int) -> None:
        if found != wanted:
            raise self._wrong(part, f"has {found:,} {what} in place of {wanted:,}")

    def _wrong(self, part: str, what: str) -> MissingDataError:
        message = f"{self._path(part)} {what}: damaged, or another data set than {self.facts.name!r}"
        return MissingDataError(message, self.mend)

    def _path(self, part: str) -> Path:
        return self.folder / f"ind.{self.facts.name}.{part}"
