"""Real graphs for tests of plugins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from benchsuite.data import read
from benchsuite.data.cards import DATASETS

if TYPE_CHECKING:
    from benchsuite.contracts.graph import Graph


def real_graph(name: str) -> Graph:
    """Return the graph of the data set ``name`` below ``BENCHSUITE_DATA``.

    Raises:
        MissingDataError: the variable is not set, or the data set is not there: a test skips with that reason.
    """
    root = os.environ.get("BENCHSUITE_DATA")
    card = next(card for card in DATASETS if card.name == name)
    return read(card, Path(root) if root else None).graph
