"""Placements for node-selection tests: good ones and broken ones."""

from __future__ import annotations

import torch

#: What happened, for tests that watch.
SEEN = []


class Bare:
    """Nothing in any slot."""

    slot = None
    norm_after = False

    def scaler(self, site):
        raise AssertionError("a placement without a slot has no site")


class Constant:
    """The same positive number for all nodes, in a slot."""

    norm_after = False

    def __init__(self, value=1.0, slot="S3"):
        self.value, self.slot = value, slot

    def scaler(self, site):
        SEEN.append((site.block, site.width, site.generator.initial_seed()))
        return lambda x, graph: torch.full((len(x),), self.value, dtype=x.dtype)


class Wrong(Constant):
    """Returns what ``how`` says."""

    def __init__(self, how):
        super().__init__()
        self.how = how

    def scaler(self, site):
        return {
            "column": lambda x, graph: torch.ones(len(x), 1),
            "type": lambda x, graph: torch.ones(len(x), dtype=torch.float64),
            "list": lambda x, graph: [1.0] * len(x),
        }[self.how]


class Exploding(Constant):
    """Becomes infinite while the model trains."""

    def scaler(self, site):
        return lambda x, graph: torch.full((len(x),), 1e38 if x.requires_grad else 1.0)


class Indices:
    """Ranks nodes by index."""

    def rank(self, graph, goal):
        return torch.arange(graph.num_nodes)


class Halves:
    """Ranks half of the nodes."""

    def rank(self, graph, goal):
        return torch.zeros(graph.num_nodes // 2)


class Nonsense:
    """Scores that are no numbers."""

    def rank(self, graph, goal):
        return torch.full((graph.num_nodes,), float("nan"))


class Writer:
    """Writes into what it is handed."""

    def rank(self, graph, goal):
        graph.x.zero_()
        graph.edge_index.zero_()
        return torch.zeros(graph.num_nodes)


class Stack:
    """A placement for transformers."""

    def stack(self, depth):
        return None
