"""What is known of TU's collections. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Facts:
    """What is known of one collection (Morris et al. 2020, https://chrsmrrs.github.io/datasets/docs/datasets/)."""

    name: str
    folder: str
    """As TUDataset and PyTorch Geometric spell it."""
    graphs: int
    nodes: int | None
    """Of all graphs together; None where nobody has counted them with this code."""
    classes: int

    @property
    def spellings(self) -> tuple[str, ...]:
        """How files may be called: as TUDataset has it, and without hyphens as GIN's archives have it."""
        return tuple(dict.fromkeys((self.folder, self.folder.replace("-", ""))))


FACTS = {
    facts.name: facts
    for facts in (
        Facts("imdb-binary", "IMDB-BINARY", graphs=1000, nodes=19_773, classes=2),
        Facts("imdb-multi", "IMDB-MULTI", graphs=1500, nodes=None, classes=3),
        Facts("reddit-binary", "REDDIT-BINARY", graphs=2000, nodes=859_254, classes=2),
        Facts("collab", "COLLAB", graphs=5000, nodes=372_474, classes=3),
        Facts("proteins", "PROTEINS", graphs=1113, nodes=43_471, classes=2),
        Facts("nci1", "NCI1", graphs=4110, nodes=122_747, classes=2),
        Facts("mutag", "MUTAG", graphs=188, nodes=3371, classes=2),
        Facts("dd", "DD", graphs=1178, nodes=334_925, classes=2),
    )
}
