"""Many small graphs as one union in the contract's order, and a file to keep it in."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from benchsuite.caching import read_or_make
from benchsuite.contracts.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

_DIGEST = "sha256"


class Small(NamedTuple):
    """One graph with nodes counted from 0, its edges in any order."""

    x: np.ndarray
    """``[nodes, columns]`` int64 codes or float32."""
    edges: np.ndarray
    """``[2, edges]`` integers."""
    edge_attr: np.ndarray | None = None
    """``[edges, columns]`` int64 codes or float32."""


def union(graphs: Sequence[Small]) -> Graph:
    """Return the graphs as a disjoint union; edges by target then source, edge features along with them.

    Args:
        graphs: at least one; all with features of one kind, each with a node.
    """
    sizes = torch.tensor([len(graph.x) for graph in graphs])
    counts = torch.tensor([graph.edges.shape[1] for graph in graphs])
    edges = torch.from_numpy(np.concatenate([graph.edges for graph in graphs], 1).astype(np.int64))
    attributes = [graph.edge_attr for graph in graphs if graph.edge_attr is not None]
    attr = torch.from_numpy(np.concatenate(attributes)) if attributes else None
    return ordered(torch.from_numpy(np.concatenate([graph.x for graph in graphs])), sizes, counts, edges, attr)


def ordered(x: Tensor, sizes: Tensor, counts: Tensor, edges: Tensor, edge_attr: Tensor | None) -> Graph:
    """Return graphs that lie one after the other as a union; of edges that are there twice the first is kept.

    Args:
        x: ``[nodes, columns]``.
        sizes: ``[graphs]`` int64, nodes of each.
        counts: ``[graphs]`` int64, edges of each.
        edges: ``[2, edges]`` int64, nodes counted from 0 within each graph; self loops are dropped.
        edge_attr: ``[edges, columns]``, or None.
    """
    source, target = edges + (sizes.cumsum(0) - sizes).repeat_interleave(counts)
    key, order = torch.sort(target * len(x) + source, stable=True)
    keep = edges[0, order] != edges[1, order]
    keep[1:] &= key[1:] != key[:-1]
    order = order[keep]
    return Graph(
        x=x,
        edge_index=torch.stack([source[order], target[order]]),
        batch=torch.arange(len(sizes)).repeat_interleave(sizes),
        edge_attr=None if edge_attr is None else edge_attr[order],
    )


def cache_root() -> Path:
    """Return the folder of disposable files: ``BENCHSUITE_CACHE``, or the user's cache folder."""
    if named := os.environ.get("BENCHSUITE_CACHE"):
        return Path(named).expanduser().absolute()
    import platformdirs

    return platformdirs.user_cache_path("benchsuite")


def kept(name: str, depends: Sequence[str], make: Callable[[], dict[str, Tensor]]) -> dict[str, Tensor]:
    """Return what ``make`` returns, from the cache where it was made before.

    Args:
        name: what the file is called, before a hash.
        depends: everything that the content depends on: hashes of files, versions of code and libraries.
        make: called where the cache holds nothing whole.

    Raises:
        StoreError: the cache cannot be written.
    """
    key = hashlib.sha256("\n".join(depends).encode()).hexdigest()[:16]
    return read_or_make(cache_root() / "graphs" / f"{name}-{key}.safetensors", _read, lambda: _bytes(make()))


def _bytes(tensors: dict[str, Tensor]) -> bytes:
    from safetensors.torch import save

    return save({**tensors, _DIGEST: _digest(tensors)})


def _read(path: Path) -> dict[str, Tensor] | None:
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        # Not mapped into memory: what is read stays what it is, whatever becomes of the file.
        tensors = load(path.read_bytes())
    except (SafetensorError, OSError):
        return None
    said = tensors.pop(_DIGEST, None)
    return tensors if said is not None and torch.equal(said, _digest(tensors)) else None


def _digest(tensors: dict[str, Tensor]) -> Tensor:
    """Return the sha256 of names, types, shapes and bytes, ``[32]`` uint8."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        array = tensors[name].contiguous().numpy()
        digest.update(f"{name} {array.dtype} {array.shape}\n".encode())
        digest.update(array.data)
    return torch.frombuffer(bytearray(digest.digest()), dtype=torch.uint8)
