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
#: Images as graphs of superpixels.
IMAGES = {
    "mnist-superpixels": "MNIST superpixels",
    "cifar10-superpixels": "CIFAR10 superpixels",
    "mnist-superpixels-10k": "superpixels of MNIST's 10,000 test images",
}
#: OGB's molecules: metric of each, as OGB has it.
OGB = {
    "molhiv": "rocauc",
    "molpcba": "ap",
    "molbace": "rocauc",
    "molbbbp": "rocauc",
    "molclintox": "rocauc",
    "moltox21": "rocauc",
    "moltoxcast": "rocauc",
    "molsider": "rocauc",
    "molmuv": "ap",
    "molesol": "rmse",
    "molfreesolv": "rmse",
    "mollipo": "rmse",
}
#: Those of them that are rebuilt from SMILES too.
REBUILT = ("molbace", "molbbbp", "molclintox", "molesol", "molfreesolv", "mollipo", "molsider", "moltox21")

_TITLES = {"gcn": "GCN", "gin": "GIN", "gine": "GIN with edge features"}
_FOLDS, _FIXED, _SCAFFOLD = "ten stratified folds, one per seed", "fixed split", "scaffold split"


def _task(
    dataset: str, title: str, backbone: str, metric: str, split: str, suites: tuple[str, ...] = ("full",)
) -> TaskCard:
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


TASKS: tuple[TaskCard, ...] = (
    *(_task(name, title, net, "accuracy", _FOLDS) for name, title in TU.items() for net in ("gcn", "gin")),
    *(_task(name, title, net, "accuracy", _FIXED) for name, title in IMAGES.items() for net in ("gcn", "gin")),
    *(_task(f"ogbg-{name}", f"ogbg-{name}", "gine", metric, _SCAFFOLD) for name, metric in OGB.items()),
    *(_task(f"{n}-rebuilt", f"ogbg-{n} rebuilt from SMILES", "gine", OGB[n], _SCAFFOLD) for n in REBUILT),
    _task("zinc-12k", "ZINC (12k)", "gine", "mae", _FIXED),
    _task("zinc-jtnn", "29,445 molecules of ZINC-250k", "gine", "mae", _FIXED),
)
