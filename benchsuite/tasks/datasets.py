"""Finding the data set that a task's card names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchsuite.data.cards import DATASETS
from benchsuite.errors import UsageError, near

if TYPE_CHECKING:
    from benchsuite.contracts.cards import DatasetCard, TaskCard
    from benchsuite.contracts.task import Places


def dataset_card(card: TaskCard, places: Places) -> DatasetCard:
    """Return the card of the data set that ``card`` names: the catalogue's, else one of the suite.

    Raises:
        UsageError: there is none of that name.
    """
    cards = {**{card.name: card for card in DATASETS}, **places.datasets}
    if card.dataset not in cards:
        message = f"task {card.name!r} wants the data set {card.dataset!r}, which is unknown"
        raise UsageError(message, near(card.dataset, cards))
    return cards[card.dataset]
