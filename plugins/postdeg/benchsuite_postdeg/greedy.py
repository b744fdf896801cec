"""Greedy selection by degree, as a row beside the models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from benchsuite.models.selection import graph_of, greedy_degree

if TYPE_CHECKING:
    from torch import Tensor

    from benchsuite.plugin import Goal, Graph


class GreedyDegree:
    """Picks the node of highest degree among those that are left (lowest, for an independent set), again and again."""

    def rank(self, graph: Graph, goal: Goal) -> Tensor:
        """Return ``[nodes]`` float64: the negated place of each node in its graph's order."""
        batch = graph_of(graph)
        # Graphs of a union share no edge, so one order of the union holds the order of each graph.
        order = torch.from_numpy(greedy_degree(graph.edge_index.cpu().numpy(), graph.num_nodes, goal))
        scores = torch.empty(len(batch), dtype=torch.float64)
        scores[order] = -torch.arange(len(batch), dtype=torch.float64)
        return scores.to(graph.x.device)
