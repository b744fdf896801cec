"""Both sides of ``fp32_training.py``: our training and the loops of PyTorch Geometric's and OGB's examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import torch
    from torch import Tensor

    #: Trains for so many epochs.
    Train = Callable[[int], object]
    #: Runs one forward without gradients.
    Forward = Callable[[], object]
    Data = dict[str, Tensor]

KEEP, HUGE = "+keep", "+huge"


@dataclass(frozen=True)
class Case:
    """What is trained on what."""

    data: str
    backbone: str
    options: dict[str, Any]
    lr: float = 0.01
    weight_decay: tuple[float, ...] = (5e-4,)
    rounds: int = 15
    epochs: int = 10
    """In a turn."""
    forwards: int = 10
    """In a turn."""
    rivals: tuple[str, ...] = ("pyg", "pyg-csr")

    @property
    def sides(self) -> tuple[str, ...]:
        """Ours and the rivals, as they are and with another way to memory."""
        return tuple(side + memory for memory in ("", KEEP, HUGE) for side in ("ours", *self.rivals))


ON_GRAPHS = frozenset({"proteins"})


def node_data(name: str, root: Path | None) -> Data:
    """Return Cora or PubMed, or a generated graph of their sizes or of ogbn-arxiv's."""
    from benchsuite.data import planetoid
    from benchsuite.data.synthetic import Recipe, generate

    if name == "arxiv":
        nodes = 169_343
        made = generate(Recipe(nodes, 40, 2 * 1_157_799 / nodes, features=128, per_class=2000, validation=30_000))
    elif root is not None:
        made = {"cora": planetoid.cora, "pubmed": planetoid.pubmed}[name](root)
    else:
        nodes, classes, edges, features = {"cora": (2708, 7, 5278, 1433), "pubmed": (19717, 3, 44324, 500)}[name]
        made = generate(Recipe(nodes, classes, 2 * edges / nodes, features=features))
        made.graph.x[made.graph.x < {"cora": 2.2, "pubmed": 1.3}[name]] = 0.0  # as many zeros as in a bag of words
    return {"x": made.graph.x, "edge_index": made.graph.edge_index, "y": made.y, **made.splits()}


def graph_data(root: Path | None) -> Data:
    """Return PROTEINS with one-hot features and its first fold; without files 1,113 generated graphs of its sizes."""
    import torch

    from benchsuite.data.synthetic import Recipe, generate
    from benchsuite.data.tu.folds import stratified_folds
    from benchsuite.data.tu.readers import proteins
    from benchsuite.models.sites import one_hot

    if root is not None:
        found = proteins(root)
        batch = found.graph.batch
        assert batch is not None
        x, edges = one_hot(found.graph.x, found.node_categories), found.graph.edge_index
        y, fold = found.y, found.folds[0]
    else:
        size, number = 39, 1113
        one = generate(Recipe(size, 3, 3.7, features=3, per_class=2, validation=3))
        edges = torch.cat([one.graph.edge_index + size * i for i in range(number)], 1)
        batch, x = torch.arange(number).repeat_interleave(size), one.graph.x.repeat(number, 1)
        y = torch.arange(number) % 2
        fold = stratified_folds(y.numpy())[0]
    places = {part: mask.nonzero().flatten() for part, mask in fold._asdict().items()}
    return {"x": x, "edge_index": edges, "batch": batch, "y": y, **places}


def our_nodes(case: Case, data: Data) -> tuple[Train, Forward]:
    """Return ``train`` and the model's forward."""
    import torch

    from benchsuite.contracts.graph import Graph
    from benchsuite.models.backbones import build_backbone
    from benchsuite.tasks.recipes import Recipe
    from benchsuite.tasks.training import Labels, train

    graph = Graph(data["x"], data["edge_index"])
    labels = Labels(data["y"].where(~data["test"], -1), data["train"], data["val"])
    model = build_backbone(case.backbone, graph.num_features, int(data["y"].max()) + 1, 0, **case.options)

    def epochs(number: int) -> object:
        recipe = Recipe(backbone=case.backbone, lr=case.lr, weight_decay=case.weight_decay, epochs=number)
        return train(model, graph, labels, recipe, seed=0)

    return epochs, lambda: torch.no_grad()(model)(graph)


def our_graphs(case: Case, data: Data) -> tuple[Train, Forward]:
    """Return ``train_graphs`` and the model's forward over the training graphs."""
    import torch

    from benchsuite.contracts.graph import Graph
    from benchsuite.models.backbones.pooled import Shape, build_pooled
    from benchsuite.models.batches import GraphPool
    from benchsuite.tasks.graphs.training import train_graphs
    from benchsuite.tasks.graphs.view import Targets
    from benchsuite.tasks.recipes import TU_GIN

    pool = GraphPool(Graph(data["x"], data["edge_index"], data["batch"]))
    targets = Targets(data["y"], data["train"], data["val"], data["test"])
    shape = Shape(data["x"].shape[1], int(data["y"].max()) + 1)
    model = build_pooled(case.backbone, shape, 0, **case.options)
    union = pool.take(targets.train)

    def epochs(number: int) -> object:
        return train_graphs(model, pool, targets, "classes", TU_GIN.model_copy(update={"epochs": number}), seed=0)

    return epochs, lambda: torch.no_grad()(model)(union)


def pyg_convolution(case: Case, fan_in: int, fan_out: int, last: bool) -> torch.nn.Module:
    """Return the layer of ``torch_geometric.nn`` that the example has."""
    from torch_geometric import nn as pyg

    if case.backbone == "gcn":
        return pyg.GCNConv(fan_in, fan_out, cached=True)
    if case.backbone == "sage":
        return pyg.SAGEConv(fan_in, fan_out)
    if case.backbone == "gat":
        heads, slots = (1, fan_out) if last else (case.options["heads"], fan_out // case.options["heads"])
        return pyg.GATConv(fan_in, slots, heads, concat=not last, dropout=case.options["dropout"])
    from torch.nn import BatchNorm1d, Linear, ReLU, Sequential

    norm = [BatchNorm1d(fan_out)] if case.data in ON_GRAPHS else []
    return pyg.GINConv(Sequential(Linear(fan_in, fan_out), *norm, ReLU(), Linear(fan_out, fan_out)))


def pyg_model(case: Case, data: Data) -> torch.nn.Module:
    """Return the example's network: Planetoid's drop each layer's input, OGB's have batch normalisation between."""
    import torch
    from torch.nn import functional
    from torch_geometric.nn import global_mean_pool

    class Example(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            hidden, layers = case.options["hidden"] * case.options.get("heads", 1), case.options["layers"]
            classes, pooled = int(data["y"].max()) + 1, case.data in ON_GRAPHS
            widths = [data["x"].shape[1], *[hidden] * (layers - 1), hidden if pooled else classes]
            self.convs = torch.nn.ModuleList(
                pyg_convolution(case, widths[i], widths[i + 1], i + 1 == layers) for i in range(layers)
            )
            between = case.options.get("norm_between", False)
            self.norms = torch.nn.ModuleList(torch.nn.BatchNorm1d(hidden) for _ in range(between * (layers - 1)))
            self.head = torch.nn.ModuleList([torch.nn.Linear(hidden, width) for width in (hidden, classes)])
            self.activation = functional.elu if case.backbone == "gat" else functional.relu

        def drop(self, x: Tensor) -> Tensor:
            return functional.dropout(x, case.options["dropout"], self.training)

        def forward(self, x: Tensor, edges: Tensor, batch: Tensor | None = None) -> Tensor:
            for i, conv in enumerate(self.convs):
                if batch is None and (i or not self.norms):
                    x = self.drop(x)
                x = conv(x, edges)
                if self.norms and i + 1 < len(self.convs):
                    x = self.norms[i](x)
                if batch is not None or i + 1 < len(self.convs):
                    x = self.activation(x)
            if batch is None:
                return x
            return self.head[1](self.drop(functional.relu(self.head[0](global_mean_pool(x, batch)))))

    model = Example()
    if case.data not in ON_GRAPHS:
        del model.head
    return model


def pyg_nodes(case: Case, data: Data, sparse: bool) -> tuple[Train, Forward]:
    """Return the example's main loop and its forward."""
    import torch
    from torch.nn import functional
    from torch_geometric.data import Data as PyGData
    from torch_geometric.transforms import ToSparseTensor

    edges: Any = data["edge_index"]
    if sparse:
        graph = PyGData(x=data["x"], edge_index=edges)
        edges = ToSparseTensor(layout=torch.sparse_csr)(graph).adj_t
    model, x, y = pyg_model(case, data), data["x"], data["y"]
    masks = [data["train"], data["val"], data["test"]]

    def epochs(number: int) -> None:
        decays = (*case.weight_decay, case.weight_decay[-1], case.weight_decay[-1])
        groups = [{"params": conv.parameters(), "weight_decay": decays[i]} for i, conv in enumerate(model.convs)]
        adam = torch.optim.Adam([*groups, {"params": model.norms.parameters()}], lr=case.lr)
        for _ in range(number):
            model.train()
            adam.zero_grad()
            loss = functional.cross_entropy(model(x, edges)[masks[0]], y[masks[0]])
            loss.backward()
            adam.step()
            float(loss)
            model.eval()
            with torch.no_grad():
                predicted = model(x, edges).argmax(-1)
            for mask in masks:
                int((predicted[mask] == y[mask]).sum()) / int(mask.sum())

    return epochs, lambda: torch.no_grad()(model.eval())(x, edges)


def pyg_graphs(case: Case, data: Data) -> tuple[Train, Forward]:
    """Return the kernel benchmark's epoch, with one pass over the validation graphs in place of its two passes."""
    import torch
    from torch.nn import functional
    from torch_geometric.data import Batch
    from torch_geometric.data import Data as PyGData
    from torch_geometric.loader import DataLoader

    sizes = torch.bincount(data["batch"])
    edges = torch.bincount(data["batch"][data["edge_index"][1]], minlength=len(sizes))
    starts = (sizes.cumsum(0) - sizes).tolist()
    features, ends = data["x"].split(sizes.tolist()), data["edge_index"].split(edges.tolist(), 1)
    parts = zip(features, ends, starts, data["y"], strict=True)
    graphs = [PyGData(x=x, edge_index=edge - start, y=y.view(1)) for x, edge, start, y in parts]
    training, validation = ([graphs[i] for i in data[part].tolist()] for part in ("train", "val"))
    loader, val_loader = DataLoader(training, 128, shuffle=True), DataLoader(validation, 128)
    model, union = pyg_model(case, data), Batch.from_data_list(training)

    def epochs(number: int) -> None:
        adam = torch.optim.Adam(model.parameters(), lr=case.lr)
        for _ in range(number):
            model.train()
            for batch in loader:
                adam.zero_grad()
                loss = functional.cross_entropy(model(batch.x, batch.edge_index, batch.batch), batch.y)
                loss.backward()
                loss.item()
                adam.step()
            model.eval()
            for batch in val_loader:
                with torch.no_grad():
                    out = model(batch.x, batch.edge_index, batch.batch)
                functional.cross_entropy(out, batch.y, reduction="sum").item()
                int((out.argmax(1) == batch.y).sum())

    return epochs, lambda: torch.no_grad()(model.eval())(union.x, union.edge_index, union.batch)
