"""Which of two records of one cell is the later one.

Clocks go backwards, and a cell may run on a machine whose clock differs from the host's, so what a record says of its
own time is asked last. The rule: a record of a run that began later is later. When a run began stands at the front of
its id, and :func:`benchsuite.store.writer.new_run_id` gives no id before one that is in the folder already: a run that
begins after another on the same store is the later one of the two, whatever the clock says. Within one second, records
are ordered by ``started``, and by their hash where that is equal too; neither the names nor the order of files matter.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchsuite.store.records import CellRecord

_STAMP = re.compile(r"(\d{8}T\d{6}Z)-")


@lru_cache(maxsize=4096)
def stamp_of(run: str) -> str | None:
    """Return when a run began as its id has it, ``20260102T030405Z``; None where the id does not begin so."""
    found = _STAMP.match(run)
    return None if found is None else found[1]


def moment(record: CellRecord) -> tuple[str, str]:
    """Return what records are ordered by: when the run began, and when the record's cell was started.

    Where the run's id says nothing of time, the start of the cell stands for it.
    """
    return stamp_of(record.run) or _stamp(record.started), record.started


def _stamp(started: str) -> str:
    return started[:19].replace("-", "").replace(":", "") + "Z"
