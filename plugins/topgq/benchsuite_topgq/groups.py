"""Node groups: the equality classes of TopPIN, and where the nodes of any graph stand among them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor, nn

from benchsuite_topgq.toppin import Grouping, group_keys, pairs

if TYPE_CHECKING:
    from benchsuite.plugin import Graph

#: Distances below it count as it, so that an inverse distance stays finite.
NEAREST = 1e-12


@dataclass(frozen=True, eq=False)
class Placement:
    """Where the nodes of one graph stand among the groups: each takes a weighted mean of some groups' parameters."""

    index: Tensor
    """``[nodes, k]`` int64, groups; k is 1 where every node belongs to a group, 0 where there are no groups."""
    weight: Tensor
    """``[nodes, k]`` float32, rows sum to 1; 1, 0, ..., 0 for a node that belongs to a group."""

    def spread(self, table: Tensor) -> Tensor:
        """Return each node's parameters, ``[nodes, ...]``, from the groups', ``[groups, ...]``.

        A node that belongs to a group gets that group's parameters to the bit.
        """
        if self.index.shape[1] == 1:
            return table[self.index[:, 0]]
        weight = self.weight.view(*self.weight.shape, *[1] * (table.dim() - 1))
        return (table[self.index] * weight).sum(1)

    def peak(self, rows: Tensor, groups: int) -> Tensor:
        """Return the largest of ``rows`` (``[nodes, ...]``) per group, or zero where none is positive.

        Only for the calibration placement, in which every node belongs to a group.
        """
        index = self.index.view(-1, *[1] * (rows.dim() - 1)).expand_as(rows)
        return rows.new_zeros(groups, *rows.shape[1:]).scatter_reduce_(0, index, rows, "amax")

    def sizes(self, groups: int) -> Tensor:
        """Return the number of nodes per group, ``[groups]`` int64; only for the calibration placement."""
        return torch.bincount(self.index[:, 0], minlength=groups)


class Groups(nn.Module):
    """The groups of a calibration graph.

    Stored is one key per group. A node of another graph whose key is a group's belongs to that group; any other node
    stands between its nearest groups, by Euclidean distance on ``(log d, m)``, each coordinate standardised over the
    groups, with weights proportional to the inverse distance.

    Args:
        graph: the calibration graph.
        key: ``[nodes]`` int64, what its nodes are grouped by (:func:`~benchsuite_topgq.toppin.group_keys`).
        grouping: how such keys are made for another graph.
        neighbours: number of nearest groups.
        seed: of the shuffle; for ``random`` alone.
    """

    key: Tensor
    """``[groups]`` int64, ascending."""
    seed: Tensor | None

    def __init__(
        self,
        graph: Graph,
        key: Tensor,
        grouping: Grouping = "toppin",
        neighbours: int = 3,
        seed: int | None = None,
    ) -> None:
        super().__init__()
        self.grouping = grouping
        self.neighbours = neighbours
        found, inverse = torch.unique(key, return_inverse=True)
        self.register_buffer("key", found)
        self.register_buffer("seed", None if seed is None else torch.tensor(seed))
        self.calibrated = self._members(inverse)
        self.unseen_hits: float | None = None
        """Share of nodes of the last unseen graph that belong to a group; None before there was one."""
        self._structure = graph.edge_index
        self._placements: WeakKeyDictionary[Graph, Placement] = WeakKeyDictionary({graph: self.calibrated})

    def __len__(self) -> int:
        """Number of groups."""
        return len(self.key)

    def of(self, graph: Graph) -> Placement:
        """Return the placement of ``graph``, worked out once per graph object.

        A graph with the calibration graph's structure is not worked out at all.
        """
        placement = self._placements.get(graph)
        if placement is None:
            placement = self.calibrated if self._is_calibration(graph) else self.place(graph)
            self._placements[graph] = placement
        return placement

    def _is_calibration(self, graph: Graph) -> bool:
        return graph.num_nodes == len(self.calibrated.index) and torch.equal(graph.edge_index, self._structure)

    def place(self, graph: Graph) -> Placement:
        """Work out the placement of ``graph`` from its nodes' keys."""
        key = group_keys(graph, self.grouping)
        position = torch.searchsorted(self.key, key).clamp_(max=max(len(self) - 1, 0))
        hit = self.key[position] == key if len(self) else torch.zeros_like(key, dtype=torch.bool)
        self.unseen_hits = float(hit.float().mean()) if len(key) else None
        if len(self) and bool(hit.all()):
            return self._members(position)
        near, closeness = self._nearest(key[~hit])
        index = position.unsqueeze(1).repeat(1, near.shape[1])
        weight = torch.zeros(index.shape, device=key.device)
        weight[:, :1] = 1.0
        index[~hit], weight[~hit] = near, closeness
        return self._shuffled(index, weight)

    def _nearest(self, key: Tensor) -> tuple[Tensor, Tensor]:
        """Return index and weight (``[nodes, k]``) of the groups nearest to each of ``key``."""
        k = min(self.neighbours, len(self))
        if k == 0:
            return key.new_zeros(len(key), 0), torch.zeros(len(key), 0, device=key.device)
        distinct, inverse = torch.unique(key, return_inverse=True)
        tree, centre, scale = self._tree
        distance, index = tree.query((_coordinates(distinct) - centre) / scale, k=np.arange(1, k + 1))
        closeness = 1.0 / np.maximum(distance, NEAREST)
        weight = torch.from_numpy(closeness / closeness.sum(1, keepdims=True)).float()
        return torch.from_numpy(index).to(key)[inverse], weight.to(key.device)[inverse]

    @cached_property
    def _tree(self) -> tuple[cKDTree, np.ndarray, np.ndarray]:
        points = _coordinates(self.key)
        centre, scale = points.mean(0), points.std(0)
        scale[scale == 0] = 1.0
        return cKDTree((points - centre) / scale), centre, scale

    def _members(self, group: Tensor) -> Placement:
        return self._shuffled(group.unsqueeze(1), torch.ones(len(group), 1, device=group.device))

    def _shuffled(self, index: Tensor, weight: Tensor) -> Placement:
        """For ``random``, let every node stand where another one stands; group sizes stay."""
        if self.seed is not None:
            order = torch.randperm(len(index), generator=torch.Generator().manual_seed(int(self.seed))).to(index.device)
            index, weight = index[order], weight[order]
        return Placement(index, weight)


def _coordinates(key: Tensor) -> np.ndarray:
    """Return ``[keys, 2]`` float64: log d and m. The key of grouping ``none`` has d = 0, and stands alone."""
    pair = pairs(key.cpu())
    return np.stack([pair.degree.clamp(min=1).double().log().numpy(), pair.mean.numpy()], 1)
