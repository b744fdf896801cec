"""What ``benchsuite data check`` says of a data set."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import torch

from benchsuite.contracts.dataset import NodeDataset, Split
from benchsuite.data.checksums import SHA256
from benchsuite.data.fetch import sha256
from benchsuite.data.planetoid import FACTS, file_names, find
from benchsuite.data.validate import categories, folds, item

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import Tensor

    from benchsuite.contracts.dataset import GraphDataset
    from benchsuite.data.text.corpus import Corpus


def describe(dataset: NodeDataset | GraphDataset) -> list[tuple[str, str]]:
    """Return ``(heading, figures)`` lines for a valid data set: sizes, targets, splits, degrees, homophily, hash."""
    graph = dataset.graph
    lines = [
        ("nodes", f"{graph.num_nodes:,}"),
        ("edges", f"{graph.num_edges:,} directed{', each with its reverse' if dataset.undirected else ''}"),
        ("features", _columns(graph.x, categories(dataset)["x"])),
    ]
    if item(dataset) == "graph":
        graphs = len(dataset.y)
        mean = f"{graph.num_nodes / graph.num_graphs:.1f} nodes and {graph.num_edges / graph.num_graphs:.1f} edges"
        lines.insert(0, ("graphs", f"{graphs:,}, with {mean} each on average"))
    if graph.edge_attr is not None:
        lines.append(("edges have", _columns(graph.edge_attr, categories(dataset)["edge_attr"])))
    lines.append(("classes", _classes(dataset)) if dataset.target_type == "classes" else ("targets", _targets(dataset)))
    lines.append(_splits(dataset))
    lines.append(("degrees", degrees(dataset)))
    if isinstance(dataset, NodeDataset) and dataset.target_type == "classes":
        lines.append(("homophily", f"{homophily(dataset):.3f} (share of edges that join nodes of one class)"))
    return [*lines, ("hash", dataset.content_hash())]


def _columns(table: Tensor, codes: tuple[int, ...]) -> str:
    if codes:
        return f"codes of {', '.join(map(str, codes))} categories"
    if not table.numel():
        return f"{table.shape[1]:,}"
    return f"{table.shape[1]:,}, in {table.min():.3g} to {table.max():.3g}"


def _classes(dataset: NodeDataset | GraphDataset) -> str:
    each = item(dataset)
    if each == "node":
        train = folds(dataset)[0].train
        counts, what = torch.bincount(dataset.y[train], minlength=dataset.num_classes), f"training {each}s"
    else:
        counts, what = torch.bincount(dataset.y, minlength=dataset.num_classes), f"{each}s"
    return f"{dataset.num_classes} ({_range(counts)} {what} each)"


def _targets(dataset: NodeDataset | GraphDataset) -> str:
    y = dataset.y
    known = ~torch.isnan(y)
    missing = f"{int((~known).sum()):,} of {y.numel():,} labels missing"
    if dataset.target_type == "binary":
        return f"{y.shape[1]:,} of yes or no, yes to {float((y == 1).sum() / known.sum()):.1%}; {missing}"
    found = y[known]
    return f"{y.shape[1]:,} of numbers, in {found.min():.3g} to {found.max():.3g}; {missing}"


def _splits(dataset: NodeDataset | GraphDataset) -> tuple[str, str]:
    several = folds(dataset)
    sizes = {name: torch.stack([getattr(fold, name).sum() for fold in several]) for name in Split._fields}
    said = ", ".join(f"{name} {_range(counts)}" for name, counts in sizes.items())
    return ("split", said) if len(several) == 1 else ("folds", f"{len(several)}: {said}")


def _range(counts: Tensor) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def describe_corpus(corpus: Corpus) -> list[tuple[str, str]]:
    """Return ``(heading, figures)`` lines for a corpus: documents, their lengths, bytes, hash."""
    return [
        ("training", _documents(corpus.documents)),
        ("held out", _documents(corpus.held_out)),
        ("hash", corpus.digest),
    ]


def _documents(texts: Sequence[str]) -> str:
    lengths = sorted(map(len, texts))
    size = sum(len(text.encode()) for text in texts)
    middle = statistics.median_low(lengths)
    return f"{len(texts):,} documents, {size:,} bytes; characters {lengths[0]:,} to {lengths[-1]:,}, median {middle:,}"


def corpus_problems(corpus: Corpus) -> list[str]:
    """Return one line for each thing that is wrong with a corpus; readers of the suite leave nothing to find."""
    found = []
    for name, texts in (("training", corpus.documents), ("held-out", corpus.held_out)):
        if not texts:
            found.append(f"it has no {name} document")
        if empty := sum(not text.strip() for text in texts):
            found.append(f"{empty:,} {name} documents are empty")
        if twice := len(texts) - len(set(texts)):
            found.append(f"{twice:,} {name} documents are there twice")
    if leaked := len({*corpus.documents} & {*corpus.held_out}):
        found.append(f"{leaked:,} documents are both trained on and held out")
    return found


def degrees(dataset: NodeDataset | GraphDataset) -> str:
    """Return one line on the in-degrees: range, middle, and how many nodes have none."""
    count = torch.bincount(dataset.graph.edge_index[1], minlength=dataset.graph.num_nodes).float()
    spread = f"{count.min():.0f} to {count.max():.0f}, median {count.median():.0f}, mean {count.mean():.2f}"
    return f"{spread}, {int((count == 0).sum()):,} without edges"


def homophily(dataset: NodeDataset) -> float:
    """Return the share of edges that join nodes of one class (0 where there are no edges)."""
    source, target = dataset.graph.edge_index
    same = dataset.y[source] == dataset.y[target]
    return float(same.float().mean()) if len(same) else 0.0


def planetoid(name: str, root: Path | None) -> list[tuple[str, str]]:
    """Return where a Planetoid data set's files lie, and whether they are the originals.

    Raises:
        MissingDataError: they are not there.
    """
    facts = FACTS[name]
    folder = find(facts, root)
    foreign = [file for file in file_names(facts) if sha256(folder / file) != SHA256[file]]
    verdict = "not the originals: " + ", ".join(foreign) if foreign else "the originals, by sha256"
    return [("files", f"{folder} ({verdict})")]
