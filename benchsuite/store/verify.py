"""Read every run file line by line and say what is wrong, and what is worth knowing."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchsuite.store.reader import read_store
from benchsuite.store.records import CellRecord, EndLine, EnvLine, PlanLine, VoidLine, digest
from benchsuite.store.scan import collector_paused, read_file, run_files, scan

if TYPE_CHECKING:
    from pathlib import Path

    from benchsuite.store.scan import Located


@dataclass
class Report:
    """What :func:`verify` found."""

    files: int = 0
    records: int = 0
    """Cell lines that can be used, copies counted."""
    counted: int = 0
    """Records that are neither copies nor withdrawn."""
    withdrawn: int = 0
    dropped: list[str] = field(default_factory=list)
    """One line each: file, line number, why it is left out."""
    remarks: list[str] = field(default_factory=list)
    """One line each: what costs nothing but should be known."""

    @property
    def copies(self) -> int:
        """Records that are in the store already, or contradict one that is."""
        return self.records - self.counted - self.withdrawn


@dataclass
class _Seen:
    """What the lines of all files say."""

    runs: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """By run: files that hold its plan or cells of it."""
    plans: dict[str, str] = field(default_factory=dict)
    ends: set[str] = field(default_factory=set)
    envs: set[str] = field(default_factory=set)
    missing: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    """By file and env: how many cells refer to it."""
    hashes: set[str] = field(default_factory=set)
    voids: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def verify(out: Path) -> Report:
    """Read all run files below ``<out>/results``, without the index.

    Left out are lines that are torn, of a newer schema or edited by hand, and a second record of one cell in one run.
    Remarks name runs that were interrupted, that lie in several files, cells whose environment line is not there, cells
    whose id is not that of their key, and withdrawals of what is not there.

    Raises:
        StoreError: a file cannot be opened.
    """
    report, seen = Report(), _Seen()
    with collector_paused():
        for path in run_files(out / "results"):
            name = path.relative_to(out / "results").as_posix()
            report.files += 1
            for found in scan(read_file(path)):
                _look(found, name, report, seen)
        store = read_store(out, index=False)
    report.counted, report.dropped = len(store.cells), store.problems
    report.withdrawn = len(seen.hashes & seen.voids.keys())
    report.remarks = [*seen.remarks, *_remarks(seen)]
    return report


def _look(found: Located, name: str, report: Report, seen: _Seen) -> None:
    line = found.line
    if isinstance(line, CellRecord):
        report.records += 1
        seen.hashes.add(line.hash)
        seen.runs[line.run].add(name)
        seen.missing[name, line.env] += 1
        if line.cell != digest(line.key):
            seen.remarks.append(f"{name}:{found.number}: the id {line.cell} is not that of the cell's key")
    elif isinstance(line, EnvLine):
        seen.envs.add(line.hash)
    elif isinstance(line, PlanLine):
        seen.plans[line.run] = name
        seen.runs[line.run].add(name)
    elif isinstance(line, EndLine):
        seen.ends.add(line.run)
    elif isinstance(line, VoidLine):
        seen.voids.setdefault(line.record, f"{name}:{found.number}")


def _remarks(seen: _Seen) -> list[str]:
    found = [f"{name}: run {run} has no end: it was interrupted, or is going on" for run, name in _unended(seen)]
    found += [
        f"run {run} lies in {len(names)} files: {', '.join(sorted(names))}"
        for run, names in sorted(seen.runs.items())
        if len(names) > 1
    ]
    found += [
        f"{name}: {number} {'cell refers' if number == 1 else 'cells refer'} to environment {env}, which no line has"
        for (name, env), number in sorted(seen.missing.items())
        if env not in seen.envs
    ]
    return found + [
        f"{where}: it withdraws record {record}, which is not there"
        for record, where in sorted(seen.voids.items())
        if record not in seen.hashes
    ]


def _unended(seen: _Seen) -> list[tuple[str, str]]:
    return sorted((run, name) for run, name in seen.plans.items() if run not in seen.ends)
