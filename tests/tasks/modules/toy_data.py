"""A data set for tests: a toy graph whose edges join nodes of one class."""

from __future__ import annotations

import os
from dataclasses import replace

import torch

from benchsuite.contracts.graph import Graph
from benchsuite.data import NodeDataset
from benchsuite.testing.toys import toy_graph


def read(root):
    raw, node = toy_graph(90), torch.arange(90)
    y = node % 3
    source, target = raw.edge_index
    graph = Graph(raw.x + 0.5 * torch.eye(12)[y], raw.edge_index[:, y[source] == y[target]])
    split = node // 3 % 5
    train, val, test = split < 2, split == 2, split == 3  # a fifth of the nodes is in no split
    if os.environ.get("TOY_TEST_LABELS") == "other":
        y = torch.where(test, (y + 1) % 3, y)
    return NodeDataset("toy", graph, y, train, val, test, 3)


def read_binary(root=None):
    """Return three yes-or-no questions of each node; some answers are missing."""
    dataset = read(root)
    y = torch.nn.functional.one_hot(dataset.y, 3).float()
    y[::9, 0] = torch.nan
    return replace(dataset, y=y, target_type="binary")
