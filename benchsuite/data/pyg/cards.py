"""Data sets in PyTorch Geometric's own layout, as cards. Imports no torch: listing them is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchsuite.data.pyg.graph_cards import GRAPHS
from benchsuite.data.pyg.node_cards import NODES

if TYPE_CHECKING:
    from benchsuite.contracts.cards import DatasetCard

DATASETS: tuple[DatasetCard, ...] = (*NODES, *GRAPHS)
