"""Writers of the files that PyTorch Geometric leaves in ``processed/``."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture
def molecules():
    """Return a maker of small graphs like ZINC's: a path of bonds, both ways."""
    from torch_geometric.data import Data

    def make(number: int, size: int):
        ends = torch.stack([torch.arange(size - 1), torch.arange(1, size)])
        edges = torch.cat([ends, ends.flip(0)], 1)
        bonds = torch.arange(edges.shape[1]) % 3 + 1
        x = (torch.arange(size)[:, None] + number) % 28
        return Data(x=x, edge_index=edges, edge_attr=bonds, y=torch.tensor([number / 2]))

    return make


@pytest.fixture
def images():
    """Return a maker of small graphs like the superpixels: edges one way, grey and place."""
    from torch_geometric.data import Data

    def make(number: int, size: int):
        edges = torch.stack([torch.arange(size), (torch.arange(size) + 1) % size])
        x = torch.arange(size).float()[:, None] / size + number
        pos = torch.stack([torch.arange(size), torch.arange(size) * 2], 1) / 10
        return Data(x=x, edge_index=edges, edge_attr=torch.arange(size) / 4, y=torch.tensor([number % 10]), pos=pos)

    return make
