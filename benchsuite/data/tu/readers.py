"""TU's collections of graphs: IMDB-BINARY, IMDB-MULTI, REDDIT-BINARY, COLLAB, PROTEINS, NCI1, MUTAG and DD.

Read from GIN's text form (:mod:`benchsuite.data.tu.gin_text`) or TUDataset's own (:mod:`benchsuite.data.tu.raw_text`),
in a folder or inside a zip; see :func:`places`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from benchsuite.contracts.dataset import GraphDataset, Split
from benchsuite.contracts.graph import Graph
from benchsuite.data.bounded import Bundle
from benchsuite.data.edges import distinct
from benchsuite.data.tu import gin_text, raw_text
from benchsuite.data.tu.facts import FACTS, Facts
from benchsuite.data.tu.folds import FOLDS, checked_parts, from_parts, stratified_folds
from benchsuite.data.tu.numbers import Parsed, whole_numbers
from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Bytes that one file may have; COLLAB's is 84 million.
LIMIT = 2**29
#: The largest degree for which degrees are categories; above it they are one standardised number.
MOST_DEGREES = 999


def imdb_binary(root: Path | None) -> GraphDataset:
    """Return IMDB-BINARY. Raises as :func:`read_tu`."""
    return read_tu(FACTS["imdb-binary"], root)


def imdb_multi(root: Path | None) -> GraphDataset:
    """Return IMDB-MULTI. Raises as :func:`read_tu`."""
    return read_tu(FACTS["imdb-multi"], root)


def reddit_binary(root: Path | None) -> GraphDataset:
    """Return REDDIT-BINARY. Raises as :func:`read_tu`."""
    return read_tu(FACTS["reddit-binary"], root)


def collab(root: Path | None) -> GraphDataset:
    """Return COLLAB. Raises as :func:`read_tu`."""
    return read_tu(FACTS["collab"], root)


def proteins(root: Path | None) -> GraphDataset:
    """Return PROTEINS. Raises as :func:`read_tu`."""
    return read_tu(FACTS["proteins"], root)


def nci1(root: Path | None) -> GraphDataset:
    """Return NCI1. Raises as :func:`read_tu`."""
    return read_tu(FACTS["nci1"], root)


def mutag(root: Path | None) -> GraphDataset:
    """Return MUTAG. Raises as :func:`read_tu`."""
    return read_tu(FACTS["mutag"], root)


def dd(root: Path | None) -> GraphDataset:
    """Return DD. Raises as :func:`read_tu`."""
    return read_tu(FACTS["dd"], root)


def read_tu(facts: Facts, root: Path | None) -> GraphDataset:
    """Return the collection with ten stratified folds.

    Labels become 0..C-1 in their order. Node features are the tags, each column as codes 0..k-1 in the order of its
    values; without tags, the degree (:func:`degree_features`). Self loops and duplicates are dropped.

    Args:
        facts: what the files must hold.
        root: the data folder, or None.

    Raises:
        MissingDataError: no folder, missing files, files that are damaged, hostile, or another collection's.
    """
    bundle = find(facts, root)
    parsed = _parse(facts, bundle)
    _check_counts(facts, parsed, bundle.path)
    nodes = int(parsed.sizes.sum())
    edges = _edges(parsed, nodes, bundle.path)
    y = np.unique(parsed.labels, return_inverse=True)[1].astype(np.int64)
    if parsed.tags is None:
        x, categories = degree_features(np.bincount(edges[1], minlength=nodes))
    else:
        columns = [np.unique(column, return_inverse=True) for column in parsed.tags.T]
        x = torch.from_numpy(np.stack([codes for _, codes in columns], 1).astype(np.int64))
        categories = tuple(len(values) for values, _ in columns)
    batch = torch.from_numpy(np.repeat(np.arange(len(y)), parsed.sizes))
    return GraphDataset(
        name=facts.name,
        graph=Graph(x, torch.from_numpy(edges), batch),
        y=torch.from_numpy(y),
        folds=stratified_folds(y),
        num_classes=facts.classes,
        node_categories=categories,
    )


def degree_features(degrees: np.ndarray) -> tuple[torch.Tensor, tuple[int, ...]]:
    """Return the degree as a feature, as Degree-Quant has it (its code follows PyTorch Geometric's kernel benchmark).

    Args:
        degrees: ``[nodes]`` integers, of all graphs of the collection.

    Returns:
        Where the largest degree is below 1,000: codes ``[nodes, 1]`` int64 and the number of categories, which a
        model turns into one column each. Otherwise ``[nodes, 1]`` float32, less the mean and divided by the
        standard deviation over all nodes; no categories.
    """
    largest = int(degrees.max())
    if largest <= MOST_DEGREES:
        return torch.from_numpy(degrees.astype(np.int64)[:, None]), (largest + 1,)
    scaled = (degrees - degrees.mean()) / degrees.std(ddof=1)
    return torch.from_numpy(scaled.astype(np.float32)[:, None]), ()


def archive_folds(facts: Facts, root: Path | None) -> tuple[Split, ...]:
    """Return the ten folds that GIN's archives bring along (``10fold_idx``): they test what those test.

    An archive's folds have no validation part; here it is the test part of the fold before, as in the standard ones.

    Raises:
        MissingDataError: as :func:`read_tu`; or there are no such files, or they do not test each graph once.
    """
    bundle = find(facts, root)

    def fold(part: str, number: int) -> np.ndarray:
        end = f"10fold_idx/{part}_idx-{number}.txt"
        name = next((n for n in bundle.names if f"/{n}".endswith(f"/{end}") and not _is_litter(n)), end)
        return whole_numbers(bundle.read(name), f"{name} in {bundle.path}")

    train, test = ([fold(part, number) for number in range(1, FOLDS + 1)] for part in ("train", "test"))
    return from_parts(checked_parts(train, test, facts.graphs, str(bundle.path)), facts.graphs)


def places(facts: Facts, root: Path) -> Iterator[Path]:
    """Yield the zips and folders that may hold the files, in the order of search.

    Each in ``TUDataset/``, ``tu/`` or ``root`` itself: PyTorch Geometric's ``NAME/raw`` and ``NAME/NAME/raw`` (so the
    root of your own ``TUDataset(root, NAME)`` works as it is), an unpacked ``NAME``, and ``NAME.zip``. NAME is spelled
    as TUDataset does, or without hyphens. The folder that ``benchsuite data fetch`` fills comes first, so that
    fetching mends a damaged copy elsewhere.
    """
    for parent in ("TUDataset", "tu", "."):
        for name in facts.spellings:
            for inner in (f"{name}/raw", f"{name}/{name}/raw", name, f"{name}.zip"):
                yield root / parent / inner


def find(facts: Facts, root: Path | None) -> Bundle:
    """Return the first place that has the files in one of the two forms.

    Raises:
        MissingDataError: there is none, or it is damaged.
    """
    what = f"data set {facts.name!r}"
    if root is None or not root.is_dir():
        lack = "is not set" if root is None else f"names no folder: {root}"
        raise MissingDataError(f"{what} needs files, and BENCHSUITE_DATA {lack}", _mend(facts, None))
    for place in places(facts, root):
        try:
            there = place.is_file() if place.suffix == ".zip" else place.is_dir()
        except OSError as error:
            raise MissingDataError(
                f"{what}: {place} cannot be searched ({error.strerror})", _mend(facts, root)
            ) from error
        if there:
            bundle = Bundle(place, LIMIT)
            if _gin_member(facts, bundle) or _raw_prefix(facts, bundle) or place.suffix == ".zip":
                return bundle
    raise MissingDataError(
        f"{what}: {root} has no {facts.folder}.zip or folder in any known layout", _mend(facts, root)
    )


def _mend(facts: Facts, root: Path | None) -> str:
    fetch, archive = f"benchsuite data fetch {facts.name}", f"TUDataset's or GIN's {facts.folder}.zip"
    if root is None:
        return f"Set BENCHSUITE_DATA to a folder and run: {fetch} (or put {archive} into its tu/)"
    return f"Run: {fetch} (needs a network), or put {archive} into {root / 'tu'}"


def _is_litter(name: str) -> bool:
    return name.startswith("__MACOSX/") or name.rpartition("/")[2].startswith(".")


def _gin_member(facts: Facts, bundle: Bundle) -> str | None:
    """Return the name of the file in GIN's form, or None."""
    wanted = {name for spelling in facts.spellings for name in (f"{spelling}.txt", f"{spelling}/{spelling}.txt")}
    return next((name for name in bundle.names if name in wanted), None)


def _raw_prefix(facts: Facts, bundle: Bundle) -> str | None:
    """Return what the names of the files in TUDataset's form begin with, or None where one of the three is missing."""
    names = set(bundle.names)
    for prefix in (f"{inner}{name}" for name in facts.spellings for inner in ("", f"{name}/")):
        if all(f"{prefix}_{part}.txt" in names for part in raw_text.PARTS):
            return prefix
    return None


def _parse(facts: Facts, bundle: Bundle) -> Parsed:
    member, prefix = _gin_member(facts, bundle), _raw_prefix(facts, bundle)
    if prefix is not None:
        tagged = f"{prefix}_{raw_text.NODE_LABELS}.txt" in bundle.names
        return raw_text.parse(
            lambda part: bundle.read(f"{prefix}_{part}.txt"),
            lambda part: f"{prefix}_{part}.txt in {bundle.path}",
            tagged,
        )
    if member is not None:
        return gin_text.parse(bundle.read(member), f"{member} in {bundle.path}")
    lacks = f"no {facts.folder}.txt, and no {facts.folder}_A.txt with its graph_indicator and graph_labels"
    raise MissingDataError(f"{bundle.path} holds {lacks}: another data set than {facts.name!r}?", _mend(facts, None))


def _check_counts(facts: Facts, parsed: Parsed, path: Path) -> None:
    found = {"graphs": len(parsed.sizes), "nodes": int(parsed.sizes.sum()), "classes": len(np.unique(parsed.labels))}
    for what, count in found.items():
        wanted: int | None = getattr(facts, what)
        if wanted not in (None, count):
            message = f"{path} has {count:,} {what} in place of {wanted:,}: another data set than {facts.name!r}"
            raise MissingDataError(message, "Get the original archive again")


def _edges(parsed: Parsed, nodes: int, path: Path) -> np.ndarray:
    """Return ``[2, edges]`` int64 by target then source, without self loops and duplicates.

    Raises:
        MissingDataError: an edge lacks its reverse.
    """
    keep = parsed.source != parsed.target
    source, target = parsed.source[keep], parsed.target[keep]
    keys = distinct(target * nodes + source)
    source, target = keys % nodes, keys // nodes
    back = np.sort(source * nodes + target)
    if not np.array_equal(keys, back):
        place = int((keys != back).argmax())
        one, other = divmod(int(min(keys[place], back[place])), nodes)
        message = f"{path} has an edge between nodes {one} and {other} (of all graphs, from 0) in one direction only"
        raise MissingDataError(message, "Get the original archive again")
    return np.stack([source, target])
