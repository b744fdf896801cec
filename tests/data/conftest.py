"""A small data set in Planetoid's files, and an encoder that writes them as Python 2 did."""

from __future__ import annotations

import pickle
import struct
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from benchsuite.contracts.cards import DatasetCard
from benchsuite.data.cards import PLANETOID_PARTS
from benchsuite.data.planetoid import Facts, read_planetoid

if TYPE_CHECKING:
    from pathlib import Path


def encode(value) -> bytes:
    """Return ``value`` as a protocol-2 pickle with the names and string types of Python 2."""
    return pickle.PROTO + b"\x02" + _encode(value) + pickle.STOP


def _encode(value) -> bytes:
    if isinstance(value, csr_matrix):
        state = {"format": "csr", "_shape": value.shape, "maxprint": 50}
        state |= {"indptr": value.indptr, "indices": value.indices, "data": value.data}
        return b"cscipy.sparse.csr\ncsr_matrix\n" + b")\x81" + _encode(state) + b"b"
    if isinstance(value, np.ndarray):
        made = b"cnumpy.core.multiarray\n_reconstruct\n" + b"cnumpy\nndarray\n" + b"K\x00\x85" + _encode("b") + b"\x87R"
        kind = b"cnumpy\ndtype\n" + _encode(value.dtype.str[1:]) + b"K\x00K\x01\x87R"
        kind += b"(K\x03" + _encode("<") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        return (
            made + b"(K\x01" + _encode(value.shape) + kind + b"\x89" + _encode(value.tobytes().decode("latin1")) + b"tb"
        )
    if isinstance(value, defaultdict):
        return b"ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R(" + _items(value) + b"u"
    if isinstance(value, dict):
        return b"}(" + _items(value) + b"u"
    if isinstance(value, list):
        return b"](" + b"".join(map(_encode, value)) + b"e"
    if isinstance(value, tuple):
        return b"(" + b"".join(map(_encode, value)) + b"t"
    if isinstance(value, str):
        text = value.encode("latin1")
        return b"T" + struct.pack("<i", len(text)) + text
    return b"J" + struct.pack("<i", value)


def _items(value: dict) -> bytes:
    return b"".join(_encode(part) for item in value.items() for part in item)


TINY = Facts("tiny", "Tiny", nodes=14, edges=26, features=6, classes=3, train=3, validation=4, test=4)


def tiny_values() -> dict[str, object]:
    """Return what the eight files of TINY hold: node 11 is a gap among the test nodes 9 to 13."""
    draw = np.random.RandomState(0)
    allx = (draw.random_sample((9, 6)) < 0.5).astype(np.float32)
    allx[:, 0] = 1
    tx = np.eye(6, dtype=np.float32)[:4]
    one_hot = np.eye(3, dtype=np.int32)
    ally, ty = one_hot[np.arange(9) % 3], one_hot[[2, 1, 0, 2]]
    graph = defaultdict(list, {node: [(node + 1) % 14] for node in range(14) if node not in (10, 11)})
    graph[0] += [0, 1, 5]  # a self loop, a duplicate, and an edge that is listed one way only
    graph[9] = [10, 8]
    return {
        "x": csr_matrix(allx[:3]),
        "y": ally[:3],
        "tx": csr_matrix(tx),
        "ty": ty,
        "allx": csr_matrix(allx),
        "ally": ally,
        "graph": graph,
        "test.index": "12\n9\n13\n10\n",
    }


@dataclass
class Tiny:
    """Writes TINY's files below a root."""

    root: Path
    facts: Facts = TINY
    values: dict[str, object] = field(default_factory=tiny_values)

    def bytes(self, part: str) -> bytes:
        value = self.values[part]
        return value.encode() if isinstance(value, str) else encode(value)

    def write(self, folder: str = "planetoid", without: tuple[str, ...] = ()) -> Path:
        target = self.root / folder
        target.mkdir(parents=True, exist_ok=True)
        for part in self.values:
            if part not in without:
                (target / f"ind.{self.facts.name}.{part}").write_bytes(self.bytes(part))
        return target


@pytest.fixture
def tiny(tmp_path) -> Tiny:
    """Return a writer of a small data set; nothing is written yet."""
    return Tiny(tmp_path / "data")


@pytest.fixture(scope="session")
def python2_pickle():
    """Return the encoder."""
    return encode


@pytest.fixture
def tiny_card(monkeypatch):
    """Return a card of TINY whose target is Planetoid's own reader."""
    module = ModuleType("tiny_reader")
    module.read = partial(read_planetoid, TINY)
    monkeypatch.setitem(sys.modules, "tiny_reader", module)
    folder = "Planetoid/Tiny/raw"
    return DatasetCard(
        name="tiny",
        target="tiny_reader:read",
        summary="Tiny.",
        licence="None",
        source="Made by the tests",
        files=tuple(f"{folder}/ind.tiny.{part}" for part in PLANETOID_PARTS),
        folder=folder,
    )
