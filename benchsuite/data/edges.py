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
    keys = distinct(np.concatenate([target * nodes + source, source * nodes + target]))
    return torch.from_numpy(np.stack([keys % nodes, keys // nodes]))


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
