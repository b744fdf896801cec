"""Edges and splits in the form that every data set uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from sklearn.model_selection import train_test_split

if TYPE_CHECKING:
    from torch import Tensor


def undirected(source: np.ndarray, target: np.ndarray, nodes: int) -> Tensor:
    """Return the edges in both directions, sorted by target then source, without duplicates or self loops.

    Args:
        source: ``[pairs]`` integers in ``0..nodes - 1``.
        target: ``[pairs]`` integers in ``0..nodes - 1``.
        nodes: number of nodes.

    Returns:
        ``[2, edges]`` int64.
    """
    keep = source != target
    source, target = source[keep].astype(np.int64), target[keep].astype(np.int64)
    return torch.from_numpy(_ends(distinct(np.concatenate([target * nodes + source, source * nodes + target])), nodes))


def _ends(keys: np.ndarray, nodes: int) -> np.ndarray:
    """Return source and target of keys ``target * nodes + source``, ``[2, keys]``; no copy is made on the way."""
    edges = np.empty((2, len(keys)), np.int64)
    np.floor_divide(keys, nodes, out=edges[1])
    np.multiply(edges[1], -nodes, out=edges[0])
    edges[0] += keys
    return edges


def distinct(keys: np.ndarray) -> np.ndarray:
    """Return the sorted different values of ``keys`` (numpy.unique hashes integers first: six times slower here)."""
    ordered = np.sort(keys)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered


def mask(members: np.ndarray, nodes: int) -> Tensor:
    """Return ``[nodes]`` bool, true at ``members``."""
    chosen = torch.zeros(nodes, dtype=torch.bool)
    chosen[torch.from_numpy(members)] = True
    return chosen


def stratified_split(y: np.ndarray, per_class: int, validation: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return masks for train, validation and test: the shape of Planetoid's public split.

    Args:
        y: ``[nodes]`` classes.
        per_class: how many nodes of each class train.
        validation: how many of the others validate, in the classes' proportions; the rest is the test set.
        seed: the same seed gives the same split.
    """
    # RandomState, not Generator: its stream is frozen (NEP 19), so the split is the same under every NumPy.
    draw = np.random.RandomState(seed)
    members = [draw.permutation(np.flatnonzero(y == c))[:per_class] for c in np.unique(y)]
    train = mask(np.concatenate(members), len(y))
    rest = np.flatnonzero(~train.numpy())
    val, test = train_test_split(rest, train_size=validation, random_state=seed, stratify=y[rest])
    return train, mask(val, len(y)), mask(test, len(y))


def ordered(source: np.ndarray, target: np.ndarray, nodes: int) -> tuple[Tensor, bool]:
    """Return the edges by target then source, without duplicates or self loops; and whether all have their reverse.

    Args:
        source: ``[edges]`` integers in ``0..nodes - 1``.
        target: ``[edges]`` integers in ``0..nodes - 1``.
        nodes: number of nodes.

    Returns:
        ``[2, edges]`` int64, and a truth value.
    """
    keep = source != target
    keys = distinct(target[keep].astype(np.int64) * nodes + source[keep])
    edges = _ends(keys, nodes)
    back = edges[0] * nodes + edges[1]
    back.sort()
    return torch.from_numpy(edges), bool(np.array_equal(back, keys))


def per_class_split(y: np.ndarray, train: int, validation: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return masks: so many nodes of each class train, so many of each validate, and all others test.

    Args:
        y: ``[nodes]`` classes.
        train: nodes of each class.
        validation: nodes of each class.
        seed: the same seed gives the same split.
    """
    # RandomState, not Generator: its stream is frozen (NEP 19), so the split is the same under every NumPy.
    draw = np.random.RandomState(seed)
    members = [draw.permutation(np.flatnonzero(y == each)) for each in np.unique(y)]
    first = mask(np.concatenate([each[:train] for each in members]), len(y))
    second = mask(np.concatenate([each[train : train + validation] for each in members]), len(y))
    return first, second, ~(first | second)
