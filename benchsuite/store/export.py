"""The records as one flat table, for other programs."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from benchsuite.store.reader import Store

Format = Literal["csv", "json"]


def export(store: Store, form: Format, file: IO[str], *, every: bool = False) -> int:
    """Write one row per cell, the record that counts for it, with the columns of :meth:`Store.frame`.

    Numbers are written with all their digits. What a record lacks is empty in CSV and null in JSON.

    Args:
        store: the records.
        form: ``csv``, with one line of headings; or ``json``, a list of objects.
        file: where it goes, open for text; for CSV without translation of line ends.
        every: one row per record in place of one per cell.

    Returns:
        The number of rows.
    """
    from benchsuite.store.reader import Store as Chosen

    chosen = store if every else Chosen(cells=list(store.latest().values()))
    frame = chosen.frame()
    if form == "csv":
        # Without a row there are no columns either, and pandas would write an empty line.
        file.write("" if frame.empty else frame.to_csv(index=False, lineterminator="\n"))
    else:
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        file.write(json.dumps(rows, indent=1, allow_nan=False) + "\n")
    return len(frame)
