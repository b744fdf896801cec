"""Data sets: their cards, and the one function that reads any of them. Importing it imports no torch."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from benchsuite.contracts.dataset import NodeDataset
from benchsuite.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from benchsuite.contracts.cards import DatasetCard
    from benchsuite.data.text.corpus import Corpus

__all__ = ["NodeDataset", "load", "read", "resolve"]


def read(card: DatasetCard, root: Path | None) -> NodeDataset:
    """Return the graph that ``card`` describes, validated.

    Args:
        card: of the suite or of a plugin.
        root: the data folder (``BENCHSUITE_DATA``), or None.

    Raises:
        MissingDataError: it is absent, truncated, another one, or breaks an invariant.
        PluginError: the card's target cannot be imported or returns something else.
    """
    from benchsuite.data.validate import validate

    dataset = load(card, root)
    if not isinstance(dataset, NodeDataset):
        raise PluginError(f"data set {card.name!r} is text, and a graph is wanted", "Name another in the task's card")
    return validate(dataset)


def load(card: DatasetCard, root: Path | None) -> NodeDataset | Corpus:
    """Return the graph or the corpus as its target gives it, without validating it. Raises as :func:`read`."""
    from benchsuite.data.text.corpus import Corpus

    dataset = resolve(card, card.target)(root)
    if not isinstance(dataset, NodeDataset | Corpus):
        kind = type(dataset).__name__
        message = f"data set {card.name!r}: {card.target} returned {kind}, neither NodeDataset nor Corpus"
        raise PluginError(message, "Mend its plugin")
    return dataset


def resolve(card: DatasetCard, target: str) -> Callable[[Path | None], Any]:
    """Import ``target`` (``"module:function"``), one of the two that ``card`` names.

    Raises:
        PluginError: it cannot be imported.
    """
    module, _, name = target.partition(":")
    try:
        function: Callable[[Path | None], Any] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        message = f"data set {card.name!r}: its target {target} cannot be imported ({error})"
        raise PluginError(message, "Mend the plugin that offers it, or leave it out with -p no:NAME") from error
    return function
