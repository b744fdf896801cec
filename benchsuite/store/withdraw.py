"""Withdraw records: a line says so, nothing is deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchsuite.errors import UsageError
from benchsuite.store.reader import read_store
from benchsuite.store.records import VoidLine
from benchsuite.store.writer import RunWriter, new_run_id, utc_now

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def withdraw(out: Path, records: Sequence[str], reason: str, author: str) -> Path:
    """Write a run file with a void line for each of ``records``.

    Args:
        out: folder that holds ``results``.
        records: hashes of cell lines.
        reason: why.
        author: who says so.

    Returns:
        The new file.

    Raises:
        UsageError: a record is not there, or is withdrawn already; then none is withdrawn.
        StoreError: the results cannot be read or written.
    """
    if not reason.strip():
        raise UsageError("a withdrawal needs a reason", "Say it with --reason")
    store = read_store(out)
    there = {record.hash for record in store.cells}
    for record in records:
        if record in store.withdrawn:
            raise UsageError(f"record {record} is withdrawn already: {store.withdrawn[record]}")
        if record not in there:
            mend = "benchsuite explain CELL prints the hash of a cell's record"
            raise UsageError(f"there is no record {record!r} below {out / 'results'}", mend)
    with RunWriter(out, new_run_id(out)) as writer:
        for record in dict.fromkeys(records):
            writer.append(VoidLine(record=record, reason=reason, author=author, at=utc_now()))
    return writer.path
