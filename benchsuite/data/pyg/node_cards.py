"""Graphs with targets at their nodes in PyTorch Geometric's own layout, as cards. Imports no torch."""

from __future__ import annotations

from benchsuite.contracts.cards import DatasetCard, Download

_GOOGLE = "https://drive.usercontent.google.com/download?confirm=t&id="
_SHCHUR = "Shchur et al. 2018, arXiv 1811.05868; https://github.com/shchur/gnn-benchmark"
_NPZ = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz"


def _npz(name: str, folder: str, file: str, plain: str, summary: str) -> DatasetCard:
    return DatasetCard(
        name=name,
        target=f"benchsuite.data.npz:{name.replace('-', '_')}",
        summary=f"{summary}; one split of 20 and 30 nodes a class.",
        licence="MIT (the files of shchur/gnn-benchmark)",
        source=_SHCHUR,
        files=(f"node_npz/{plain}",),
        layouts=((f"{folder}/{file}",), (f"{folder}/{plain}",)),
        folder=folder,
        downloads=(Download(url=f"{_NPZ}/{file}"),),
    )


NODES: tuple[DatasetCard, ...] = (
    _npz(
        "amazon-computers",
        "Amazon/Computers/raw",
        "amazon_electronics_computers.npz",
        "amazon_cs.npz",
        "13,752 computers bought together, 10 kinds; words of reviews",
    ),
    _npz(
        "amazon-photo",
        "Amazon/Photo/raw",
        "amazon_electronics_photo.npz",
        "amazon_photo.npz",
        "7,650 photo articles bought together, 8 kinds; words of reviews",
    ),
    _npz(
        "coauthor-cs",
        "Coauthor/CS/raw",
        "ms_academic_cs.npz",
        "coauthor_cs.npz",
        "18,333 authors of computer science who wrote together, 15 fields; keywords",
    ),
    _npz(
        "coauthor-physics",
        "Coauthor/Physics/raw",
        "ms_academic_phy.npz",
        "coauthor_phy.npz",
        "34,493 authors of physics who wrote together, 5 fields; keywords, 1.2 GB in memory",
    ),
    DatasetCard(
        name="reddit",
        target="benchsuite.data.pyg.reddit:reddit",
        summary="232,965 posts, 114.6 million directed edges between those with a common commenter; 41 communities.",
        licence="None stated; it is used freely for research",
        source="Hamilton, Ying, Leskovec, NeurIPS 2017, arXiv 1706.02216",
        files=("Reddit/raw/reddit_data.npz", "Reddit/raw/reddit_graph.npz"),
        folder="Reddit/raw",
        downloads=(Download(url="https://data.dgl.ai/dataset/reddit.zip"),),
    ),
    DatasetCard(
        name="flickr",
        target="benchsuite.data.pyg.flickr:flickr",
        summary="89,250 images, 899,756 directed edges between those that share a property; 7 classes, GraphSAINT's.",
        licence="None stated; it is used freely for research",
        source="Zeng et al., ICLR 2020, arXiv 1907.04931",
        files=tuple(f"Flickr/raw/{file}" for file in ("adj_full.npz", "feats.npy", "class_map.json", "role.json")),
        folder="Flickr/raw",
        downloads=(
            Download(url=f"{_GOOGLE}1crmsTbd1-2sEXsGwa2IKnIB7Zd3TmUsy", name="adj_full.npz"),
            Download(url=f"{_GOOGLE}1join-XdvX3anJU_MLVtick7MgeAQiWIZ", name="feats.npy"),
            Download(url=f"{_GOOGLE}1uxIkbtg5drHTsKt-PAsZZ4_yJmgFmle9", name="class_map.json"),
            Download(url=f"{_GOOGLE}1htXCtuktuCW8TR8KiKfrFDAxUgekQoV7", name="role.json"),
        ),
    ),
)
