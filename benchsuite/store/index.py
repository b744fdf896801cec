"""The index: what boards need of every record, in one SQLite file beside the run files.

It lies in ``<out>/results/.index/``, a folder that tells git to ignore it, so it is never committed, and goes where the
results go. It is there only where :func:`build` made it, and may be deleted at any time. It holds nothing of its own:
every reading compares it with the run files first. A file whose size and times are as they were is taken as it is; of
one that grew, the new lines are read, if the bytes before them still have the hash that they had; any other is read
again from its beginning. Where it cannot be read or written (locked, damaged, a read-only folder) the run files are
read instead. The fields that it does not hold are read from the record's line when they are asked for
(:mod:`benchsuite.store.filed`).
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import sqlite3
import struct
import time
from typing import TYPE_CHECKING, NamedTuple

from benchsuite.errors import StoreError
from benchsuite.store import rows
from benchsuite.store.migrations import SCHEMA
from benchsuite.store.reader import Gathering
from benchsuite.store.records import EnvLine, VoidLine, parse_line
from benchsuite.store.scan import Located, collector_paused, read_file, run_files, scan

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from benchsuite.store.reader import Store

#: Raised where the tables, or what is put into them, change. Another schema of records is another index, too.
FORMAT = 1000 * 1 + SCHEMA

#: Nanoseconds: a file that was changed so shortly before it was read may change again without its times telling.
SETTLED = 2_000_000_000

#: What an index raises that another process holds, or that is damaged, or that a record does not fit into.
UNUSABLE = (sqlite3.Error, ArithmeticError, LookupError, TypeError, ValueError, struct.error)

#: Seconds to wait for another process that writes the index.
PATIENCE = 5.0

TABLES = """
CREATE TABLE files (file INTEGER PRIMARY KEY, name TEXT UNIQUE, size INT, modified INT, changed INT, settled INT,
                    indexed INT, lines INT, mark TEXT);
CREATE TABLE others (file INT, number INT, start INT, line BLOB, problem TEXT);
CREATE INDEX others_by_file ON others (file);
"""


class _File(NamedTuple):
    """A run file as the index knows it."""

    file: int
    name: str
    size: int
    modified: int
    changed: int
    settled: int
    """Whether its times prove that it is as it was."""
    indexed: int
    """Bytes up to the end of the last whole line."""
    lines: int
    """Newlines in them."""
    mark: str
    """Their hash."""

    def is_as_it_was(self, stat: os.stat_result) -> bool:
        times = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        return bool(self.settled) and times == (self.size, self.modified, self.changed)


def folder_of(results: Path) -> Path:
    """Return the folder of the index; deleting it deletes the index."""
    return results / ".index"


def build(results: Path) -> int:
    """Make the index, or bring it up to date; one that is damaged is made anew.

    Returns:
        The number of records in it.

    Raises:
        StoreError: it cannot be written, or a run file cannot be read.
    """
    folder = folder_of(results)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        try:
            return _refreshed(results)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:  # a file that is no database, or a damaged one
            shutil.rmtree(folder)
            return build(results)
    except (OSError, *UNUSABLE) as error:
        mend = "Nothing needs it: all commands read the run files where there is no index"
        raise StoreError(f"the index {folder} cannot be written: {error}", mend) from error


def _refreshed(results: Path) -> int:
    with collector_paused(), _opened(results, "IMMEDIATE") as index:
        index.refresh()
        return index.rows.count()


def read_indexed(results: Path) -> Store | None:
    """Return the store below ``results``, with what the index has of it.

    Returns:
        None where there is no index, or none that can be used.

    Raises:
        StoreError: a run file cannot be read.
    """
    if not (folder_of(results) / "records.sqlite").is_file():
        return None
    try:
        with _opened(results) as index:
            return index.store()
    except UNUSABLE:
        return None


@contextlib.contextmanager
def _opened(results: Path, mode: str = "DEFERRED") -> Iterator[_Index]:
    path = folder_of(results) / "records.sqlite"
    with contextlib.closing(sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)) as database:
        database.execute(f"BEGIN {mode}")
        try:
            yield _Index(database, results)
            database.execute("COMMIT")
        except BaseException:
            if database.in_transaction:
                database.execute("ROLLBACK")
            raise


class _Index:
    """An open index, inside one transaction: what it reads is of one moment."""

    def __init__(self, database: sqlite3.Connection, results: Path) -> None:
        self._database = database
        self._results = results
        self._paths = {path.relative_to(results).as_posix(): path for path in run_files(results)}
        if database.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
            self._clear()
        self.rows = rows.Rows(database)
        self._files = {row[1]: _File(*row) for row in database.execute("SELECT * FROM files")}

    def refresh(self) -> None:
        """Make the index agree with the run files; writes nothing where it does already."""
        for name in self._files.keys() - self._paths.keys():
            self._forget(self._files.pop(name))
        for name, path in self._paths.items():
            stat = path.stat()
            known = self._files.get(name)
            if known is None or not known.is_as_it_was(stat):
                self._files[name] = self._update(name, read_file(path), stat, known)

    def store(self) -> Store:
        """Return the store, after a refresh."""
        self.refresh()
        gathering = Gathering()
        others, records = self._others(), self.rows.records()
        for name, path in self._paths.items():
            known = self._files[name]
            gathering.begin(name)
            gathering.cells(records(known.file, path))
            for found in others.get(known.file, ()):
                gathering.take(found)
            for found in self._tail(path, known):
                gathering.take(found)
        return gathering.store()

    def _clear(self) -> None:
        for (name,) in self._database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            self._database.execute(f'DROP TABLE "{name}"')
        for statement in (*TABLES.split(";"), *rows.TABLES.split(";")):
            self._database.execute(statement)
        self._database.execute(f"PRAGMA user_version = {FORMAT}")

    def _forget(self, known: _File) -> None:
        for table in ("files", "others", "cells"):
            self._database.execute(f"DELETE FROM {table} WHERE file = ?", [known.file])

    def _update(self, name: str, data: bytes, stat: os.stat_result, known: _File | None) -> _File:
        whole = data.rfind(b"\n") + 1
        if known is not None and (whole < known.indexed or _mark(data[: known.indexed]) != known.mark):
            self._forget(known)
            known = None
        start, lines = (0, 0) if known is None else (known.indexed, known.lines)
        number = self._number() if known is None else known.file
        self._add(number, data, scan(data[start:whole], lines + 1, start))
        settled = time.time_ns() - max(stat.st_mtime_ns, stat.st_ctime_ns) > SETTLED
        lines += data.count(b"\n", start, whole)
        times = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, int(settled))
        found = _File(number, name, *times, whole, lines, _mark(data[:whole]))
        self._database.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", found)
        return found

    def _number(self) -> int:
        return 1 + max((known.file for known in self._files.values()), default=0)

    def _add(self, file: int, data: bytes, lines: Iterable[Located]) -> None:
        others = [
            (file, each.number, each.offset, data[each.offset : each.offset + each.size], each.problem)
            for each in self.rows.add(file, lines)
            if each.line is None or isinstance(each.line, (EnvLine, VoidLine))
        ]
        self._database.executemany("INSERT INTO others VALUES (?, ?, ?, ?, ?)", others)

    def _others(self) -> dict[int, list[Located]]:
        found: dict[int, list[Located]] = {}
        for file, number, offset, text, problem in self._database.execute("SELECT * FROM others ORDER BY number"):
            line = None if problem else parse_line(text)
            found.setdefault(file, []).append(Located(number, offset, len(text), line, problem))
        return found

    def _tail(self, path: Path, known: _File) -> list[Located]:
        """Read what is behind the last newline: a line that was torn, or is being written and is no line yet."""
        if known.indexed == known.size:
            return []
        with path.open("rb") as file:
            file.seek(known.indexed)
            return list(scan(file.read(), known.lines + 1, known.indexed))


def _mark(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
