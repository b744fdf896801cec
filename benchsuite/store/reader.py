"""Read all run files below a folder into one store."""

from __future__ import annotations

import gc
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchsuite.store.order import moment
from benchsuite.store.records import CellRecord, EnvLine, VoidLine
from benchsuite.store.scan import collector_paused, read_file, run_files, scan

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pandas as pd

    from benchsuite.store.records import AnyLine, CellKey, MethodKey
    from benchsuite.store.scan import Located

#: Above so many records the garbage collector costs as much as reading does.
LARGE = 20_000


@dataclass
class Store:
    """All records below a folder.

    A line that cannot be used costs an entry in :attr:`problems` and nothing else.
    """

    cells: list[CellRecord] = field(default_factory=list)
    """Every cell record that is not withdrawn, in order of file name and line."""
    problems: list[str] = field(default_factory=list)
    """One line each: file, line number, what is wrong."""
    envs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By hash: what runs ran on."""
    files: list[str] = field(default_factory=list)
    """Run files that were read, relative to the results folder."""
    withdrawn: dict[str, str] = field(default_factory=dict)
    """By hash of a record: why it was withdrawn. The record need not be in this store."""

    def latest(self) -> dict[str, CellRecord]:
        """Return for each cell id its record: the last that is ok, or else the last (:mod:`benchsuite.store.order`)."""
        best: dict[str, CellRecord] = {}
        for record in self.cells:
            rival = best.get(record.cell)
            if rival is None or _rank(record) > _rank(rival):
                best[record.cell] = record
        return best

    def frame(self) -> pd.DataFrame:
        """Return one row per record.

        Columns: ``run, cell, status, task, task_version, config, data, protocol, seed, device, env, started, seconds,
        alone, error``; for each kind ``<kind>`` (the method's name), ``<kind>.version`` and ``<kind>.<parameter>``;
        ``metric.<name>`` and ``measurement.<name>``. What a record lacks is missing (NaN).
        """
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame([_row(record) for record in self.cells])
        return frame


def _rank(record: CellRecord) -> tuple[bool, str, str, str]:
    return record.status == "ok", *moment(record), record.hash


def _row(record: CellRecord) -> dict[str, Any]:
    key = record.key
    shared = ("run", "cell", "status", "env", "started", "seconds", "alone")
    row: dict[str, Any] = {name: getattr(record, name) for name in shared}
    row |= {name: value for name, value in key.items() if name != "methods"}
    row["error"] = None if record.error is None else record.error.message
    for kind, method in key["methods"].items():
        row |= {kind: method["name"], f"{kind}.version": method["version"]}
        row |= {f"{kind}.{name}": value for name, value in method["params"].items()}
    row |= {f"metric.{name}": value for name, value in record.metrics.items()}
    return row | {f"measurement.{name}": value for name, value in record.measurements.items()}


def read_store(out: Path, *, index: bool = True) -> Store:
    """Read ``<out>/results/**/*.jsonl``.

    The same record in two files (a contribution that was copied) counts once.

    Args:
        out: folder that holds ``results``; where there is none, the store is empty.
        index: use the index of :mod:`benchsuite.store.index` where there is one. What is returned is the same.

    Raises:
        StoreError: a file cannot be opened.
    """
    with collector_paused():
        store = _read(out / "results", index)
        if len(store.cells) > LARGE:
            # A collection goes through all that was made since the last one; these are kept, and have no cycles.
            gc.freeze()
    return store


def _read(results: Path, index: bool) -> Store:
    if index:
        from benchsuite.store.index import read_indexed

        store = read_indexed(results)
        if store is not None:
            return store
    return _read_files(results)


def _read_files(results: Path) -> Store:
    gathering, shared = Gathering(), Shared()
    for path in run_files(results):
        gathering.begin(path.relative_to(results).as_posix())
        for found in scan(read_file(path)):
            if isinstance(found.line, CellRecord):
                shared.methods_of(found.line.key)
            gathering.take(found)
    return gathering.store()


class Shared:
    """Lets records of the same methods share that part of their keys: it is most of a key, and few differ in it."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, MethodKey]] = {}

    def methods_of(self, key: CellKey) -> None:
        """Put the first one that was equal in place of the key's own."""
        key["methods"] = self._known.setdefault(repr(key["methods"]), key["methods"])


class Gathering:
    """Makes a store of lines, file by file in the order of their names."""

    def __init__(self) -> None:
        self._store = Store()
        self._seen: dict[str, dict[str, CellRecord]] = defaultdict(dict)
        """By run and cell."""
        self._problems: list[tuple[int, str]] = []

    def begin(self, name: str) -> None:
        """Begin a file, named relative to the results folder."""
        self._close()
        self._store.files.append(name)

    def take(self, found: Located) -> None:
        """Take a line of the file."""
        if found.line is None:
            self.problem(found.number, found.problem)
        else:
            self.admit(found.number, found.line)

    def admit(self, number: int, line: AnyLine) -> None:
        """Take what is in line ``number`` of the file."""
        if isinstance(line, CellRecord):
            self.cells([(number, line)])
        elif isinstance(line, EnvLine):
            self._store.envs[line.hash] = dict(line.env)
        elif isinstance(line, VoidLine):
            self._store.withdrawn.setdefault(line.record, line.reason)

    def cells(self, found: Iterable[tuple[int, CellRecord]]) -> None:
        """Take records of the file, each with the number of its line."""
        seen, take = self._seen, self._store.cells.append
        for number, record in found:
            known = seen[record.run].setdefault(record.cell, record)
            if known is record:
                take(record)
            elif known.hash != record.hash:
                self.problem(number, f"run {record.run} has another record of cell {record.cell}; this one is left out")

    def problem(self, number: int, text: str) -> None:
        """Report that line ``number`` of the file is left out."""
        self._problems.append((number, text))

    def store(self) -> Store:
        """Return the store."""
        self._close()
        store = self._store
        if store.withdrawn:
            store.cells = [record for record in store.cells if record.hash not in store.withdrawn]
        return store

    def _close(self) -> None:
        name = self._store.files[-1] if self._store.files else ""
        self._store.problems += [f"{name}:{number}: {text}" for number, text in sorted(self._problems)]
        self._problems.clear()
