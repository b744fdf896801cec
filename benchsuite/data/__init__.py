"""Data sets: their cards, and the one function that reads any of them. Importing it imports no torch."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from benchsuite.contracts.dataset import GraphDataset, NodeDataset
from benchsuite.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any, TypeVar

    from benchsuite.contracts.cards import DatasetCard
    from benchsuite.data.text.corpus import Corpus

    Wanted = TypeVar("Wanted", NodeDataset, GraphDataset)

__all__ = ["GraphDataset", "NodeDataset", "load", "read", "read_graphs", "resolve"]


def read(card: DatasetCard, root: Path | None) -> NodeDataset:
    """Return the graph with targets at its nodes that ``card`` describes, validated.

    Args:
        card: of the suite or of a plugin.
        root: the data folder (``BENCHSUITE_DATA``), or None.

    Raises:
        MissingDataError: it is absent, truncated, another one, or breaks an invariant.
        PluginError: the card's target cannot be imported or returns something else.
    """
    return _read(card, root, NodeDataset, "one graph with targets at its nodes")


def read_graphs(card: DatasetCard, root: Path | None) -> GraphDataset:
    """Return the graphs, each with targets of its own, that ``card`` describes, validated. Raises as :func:`read`."""
    return _read(card, root, GraphDataset, "many graphs with targets of their own")


def _read(card: DatasetCard, root: Path | None, kind: type[Wanted], said: str) -> Wanted:
    from benchsuite.data.validate import validate

    dataset = load(card, root)
    if not isinstance(dataset, kind):
        found = type(dataset).__name__
        raise PluginError(f"data set {card.name!r} is a {found}, and a task wants {said}", "Name another in its card")
    return validate(dataset)


def load(card: DatasetCard, root: Path | None) -> NodeDataset | GraphDataset | Corpus:
    """Return what the card's target gives, without validating it. Raises as :func:`read`."""
    from benchsuite.data.text.corpus import Corpus

    dataset = resolve(card, card.target)(root)
    if not isinstance(dataset, NodeDataset | GraphDataset | Corpus):
        kind = type(dataset).__name__
        message = f"data set {card.name!r}: {card.target} returned {kind}, no NodeDataset, GraphDataset or Corpus"
        raise PluginError(message, "Mend its plugin")
    return dataset


def resolve(card: DatasetCard, target: str) -> Callable[..., Any]:
    """Import ``target`` (``"module:function"``), one of those that ``card`` names.

    Raises:
        PluginError: it cannot be imported.
    """
    module, _, name = target.partition(":")
    try:
        function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        message = f"data set {card.name!r}: its target {target} cannot be imported ({error})"
        raise PluginError(message, "Mend the plugin that offers it, or leave it out with -p no:NAME") from error
    return function
