"""TU's collections of graphs, as cards. Imports no torch: listing them is cheap."""

from __future__ import annotations

from benchsuite.contracts.cards import DatasetCard, Download

_ADDRESS = "https://www.chrsmrrs.com/graphkerneldatasets"
"""Of TUDataset's own archives; PyTorch Geometric takes them from there too."""


def _card(name: str, files: str, summary: str, origin: str) -> DatasetCard:
    spelled = name.upper()
    folder = f"TUDataset/{spelled}/raw"
    tables = ("A", "graph_indicator", "graph_labels")
    return DatasetCard(
        name=name,
        target=f"benchsuite.data.tu.readers:{name.replace('-', '_')}",
        summary=f"{summary}; ten stratified folds.",
        licence="None stated for the collection; it is used freely for research",
        source=f"{origin}; TUDataset, Morris et al. 2020, arXiv 2007.08663",
        files=(f"tu/{files}",),
        layouts=(
            tuple(f"{folder}/{spelled}_{table}.txt" for table in tables),
            (f"{folder}/{spelled.replace('-', '*')}.txt",),  # GIN's form
        ),
        folder=folder,
        downloads=(Download(url=f"{_ADDRESS}/{spelled}.zip"),),
    )


_DGK = "Yanardag and Vishwanathan, KDD 2015"

DATASETS: tuple[DatasetCard, ...] = (
    _card("imdb-binary", "IMDB*BINARY*", "1,000 ego networks of actors, 2 genres; features are degrees", _DGK),
    _card("imdb-multi", "IMDB*MULTI*", "1,500 ego networks of actors, 3 genres; features are degrees", _DGK),
    _card("reddit-binary", "REDDIT*BINARY*", "2,000 discussions, 2 kinds of community; features are degrees", _DGK),
    _card("collab", "COLLAB*", "5,000 ego networks of researchers, 3 fields; features are degrees", _DGK),
    _card(
        "proteins", "PROTEINS*", "1,113 proteins, enzymes or not; 3 node tags", "Borgwardt et al., Bioinformatics 2005"
    ),
    _card(
        "nci1",
        "NCI1[._]*",
        "4,110 molecules, active against lung cancer or not; 37 node tags",
        "Wale et al., KAIS 2008",
    ),
    _card("mutag", "MUTAG*", "188 molecules, mutagenic or not; 7 node tags", "Debnath et al., J. Med. Chem. 1991"),
    _card("dd", "DD*", "1,178 proteins, enzymes or not; 82 node tags", "Dobson and Doig, J. Mol. Biol. 2003"),
)
