"""A data set for tests: a toy graph whose classes follow from its features."""

from __future__ import annotations

import os

import torch

from benchsuite.data import NodeDataset
from benchsuite.testing.toys import toy_graph


def read(root):
    graph = toy_graph(90)
    y = (graph.x @ torch.randn(12, 3, generator=torch.Generator().manual_seed(0))).argmax(1)
    split = torch.arange(90) % 5
    train, val, test = split < 2, split == 2, split == 3  # a fifth of the nodes is in no split
    if os.environ.get("TOY_TEST_LABELS") == "other":
        y = torch.where(test, (y + 1) % 3, y)
    return NodeDataset("toy", graph, y, train, val, test, 3)
