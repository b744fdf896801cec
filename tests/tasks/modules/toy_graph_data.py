"""Small data sets of graphs, importable by a card's target."""

from __future__ import annotations

import torch

from benchsuite.contracts.dataset import GraphDataset, Split
from benchsuite.contracts.graph import Graph
from benchsuite.testing.toys import toy_graph, union

GRAPHS = 60


def _mask(which):
    mask = torch.zeros(GRAPHS, dtype=torch.bool)
    mask[which] = True
    return mask


def _graphs():
    """Return a union of graphs of two densities; features are noise and the degree."""
    kinds = torch.arange(GRAPHS) % 2
    graphs = []
    for i, kind in enumerate(kinds.tolist()):
        raw = toy_graph(8 + i % 5, 4, seed=i, degree=2.0 + 4.0 * kind)
        degree = torch.bincount(raw.edge_index[1], minlength=raw.num_nodes).float().unsqueeze(1)
        graphs.append(Graph(torch.cat([raw.x, degree], 1), raw.edge_index))
    return union(*graphs), kinds


def read(root=None):
    """Return classes in five folds."""
    graph, kinds = _graphs()
    folds = []
    for k in range(5):
        test, val = torch.arange(k, GRAPHS, 5), torch.arange((k + 1) % 5, GRAPHS, 5)
        rest = ~(_mask(test) | _mask(val))
        folds.append(Split(rest, _mask(val), _mask(test)))
    return GraphDataset("toy-graphs", graph, kinds, tuple(folds), 2)


def _coded(target_type, y):
    graph, _ = _graphs()
    degree = torch.bincount(graph.edge_index[1], minlength=graph.num_nodes).clamp(max=5)
    x = torch.stack([degree, torch.arange(graph.num_nodes) % 3], 1)
    attr = (graph.edge_index.sum(0) % 4).unsqueeze(1)
    order = torch.arange(GRAPHS)
    split = Split(order < 40, (order >= 40) & (order < 50), order >= 50)
    coded = Graph(x, graph.edge_index, graph.batch, attr)
    return GraphDataset("toy-coded", coded, y, (split,), y.shape[1], True, target_type, (6, 3), (4,))


def read_binary(root=None):
    """Return two questions of molecules, of which some answers are missing."""
    _, kinds = _graphs()
    y = torch.stack([kinds.float(), 1.0 - kinds.float()], 1)
    y[::7, 0] = torch.nan
    return _coded("binary", y)


def read_values(root=None):
    """Return one number of each molecule."""
    _, kinds = _graphs()
    return _coded("values", (2.0 + 3.0 * kinds.float()).unsqueeze(1))
