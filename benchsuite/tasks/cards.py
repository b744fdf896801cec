"""The tasks on nodes that come with the suite, as cards. Imports no torch."""

from __future__ import annotations

from benchsuite.contracts.cards import Metric, TaskCard
from benchsuite.tasks.metrics import METRICS
from benchsuite.tasks.recipes import LARGE, RECIPES, Setting, recipe

PROTOCOL = "node-quantization/1"
ACCURACY = Metric(name="accuracy", unit="%", higher_is_better=True, digits=2)

#: Data sets that every machine has, and the title of each.
BUNDLED = {"digits-knn": "handwritten digits (kNN graph)", "powerlaw-sbm": "a power-law block model"}
#: Data sets that lie below ``BENCHSUITE_DATA``: the Planetoid public split.
PLANETOID = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed"}
#: Those of Shchur et al., with the recipes of Planetoid.
SHCHUR = {
    "amazon-computers": "Amazon Computers",
    "amazon-photo": "Amazon Photo",
    "coauthor-cs": "Coauthor CS",
    "coauthor-physics": "Coauthor Physics",
}
#: Large graphs, each with recipes of its own.
LARGE_TITLES = {
    "powerlaw-sbm-large": "a power-law block model of 170,000 nodes",
    "ogbn-arxiv": "ogbn-arxiv",
    "ogbn-products": "ogbn-products",
    "ogbn-proteins": "ogbn-proteins",
    "reddit": "Reddit",
    "flickr": "Flickr",
}
#: Small, and between them every kind of aggregation that a quantizer treats in a way of its own.
QUICK = frozenset({"digits-knn-gcn", "digits-knn-gat", "powerlaw-sbm-gcn", "powerlaw-sbm-gin"})

_TITLES = {"gcn": "GCN", "sage": "GraphSAGE", "gin": "GIN", "gat": "GAT"}


def _task(dataset: str, title: str, backbone: str, setting: Setting | None = None) -> TaskCard:
    resolved = recipe(backbone, dataset)
    if setting is not None:
        resolved = resolved.model_copy(update={"setting": setting})
    name = f"{dataset}-{backbone}" if setting is None else f"{dataset}-{setting}-{backbone}"
    sampled = ", trained on samples" if resolved.sampling else ""
    return TaskCard(
        name=name,
        target="benchsuite.tasks.quantization:NodeQuantization",
        summary=f"{_TITLES[backbone]} on {title}, node classification, {resolved.setting}{sampled}",
        factors=("quantizer",),
        dataset=dataset,
        protocol=PROTOCOL,
        metrics=(METRICS[resolved.metric] if resolved.metric else ACCURACY,),
        config=resolved.as_config(),
        reference={"quantizer": "fp32"},
        line_up=("topgq", "ptq-minmax"),
        suites=_suites(name, dataset),
        seeds=3 if dataset in BUNDLED else 10,
    )


def _suites(name: str, dataset: str) -> tuple[str, ...]:
    suites = {"quick": name in QUICK, "standard": dataset in PLANETOID and "inductive" not in name, "full": True}
    return tuple(suite for suite, belongs in suites.items() if belongs)


TASKS: tuple[TaskCard, ...] = (
    *(_task(name, title, net) for name, title in {**BUNDLED, **PLANETOID, **SHCHUR}.items() for net in RECIPES),
    *(_task(name, title, net, "inductive") for name, title in PLANETOID.items() for net in RECIPES),
    *(_task(name, LARGE_TITLES[name], net) for net, name in LARGE),
)
