"""The content hash covers all content, and nothing else."""

from __future__ import annotations

import dataclasses
import hashlib

import pytest
import torch

from benchsuite.contracts.graph import Graph
from benchsuite.data import NodeDataset


def square(**changes) -> NodeDataset:
    graph = Graph(torch.arange(8.0).reshape(4, 2), torch.tensor([[1, 3, 0, 2], [0, 0, 1, 3]]))
    masks = {name: torch.arange(4) == place for place, name in enumerate(("train", "val", "test"))}
    made = NodeDataset("square", graph, torch.tensor([0, 1, 0, 1]), **masks, num_classes=2)
    return dataclasses.replace(made, **changes)


def test_the_hash_is_of_names_shapes_types_and_bytes():
    digest = hashlib.sha256(b"classes 2\n")
    for name, kind, shape, values in (
        ("x", "float32", (4, 2), bytes.fromhex("000000000000803f0000004000004040000080400000a0400000c0400000e040")),
        ("edge_index", "int64", (2, 4), b"".join(n.to_bytes(8, "little") for n in (1, 3, 0, 2, 0, 0, 1, 3))),
        ("y", "int64", (4,), b"".join(n.to_bytes(8, "little") for n in (0, 1, 0, 1))),
        ("train", "bool", (4,), b"\x01\x00\x00\x00"),
        ("val", "bool", (4,), b"\x00\x01\x00\x00"),
        ("test", "bool", (4,), b"\x00\x00\x01\x00"),
    ):
        digest.update(f"{name} {kind} {shape}\n".encode() + values)
    assert square().content_hash() == digest.hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        {"y": torch.tensor([0, 1, 0, 0])},
        {"y": torch.tensor([0, 1, 0, 1], dtype=torch.int32)},
        {"train": torch.tensor([True, False, False, True])},
        {"val": torch.tensor([False, True, False, True])},
        {"test": torch.tensor([False, False, True, True])},
        {"num_classes": 3},
        {"graph": Graph(torch.arange(8.0).reshape(4, 2) + 1e-6, square().graph.edge_index)},
        {"graph": Graph(torch.arange(8.0).reshape(4, 2), torch.tensor([[1, 2, 0, 2], [0, 0, 1, 3]]))},
        {"graph": Graph(square().graph.x, square().graph.edge_index, torch.zeros(4, dtype=torch.int64))},
    ],
    ids=lambda change: "-".join(change),
)
def test_the_hash_changes_with_every_part(change):
    assert square(**change).content_hash() != square().content_hash()


def test_the_hash_does_not_know_the_name_or_the_memory_layout():
    graph = square().graph
    strided = Graph(graph.x.T.contiguous().T, graph.edge_index)
    assert square(name="other", graph=strided).content_hash() == square().content_hash()
