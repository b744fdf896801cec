"""What is known of MoleculeNet's tables. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FOLDER = "moleculenet"


@dataclass(frozen=True)
class Facts:
    """One table (Wu et al. 2018, arXiv 1703.00564), and OGB's data set that was made of it."""

    table: str
    rows: int
    targets: int
    target_type: Literal["binary", "values"]
    summary: str
    ogb_rows: int
    """Graphs that OGB's data set has."""

    @property
    def name(self) -> str:
        """The data set's name."""
        return f"mol{self.table}-rebuilt"

    @property
    def file(self) -> str:
        """Where the table lies below the data folder."""
        return f"{FOLDER}/{self.table}.csv.gz"


FACTS = {
    facts.name: facts
    for facts in (
        Facts("bace", 1513, 1, "binary", "inhibitors of beta-secretase 1", 1513),
        Facts("bbbp", 2039, 1, "binary", "crossing of the blood-brain barrier", 2039),
        Facts("clintox", 1478, 2, "binary", "approval, and toxicity in trials", 1477),
        Facts("esol", 1128, 1, "values", "solubility in water", 1128),
        Facts("freesolv", 642, 1, "values", "free energy of hydration", 642),
        Facts("lipo", 4200, 1, "values", "lipophilicity", 4200),
        Facts("sider", 1427, 27, "binary", "27 kinds of side effect", 1427),
        Facts("tox21", 7831, 12, "binary", "12 assays of toxicity", 7831),
    )
}
