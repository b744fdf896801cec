"""Degrees and means over the graphs of a union: what scales per node are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from benchsuite.contracts.graph import Graph


def degrees(graph: Graph) -> Tensor:
    """Return ``[nodes]`` float32: how many edges end in each node. Counted once per graph object."""
    if "selection/degrees" not in graph.cache:
        counts = torch.bincount(graph.edge_index[1], minlength=graph.num_nodes)
        graph.cache["selection/degrees"] = counts.to(torch.float32)
    found: Tensor = graph.cache["selection/degrees"]
    return found


def core_numbers(graph: Graph) -> Tensor:
    """Return ``[nodes]`` float32: the largest k such that a node lies in the k-core. Found once per graph object.

    By networkx, after Batagelj and Zaversnik (arXiv cs/0310049).
    """
    if "selection/cores" not in graph.cache:
        import networkx as nx

        plain = nx.Graph()
        plain.add_nodes_from(range(graph.num_nodes))
        plain.add_edges_from(graph.edge_index.T.tolist())
        found = nx.core_number(plain) if graph.num_nodes else {}
        values = [float(found[node]) for node in range(graph.num_nodes)]
        graph.cache["selection/cores"] = torch.tensor(values, dtype=torch.float32, device=graph.x.device)
    cores: Tensor = graph.cache["selection/cores"]
    return cores


def graph_of(graph: Graph) -> Tensor:
    """Return ``[nodes]`` int64: the graph that each node belongs to; all zero where there is one."""
    if graph.batch is not None:
        return graph.batch
    return torch.zeros(graph.num_nodes, dtype=torch.long, device=graph.x.device)


def per_graph_mean(value: Tensor, graph: Graph) -> Tensor:
    """Return ``[nodes]``: for each node the mean of ``value`` (``[nodes]``) over the nodes of its graph."""
    batch = graph_of(graph)
    sums = value.new_zeros(graph.num_graphs).index_add(0, batch, value)
    counts = torch.bincount(batch, minlength=graph.num_graphs).clamp(min=1)
    return (sums / counts.to(value.dtype))[batch]
