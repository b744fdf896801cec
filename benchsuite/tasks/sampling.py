"""A sample of what is around some nodes (Hamilton, Ying and Leskovec, NeurIPS 2017, arXiv 1706.02216, algorithm 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from benchsuite.contracts.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


class NeighbourSampler:
    """Draws in-neighbours, hop by hop, without replacement and equally likely.

    Draws come from torch's global generator.

    Args:
        graph: edges go by target, as the contract of a graph has it.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        source, target = graph.edge_index
        self._source = source
        self._degree = torch.bincount(target, minlength=graph.num_nodes)
        self._start = self._degree.cumsum(0) - self._degree

    def around(self, seeds: Tensor, fan_out: Sequence[int]) -> Graph:
        """Return the graph of ``seeds`` and of what was drawn around them.

        Its first nodes are the seeds, in their order. An edge of it is one that was drawn.

        Args:
            seeds: ``[nodes]`` int64, each once.
            fan_out: most in-neighbours of each node, from the seeds outwards.
        """
        place = seeds.new_full((self.graph.num_nodes,), -1)
        place[seeds] = torch.arange(len(seeds), device=seeds.device)
        nodes, frontier, drawn = seeds, seeds, []
        for most in fan_out:
            edges = self._draw(frontier, most)
            drawn.append(edges)
            reached = torch.unique(self._source[edges])
            frontier = reached[place[reached] < 0]
            place[frontier] = torch.arange(len(nodes), len(nodes) + len(frontier), device=seeds.device)
            nodes = torch.cat([nodes, frontier])
        which = torch.unique(torch.cat(drawn))
        source, target = place[self.graph.edge_index[:, which]]
        order = torch.argsort(target * len(nodes) + source)
        attr = None if self.graph.edge_attr is None else self.graph.edge_attr[which[order]]
        return Graph(self.graph.x[nodes], torch.stack([source, target])[:, order], None, attr)

    def _draw(self, nodes: Tensor, most: int) -> Tensor:
        """Return edges into ``nodes``: all of a node with at most ``most``, ``most`` different ones of the others."""
        degree, start = self._degree[nodes], self._start[nodes]
        few = degree <= most
        counts = degree[few]
        ends = counts.cumsum(0)
        total = int(ends[-1]) if len(ends) else 0
        whole = torch.arange(total, device=nodes.device) + (start[few] - ends + counts).repeat_interleave(counts)
        return torch.cat([whole, (_choose(degree[~few], most) + start[~few].unsqueeze(1)).flatten()])


def _choose(counts: Tensor, most: int) -> Tensor:
    """Return ``most`` different numbers below each of ``counts`` (all larger), ``[counts, most]`` int64.

    Floyd's algorithm (Bentley and Floyd, CACM 30, 1987): every set is equally likely, whatever the counts.
    """
    chosen = counts.new_full((len(counts), most), -1)
    for i in range(most):
        last = counts - most + i
        draw = (torch.rand(len(counts), dtype=torch.float64, device=counts.device) * (last + 1)).long()
        taken = (chosen[:, :i] == draw.unsqueeze(1)).any(1)
        chosen[:, i] = torch.where(taken, last, draw)
    return chosen
