"""Molecules that are rebuilt from SMILES, as cards. Imports no torch: listing them is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchsuite.contracts.cards import DatasetCard

DATASETS: tuple[DatasetCard, ...] = ()
