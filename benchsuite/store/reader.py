"""Read all run files below a folder into one store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchsuite.errors import StoreError
from benchsuite.store.records import AnyLine, CellRecord, EnvLine, VoidLine, parse_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pandas as pd


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

    def latest(self) -> dict[str, CellRecord]:
        """Return for each cell id its record: the latest that is ok by ``started``, or else the latest."""
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


def _rank(record: CellRecord) -> tuple[bool, str, str]:
    return record.status == "ok", record.started, record.hash


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


def read_store(out: Path) -> Store:
    """Read ``<out>/results/**/*.jsonl``.

    The same record in two files (a contribution that was copied) counts once.

    Args:
        out: folder that holds ``results``; where there is none, the store is empty.

    Raises:
        StoreError: a file cannot be opened.
    """
    store = Store()
    seen: dict[tuple[str, str], str] = {}
    void: set[str] = set()
    results = out / "results"
    for path in _run_files(results):
        name = path.relative_to(results).as_posix()
        store.files.append(name)
        for number, line in _lines(path, name, store.problems):
            if isinstance(line, CellRecord):
                _admit(line, seen, store, f"{name}:{number}")
            elif isinstance(line, EnvLine):
                store.envs[line.hash] = dict(line.env)
            elif isinstance(line, VoidLine):
                void.add(line.record)
    store.cells = [record for record in store.cells if record.hash not in void]
    return store


def _run_files(results: Path) -> list[Path]:
    try:
        return sorted(path for path in results.rglob("*.jsonl") if path.is_file())
    except OSError as error:
        raise StoreError(f"the results folder {results} cannot be read: {error.strerror}") from error


def _lines(path: Path, name: str, problems: list[str]) -> Iterator[tuple[int, AnyLine]]:
    try:
        raw = path.read_bytes()
    except OSError as error:
        mend = "Make it readable, or move it out of the results folder"
        raise StoreError(f"the results file {path} cannot be read: {error.strerror}", mend) from error
    for number, text in enumerate(raw.split(b"\n"), start=1):
        if not text.strip():
            continue
        try:
            yield number, parse_line(text.decode())
        except (StoreError, UnicodeDecodeError) as error:
            problems.append(f"{name}:{number}: {error}")


def _admit(record: CellRecord, seen: dict[tuple[str, str], str], store: Store, where: str) -> None:
    known = seen.get((record.cell, record.run))
    if known is None:
        seen[record.cell, record.run] = record.hash
        store.cells.append(record)
    elif known != record.hash:
        store.problems.append(
            f"{where}: run {record.run} has another record of cell {record.cell}; this one is left out"
        )
