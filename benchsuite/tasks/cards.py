"""The tasks that come with the suite: five graphs times four backbones. Imports no torch."""

from __future__ import annotations

from benchsuite.contracts.cards import Metric, TaskCard
from benchsuite.tasks.recipes import RECIPES, recipe

PROTOCOL = "node-quantization/1"
ACCURACY = Metric(name="accuracy", unit="%", higher_is_better=True, digits=2)

#: Data sets that every machine has, and the title of each.
BUNDLED = {"digits-knn": "handwritten digits (kNN graph)", "powerlaw-sbm": "a power-law block model"}
#: Data sets that lie below ``BENCHSUITE_DATA``: the Planetoid public split.
PLANETOID = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed"}
#: Small, and between them every kind of aggregation that a quantizer treats in a way of its own.
QUICK = frozenset({"digits-knn-gcn", "digits-knn-gat", "powerlaw-sbm-gcn", "powerlaw-sbm-gin"})

_TITLES = {"gcn": "GCN", "sage": "GraphSAGE", "gin": "GIN", "gat": "GAT"}


def _task(dataset: str, title: str, backbone: str) -> TaskCard:
    name = f"{dataset}-{backbone}"
    resolved = recipe(backbone, dataset)
    return TaskCard(
        name=name,
        target="benchsuite.tasks.quantization:NodeQuantization",
        summary=f"{_TITLES[backbone]} on {title}, node classification, {resolved.setting}",
        factors=("quantizer",),
        dataset=dataset,
        protocol=PROTOCOL,
        metrics=(ACCURACY,),
        config=resolved.as_config(),
        reference={"quantizer": "fp32"},
        line_up=("topgq", "ptq-minmax"),
        suites=_suites(name, dataset),
        seeds=3 if dataset in BUNDLED else 10,
    )


def _suites(name: str, dataset: str) -> tuple[str, ...]:
    suites = {"quick": name in QUICK, "standard": dataset in PLANETOID, "full": True}
    return tuple(suite for suite, belongs in suites.items() if belongs)


TASKS: tuple[TaskCard, ...] = tuple(
    _task(dataset, title, backbone) for dataset, title in {**BUNDLED, **PLANETOID}.items() for backbone in RECIPES
)
