"""What ``benchsuite data check`` says of a data set."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import torch

from benchsuite.data.checksums import SHA256
from benchsuite.data.fetch import sha256
from benchsuite.data.planetoid import FACTS, file_names, find

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchsuite.contracts.dataset import NodeDataset
    from benchsuite.data.text.corpus import Corpus


def describe(dataset: NodeDataset) -> list[tuple[str, str]]:
    """Return ``(heading, figures)`` lines for a valid data set: sizes, splits, degrees, homophily, hash."""
    graph = dataset.graph
    per_class = torch.bincount(dataset.y[dataset.train], minlength=dataset.num_classes)
    low, high = int(per_class.min()), int(per_class.max())
    each = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    sizes = {name: int(chosen.sum()) for name, chosen in dataset.splits().items()}
    return [
        ("nodes", f"{graph.num_nodes:,}"),
        ("edges", f"{graph.num_edges:,} directed{', each with its reverse' if dataset.undirected else ''}"),
        ("features", f"{graph.num_features:,}, in {graph.x.min():.3g} to {graph.x.max():.3g}"),
        ("classes", f"{dataset.num_classes} ({each} training nodes each)"),
        ("split", ", ".join(f"{name} {size:,}" for name, size in sizes.items())),
        ("degrees", degrees(dataset)),
        ("homophily", f"{homophily(dataset):.3f} (share of edges that join nodes of one class)"),
        ("hash", dataset.content_hash()),
    ]


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


def degrees(dataset: NodeDataset) -> str:
    """Return one line on the in-degrees: range, middle, and how many nodes have none."""
    count = torch.bincount(dataset.graph.edge_index[1], minlength=dataset.graph.num_nodes).float()
    spread = f"{count.min():.0f} to {count.max():.0f}, median {count.median():.0f}, mean {count.mean():.2f}"
    return f"{spread}, {int((count == 0).sum()):,} without edges"


def homophily(dataset: NodeDataset) -> float:
    """Return the share of edges that join nodes of one class (0 where there are no edges)."""
    source, target = dataset.graph.edge_index
    same = dataset.y[source] == dataset.y[target]
    return float(same.float().mean()) if len(same) else 0.0


def files(name: str, root: Path | None) -> str | None:
    """Return where a Planetoid data set's files lie and whether they are the originals; None for other data sets.

    Raises:
        MissingDataError: they are not there.
    """
    facts = FACTS.get(name)
    if facts is None:
        return None
    folder = find(facts, root)
    foreign = [file for file in file_names(facts) if sha256(folder / file) != SHA256[file]]
    return f"{folder} ({'not the originals: ' + ', '.join(foreign) if foreign else 'the originals, by sha256'})"
