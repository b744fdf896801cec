"""Models that score nodes for selection: residual GNN blocks with slots for a scale per node, and greedy heuristics."""

from benchsuite.models.selection.block import CONVOLUTIONS, Placed, ResidualBlock
from benchsuite.models.selection.degree import core_numbers, degrees, graph_of, per_graph_mean
from benchsuite.models.selection.greedy import greedy_degree, independent_set
from benchsuite.models.selection.model import SelectionModel, build_model, place

__all__ = [
    "CONVOLUTIONS",
    "Placed",
    "ResidualBlock",
    "SelectionModel",
    "build_model",
    "core_numbers",
    "degrees",
    "graph_of",
    "greedy_degree",
    "independent_set",
    "per_graph_mean",
    "place",
]
