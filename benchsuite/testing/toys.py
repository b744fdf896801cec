"""Small graphs and jobs for tests: of the suite, of plugins, and of ``benchsuite check``."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

from benchsuite.contracts.graph import Graph
from benchsuite.contracts.quantizer import QuantizationJob
from benchsuite.models.backbones import build_backbone

if TYPE_CHECKING:
    from torch import Tensor

    from benchsuite.models.backbone import Backbone


def toy_graph(nodes: int = 60, features: int = 12, seed: int = 0, degree: float = 4.0) -> Graph:
    """Return an undirected graph with heavy-tailed degrees, an isolated node (the last) and non-negative features.

    Args:
        nodes: number of nodes; 0 and 1 work.
        features: width of the features, float32 in 0..1, half of them zero.
        seed: the same seed gives the same graph.
        degree: about the mean degree.
    """
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(nodes, features, generator=generator)
    x = x * (torch.rand(nodes, features, generator=generator) < 0.5)
    if nodes < 3:
        return Graph(x, torch.zeros(2, 0, dtype=torch.long))
    weight = 1.0 / torch.arange(1, nodes).float().sqrt()
    pairs = torch.multinomial(weight, int(nodes * degree), replacement=True, generator=generator).view(2, -1)
    return Graph(x, undirected(pairs, nodes))


def undirected(pairs: Tensor, nodes: int) -> Tensor:
    """Return ``pairs`` (``[2, n]``) in both directions, sorted by target, without duplicates or self loops."""
    pairs = pairs[:, pairs[0] != pairs[1]]
    both = torch.cat([pairs, pairs.flip(0)], 1)
    keys = torch.unique(both[1] * nodes + both[0])
    return torch.stack([keys % nodes, keys // nodes])


def permute(graph: Graph, order: Tensor) -> Graph:
    """Return ``graph`` with node ``order[i]`` in place ``i``."""
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    source, target = place[graph.edge_index]
    by_target = torch.argsort(target * max(len(order), 1) + source)
    batch = None if graph.batch is None else graph.batch[order]
    return Graph(graph.x[order], torch.stack([source, target])[:, by_target], batch)


def union(*graphs: Graph) -> Graph:
    """Return ``graphs`` (of one feature width, each without ``batch``) as one disjoint union with ``batch``."""
    sizes = [graph.num_nodes for graph in graphs]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    edges = torch.cat([graph.edge_index + start for graph, start in zip(graphs, starts, strict=True)], 1)
    batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    return Graph(torch.cat([graph.x for graph in graphs]), edges, batch)


def toy_job(
    backbone: str = "gcn", seed: int = 0, graph: Graph | None = None, classes: int = 3, hidden: int = 8
) -> QuantizationJob:
    """Return a quantization job on a small graph, with a model trained for a few steps on planted labels.

    Args:
        backbone: name of the backbone.
        seed: of graph, weights and the method's generator.
        graph: in place of :func:`toy_graph`.
        classes: number of classes.
        hidden: width of the hidden layer (per head in a GAT).
    """
    graph = graph or toy_graph(seed=seed)
    labels = graph.x @ torch.randn(graph.num_features, classes, generator=torch.Generator().manual_seed(seed))
    target = labels.argmax(1)

    def initial_model() -> Backbone:
        return build_backbone(backbone, graph.num_features, classes, seed, hidden=hidden)

    def train(model: Backbone) -> Backbone:
        state = torch.random.get_rng_state()
        torch.manual_seed(seed)
        model.train()
        adam = _Adam([p for p in model.parameters() if p.requires_grad], rate=0.02)
        for _ in range(20 if graph.num_nodes else 0):
            adam.step(functional.cross_entropy(model(graph), target))
        torch.random.set_rng_state(state)
        return model.eval()

    model = copy.deepcopy(train(initial_model()))
    return QuantizationJob(model, graph, initial_model, train, torch.Generator().manual_seed(seed))


class _Adam:
    """Adam (Kingma and Ba, ICLR 2015, arXiv 1412.6980, algorithm 1) with its default decay rates.

    As in torch.optim, whose first use imports a compiler: two seconds in every process that checks a plugin.
    """

    def __init__(self, parameters: list[nn.Parameter], rate: float) -> None:
        self.parameters, self.rate, self.steps = parameters, rate, 0
        self.first = [torch.zeros_like(p) for p in parameters]
        self.second = [torch.zeros_like(p) for p in parameters]

    def step(self, loss: Tensor) -> None:
        """Move the parameters one step down the loss; one that the loss does not depend on stays."""
        self.steps += 1
        gradients = torch.autograd.grad(loss, self.parameters, allow_unused=True)
        with torch.no_grad():
            for p, gradient, m, v in zip(self.parameters, gradients, self.first, self.second, strict=True):
                if gradient is None:
                    continue
                m.lerp_(gradient, 0.1)
                v.lerp_(gradient.square(), 0.001)
                scale = (v / (1 - 0.999**self.steps)).sqrt() + 1e-8
                p.sub_(self.rate * m / (1 - 0.9**self.steps) / scale)
