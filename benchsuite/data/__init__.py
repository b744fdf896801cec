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

__all__ = ["NodeDataset", "load", "read", "resolve"]


def read(card: DatasetCard, root: Path | None) -> NodeDataset:
    """Return the data set that ``card`` describes, validated.

    Args:
        card: of the suite or of a plugin.
        root: the data folder (``BENCHSUITE_DATA``), or None.

    Raises:
        MissingDataError: it is absent, truncated, another one, or breaks an invariant.
        PluginError: the card's target cannot be imported or returns something else.
    """
    from benchsuite.data.validate import validate

    return validate(load(card, root))


def load(card: DatasetCard, root: Path | None) -> NodeDataset:
    """Return the data set as its target gives it, without validating the tensors. Raises as :func:`read`."""
    dataset = resolve(card, card.target)(root)
    if not isinstance(dataset, NodeDataset):
        kind = type(dataset).__name__
        raise PluginError(f"data set {card.name!r}: {card.target} returned {kind}, not NodeDataset", "Mend its plugin")
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
