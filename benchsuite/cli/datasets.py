"""What ``benchsuite data list`` and ``benchsuite list datasets`` say of each data set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from benchsuite.cli.common import data_root
from benchsuite.cli.transfer import megabytes
from benchsuite.data.presence import find

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchsuite.contracts.cards import DatasetCard
    from benchsuite.host import Catalogue

__all__ = ["COLUMNS", "dataset_json", "dataset_row", "dataset_state", "tasks_of"]

#: Bundled: needs no file of the user's. Present and absent: its files are, or are not, below ``BENCHSUITE_DATA``.
State = Literal["bundled", "present", "absent"]

COLUMNS = ("NAME", "STATE", "SIZE", "PLACE", "LICENCE", "TASKS")


def dataset_json(catalogue: Catalogue, card: DatasetCard) -> dict[str, Any]:
    """Return a data set's card, and what is here of it, as JSON data.

    Besides the card's fields: ``state``; ``place`` and ``bytes`` of what is there; ``download_bytes`` where all are
    known; ``tasks`` that need it, by name.
    """
    found = None if card.bundled else find(card, data_root())
    sizes = [each.size for each in card.downloads]
    return {
        **card.model_dump(mode="json"),
        "state": _state(card, found is not None),
        "place": None if found is None else str(found.place),
        "bytes": None if found is None else found.size,
        "download_bytes": sum(size or 0 for size in sizes) if sizes and None not in sizes else None,
        "tasks": tasks_of(catalogue, card),
    }


def tasks_of(catalogue: Catalogue, card: DatasetCard) -> list[str]:
    """Return the names of the tasks on a data set."""
    return [task.name for task in catalogue.tasks.values() if task.dataset == card.name]


def dataset_state(card: DatasetCard, root: Path | None) -> State:
    """Tell whether a data set can be read; looks for its files and opens none.

    Args:
        card: the data set.
        root: the data folder, or None.
    """
    return _state(card, not card.bundled and find(card, root) is not None)


def dataset_row(entry: dict[str, Any]) -> Sequence[str]:
    """Return a table's row, under :data:`COLUMNS`, from what :func:`dataset_json` gives."""
    return (
        entry["name"],
        entry["state"],
        _size(entry),
        _place(entry),
        entry["licence"],
        ", ".join(entry["tasks"]) or "-",
    )


def _state(card: DatasetCard, here: bool) -> State:
    return "bundled" if card.bundled else "present" if here else "absent"


def _size(entry: dict[str, Any]) -> str:
    if entry["bytes"] is not None:
        return megabytes(entry["bytes"])
    return "-" if entry["download_bytes"] is None else f"{megabytes(entry['download_bytes'])} to fetch"


def _place(entry: dict[str, Any]) -> str:
    """Return where it lies, from ``BENCHSUITE_DATA`` on, or the command that gets it."""
    if entry["state"] == "present":
        return str(entry["place"]).removeprefix(f"{data_root()}/")
    fetched = entry["state"] == "absent" and (entry["fetch"] or entry["downloads"])
    return f"benchsuite data fetch {entry['name']}" if fetched else "-"
