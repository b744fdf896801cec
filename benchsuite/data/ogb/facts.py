"""What is known of OGB's data sets (Hu et al., NeurIPS 2020, arXiv 2005.00687). Imports no torch, and no ``ogb``.

The tests hold it to the master lists of ogb 1.3.6 (``master.csv`` in ``ogb/nodeproppred`` and ``ogb/graphproppred``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchsuite.contracts.dataset import TargetType

_ADDRESS = "http://snap.stanford.edu/ogb/data"
"""As the master lists have it."""
#: Where a folder may lie below the data folder, in the order of search; ``dataset`` is the root that ogb itself takes.
PLACES = ("", "ogb/", "dataset/")


@dataclass(frozen=True)
class Facts:
    """One data set: what its files must hold, and where it is to be had."""

    name: str
    archive: str
    """What its archive is called, without ``.zip``, and the one folder in there."""
    items: int | None
    """Nodes, or graphs, by table 2 and 3 of the paper; None where nobody has counted them."""
    outputs: int
    """Classes, or targets."""
    target_type: TargetType
    metric: str
    """As :func:`benchsuite.data.ogb.evaluation.evaluate` calls it."""
    split: str
    """The folder of the official split, below ``split/``."""
    node_columns: int
    """Features of each node; 0 where nodes have none."""
    edge_columns: int
    """Features of each edge; 0 where edges have none."""
    licence: str
    summary: str
    source: str

    @property
    def of_graphs(self) -> bool:
        """Whether each graph has targets, and not each node: then node and edge features are codes of categories."""
        return self.name.startswith("ogbg-")

    @property
    def folder(self) -> str:
        """What the unpacked folder is called once it is in its place."""
        return self.name.replace("-", "_")

    @property
    def label(self) -> str:
        """What the file of targets is called, without its suffix."""
        return "graph-label" if self.of_graphs else "node-label"

    @property
    def targets(self) -> int:
        """Columns of the file of targets: a class is one number."""
        return 1 if self.target_type == "classes" else self.outputs

    @property
    def url(self) -> str:
        """Address of the archive; it holds one folder, called :attr:`archive`."""
        return f"{_ADDRESS}/{'graphproppred/csv_mol_download' if self.of_graphs else 'nodeproppred'}/{self.archive}.zip"

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that are read, as paths below the folder without ``.csv.gz``."""
        features = (("node-feat", self.node_columns), ("edge-feat", self.edge_columns))
        optional = [name for name, columns in features if columns]
        raw = ("edge", "num-node-list", "num-edge-list", *optional, self.label)
        return (*(f"raw/{name}" for name in raw), *self.parts)

    @property
    def parts(self) -> tuple[str, str, str]:
        """The three files of the split, as paths below the folder without ``.csv.gz``."""
        return f"split/{self.split}/train", f"split/{self.split}/valid", f"split/{self.split}/test"


def _molecules(
    short: str, graphs: int, outputs: int, metric: str, summary: str, source: str, archive: str = ""
) -> Facts:
    return Facts(
        name=f"ogbg-mol{short}",
        archive=archive or short,
        items=graphs,
        outputs=outputs,
        target_type="values" if metric == "rmse" else "binary",
        metric=metric,
        split="scaffold",
        node_columns=9,
        edge_columns=3,
        licence="MIT",
        summary=f"{graphs:,} molecules: {summary}; scaffold split.",
        source=f"{source}; MoleculeNet, Wu et al. 2018, arXiv 1703.00564",
    )


FACTS: dict[str, Facts] = {
    facts.name: facts
    for facts in (
        Facts(
            name="ogbn-arxiv",
            archive="arxiv",
            items=169_343,
            outputs=40,
            target_type="classes",
            metric="acc",
            split="time",
            node_columns=128,
            edge_columns=0,
            licence="ODC-BY",
            summary="Citations among 169,343 papers of computer science, symmetrised; 40 subjects, split by year.",
            source="Microsoft Academic Graph, Wang et al. 2020",
        ),
        Facts(
            name="ogbn-products",
            archive="products",
            items=2_449_029,
            outputs=47,
            target_type="classes",
            metric="acc",
            split="sales_ranking",
            node_columns=100,
            edge_columns=0,
            licence="Amazon's (see OGB's page)",
            summary="Purchases in common among 2,449,029 products; 47 kinds, the best sold ones train.",
            source="Bhatia et al. 2016, The extreme classification repository",
        ),
        Facts(
            name="ogbn-proteins",
            archive="proteins",
            items=132_534,
            outputs=112,
            target_type="binary",
            metric="rocauc",
            split="species",
            node_columns=0,
            edge_columns=8,
            licence="CC0",
            summary="Associations among 132,534 proteins, of 8 strengths; 112 functions, split by species.",
            source="STRING, Szklarczyk et al. 2019; the Gene Ontology, 2018",
        ),
        _molecules("hiv", 41_127, 1, "rocauc", "inhibits the HIV virus or not", "DTP AIDS Antiviral Screen"),
        _molecules("pcba", 437_929, 128, "ap", "128 assays, most labels missing", "PubChem BioAssay"),
        _molecules("bace", 1_513, 1, "rocauc", "inhibits beta-secretase 1 or not", "Subramanian et al. 2016"),
        _molecules("bbbp", 2_039, 1, "rocauc", "crosses the blood-brain barrier or not", "Martins et al. 2012"),
        _molecules("clintox", 1_477, 2, "rocauc", "approved, and toxic in trials, or not", "Gayvert et al. 2016"),
        _molecules("tox21", 7_831, 12, "rocauc", "12 assays of toxicity, some labels missing", "Tox21 Challenge, 2014"),
        _molecules("toxcast", 8_576, 617, "rocauc", "617 assays of toxicity, labels missing", "Richard et al. 2016"),
        _molecules("sider", 1_427, 27, "rocauc", "27 kinds of side effect", "SIDER, Kuhn et al. 2016"),
        _molecules("muv", 93_087, 17, "ap", "17 hard screens, most labels missing", "Rohrer and Baumann 2009"),
        _molecules("esol", 1_128, 1, "rmse", "solubility in water", "Delaney 2004"),
        _molecules("freesolv", 642, 1, "rmse", "free energy of hydration", "FreeSolv, Mobley and Guthrie 2014"),
        _molecules("lipo", 4_200, 1, "rmse", "lipophilicity", "ChEMBL, Hersey 2015", "lipophilicity"),
    )
}
