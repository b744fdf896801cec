"""The tasks on whole graphs, as cards. Imports no torch."""

from __future__ import annotations

from benchsuite.contracts.cards import TaskCard
from benchsuite.tasks.metrics import METRICS
from benchsuite.tasks.recipes import graph_recipe

PROTOCOL = "graph-quantization/1"

#: TU's collections: title of each.
TU = {
    "imdb-binary": "IMDB-BINARY",
    "imdb-multi": "IMDB-MULTI",
    "reddit-binary": "REDDIT-BINARY",
    "collab": "COLLAB",
    "proteins": "PROTEINS",
    "nci1": "NCI1",
    "mutag": "MUTAG",
    "dd": "DD",
}

_TITLES = {"gcn": "GCN", "gin": "GIN", "gine": "GIN with edge features"}


def _task(dataset: str, title: str, backbone: str, metric: str, split: str, suites: tuple[str, ...]) -> TaskCard:
    recipe = graph_recipe(backbone, dataset, metric)
    return TaskCard(
        name=f"{dataset}-{backbone}",
        target="benchsuite.tasks.graphs.task:GraphQuantization",
        summary=f"{_TITLES[backbone]} on {title}, {split}",
        factors=("quantizer",),
        dataset=dataset,
        protocol=PROTOCOL,
        metrics=(METRICS[metric],),
        config=recipe.model_dump(mode="json"),
        reference={"quantizer": "fp32"},
        line_up=("topgq", "ptq-minmax"),
        suites=suites,
        seeds=10,
    )


TASKS: tuple[TaskCard, ...] = tuple(
    _task(name, title, backbone, "accuracy", "ten stratified folds, one per seed", ("full",))
    for name, title in TU.items()
    for backbone in ("gcn", "gin")
)
