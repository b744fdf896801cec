"""Seeded random graphs of three families, and the features that every model sees. Host only.

The generators are networkx's: Barabasi-Albert (Science 286, 1999), Erdos-Renyi with a fixed number of edges, and
Watts-Strogatz (Nature 393, 1998). A generator numbers nodes in the order in which it made them, which in a
Barabasi-Albert graph all but sorts them by degree; nodes are therefore renumbered at random, so that no tie that is
broken by index can help.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import networkx as nx
import numpy as np
import torch

from benchsuite.contracts.graph import Graph
from benchsuite.tasks.seeds import derive

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchsuite.tasks.selection.recipe import Family, GraphRecipe, Inputs, Split

    #: Draws one graph with that many nodes.
    Generator = Callable[[int, np.random.RandomState], nx.Graph]


#: Random numbers per node, where they are all that a model is told.
RANDOM = 8


class Plain(NamedTuple):
    """One undirected graph."""

    edge_index: np.ndarray
    """``[2, edges]`` int64, each edge in both directions, sorted by target then source."""
    nodes: int
    x: np.ndarray
    """``[nodes, features]`` float32."""


def _barabasi_albert(nodes: int, draw: np.random.RandomState) -> nx.Graph:
    return nx.barabasi_albert_graph(nodes, int(draw.randint(2, 4)), seed=draw)


def _erdos_renyi(nodes: int, draw: np.random.RandomState) -> nx.Graph:
    return nx.gnm_random_graph(nodes, round(nodes * draw.uniform(1.5, 3.0)), seed=draw)


def _watts_strogatz(nodes: int, draw: np.random.RandomState) -> nx.Graph:
    return nx.watts_strogatz_graph(nodes, int(draw.choice((4, 6))), draw.uniform(0.1, 0.5), seed=draw)


#: Mean degrees: 4 or 6; 3 to 6; 4 or 6.
GENERATORS: dict[Family, Generator] = {"ba": _barabasi_albert, "er": _erdos_renyi, "ws": _watts_strogatz}


def generate(recipe: GraphRecipe, split: Split) -> list[Plain]:
    """Return the graphs of one split, family by family; the same recipe gives the same graphs.

    Args:
        recipe: how many, how large, and the seed.
        split: which part.
    """
    low, high = recipe.test_nodes if split == "test" else recipe.nodes
    graphs = []
    for family in recipe.families:
        # RandomState, not Generator: its stream is frozen (NEP 19).
        draw = np.random.RandomState(derive(recipe.seed, "graphs", split, family) % 2**32)
        for _ in range(recipe.counts[split]):
            nodes = int(draw.randint(low, high + 1))
            edge_index = _renumbered(GENERATORS[family](nodes, draw), draw)
            graphs.append(Plain(edge_index, nodes, features(edge_index, nodes, recipe.inputs, draw)))
    return graphs


def _renumbered(graph: nx.Graph, draw: np.random.RandomState) -> np.ndarray:
    nodes = graph.number_of_nodes()
    pairs = draw.permutation(nodes)[np.asarray(graph.edges, dtype=np.int64).reshape(-1, 2).T]
    both = np.concatenate([pairs, pairs[::-1]], axis=1)
    return both[:, np.lexsort((both[0], both[1]))]


def features(edge_index: np.ndarray, nodes: int, inputs: Inputs, draw: np.random.RandomState) -> np.ndarray:
    """Return ``[nodes, features]`` float32: the constant 1, and log(1 + degree) or :data:`RANDOM` normal numbers."""
    if inputs == "degree":
        told = np.log1p(np.bincount(edge_index[1], minlength=nodes))[:, None]
    else:
        told = draw.standard_normal((nodes, RANDOM))
    stacked: np.ndarray = np.concatenate([np.ones((nodes, 1)), told], axis=1).astype(np.float32)
    return stacked


def union(graphs: Sequence[Plain]) -> Graph:
    """Return ``graphs`` as one disjoint union with ``batch``."""
    sizes = [graph.nodes for graph in graphs]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    edges = np.concatenate([graph.edge_index + start for graph, start in zip(graphs, starts, strict=True)], axis=1)
    x = np.concatenate([graph.x for graph in graphs])
    batch = np.repeat(np.arange(len(graphs)), sizes)
    return Graph(torch.from_numpy(x), torch.from_numpy(edges), torch.from_numpy(batch))
