"""The index's table of records: one row each, with the parts that many records share kept once."""

from __future__ import annotations

import json
import struct
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from benchsuite.store.filed import filed
from benchsuite.store.migrations import SCHEMA
from benchsuite.store.reader import Shared
from benchsuite.store.records import CellRecord, ErrorInfo, PluginSource

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from benchsuite.store.scan import Located

#: ``context`` and ``recipe`` are rows of ``texts``; ``numbers`` is packed as the recipe says.
TABLES = """
CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT UNIQUE);
CREATE TABLE cells (file INT, number INT, start INT, size INT, hash TEXT, cell TEXT, context INT, recipe INT, seed INT,
                    started TEXT, seconds REAL, numbers BLOB, error TEXT, PRIMARY KEY (file, number)) WITHOUT ROWID
"""

_INSERT = f"INSERT INTO cells VALUES ({', '.join('?' * 13)})"
_SELECT = (
    "SELECT number, start, size, hash, cell, context, recipe, seed, started, seconds, numbers, error"
    " FROM cells WHERE file = ? ORDER BY number"
)

#: What the records of one run share with those of the same status, and what the seeds of one method on one task share.
_CONTEXT = ("run", "env", "status", "alone")

#: What all records share, those that failed aside.
_SAME = {"version": SCHEMA, "type": "cell", "error": None}

#: What each has of its own. They stand in the template already, so that no copy of it needs to grow.
_OWN: dict[str, Any] = dict.fromkeys(("hash", "cell", "key", "started", "seconds", "metrics", "measurements", "_place"))


class _Recipe(NamedTuple):
    """What the seeds of one method on one task share."""

    key: dict[str, Any]
    """The key, whose seed is null."""
    fields: dict[str, Any]
    """Fields of a record."""
    metrics: tuple[str, ...]
    measurements: tuple[str, ...]
    nulls: tuple[str, ...]
    """The measurements that are null."""
    unpack: Callable[[bytes], tuple[float, ...]]
    """Metrics, then measurements."""


class Rows:
    """The records of an open index."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._ids: dict[str, int] = {text: id_ for id_, text in database.execute("SELECT id, text FROM texts")}
        self._texts: dict[int, str] = {id_: text for text, id_ in self._ids.items()}
        self._shared = Shared()

    def count(self) -> int:
        """Return the number of records."""
        return int(self._database.execute("SELECT count(*) FROM cells").fetchone()[0])

    def add(self, file: int, lines: Iterable[Located]) -> list[Located]:
        """Put the records among ``lines`` in, and return the other lines."""
        others: list[Located] = []
        self._database.executemany(_INSERT, self._rows(file, lines, others))
        return others

    def _rows(self, file: int, lines: Iterable[Located], others: list[Located]) -> Iterator[tuple[Any, ...]]:
        for found in lines:
            if isinstance(found.line, CellRecord):
                yield (file, found.number, found.offset, found.size, *self._values(found.line))
            else:
                others.append(found)

    def _values(self, record: CellRecord) -> tuple[Any, ...]:
        numbers: list[float | None] = [*record.metrics.values(), *record.measurements.values()]
        return (
            *(record.hash, record.cell),
            self._id([getattr(record, name) for name in _CONTEXT]),
            self._id(_recipe_text(record)),
            *(record.key["seed"], record.started, record.seconds),
            struct.pack(f"<{len(numbers)}d", *(value or 0.0 for value in numbers)),
            None if record.error is None else record.error.model_dump_json(),
        )

    def _id(self, value: object) -> int:
        text = json.dumps(value)  # in the order in which it is, which is the order of columns in frames
        id_ = self._ids.get(text)
        if id_ is None:
            id_ = self._ids[text] = len(self._ids) + 1
            self._texts[id_] = text
            self._database.execute("INSERT INTO texts VALUES (?, ?)", [id_, text])
        return id_

    def records(self) -> Callable[[int, Path], Iterator[tuple[int, CellRecord]]]:
        """Return a function that gives the records of a file, each with the number of its line, in order.

        It takes the file's number in the index, and where the file is. Records share what is equal in them.
        """
        known: dict[tuple[int, int], tuple[_Recipe, dict[str, Any]]] = {}
        recipe_of = cache(lambda id_: _recipe(json.loads(self._texts[id_]), self._shared))
        context_of = cache(lambda id_: dict(zip(_CONTEXT, json.loads(self._texts[id_]), strict=True)))

        def shared(context: int, recipe: int) -> tuple[_Recipe, dict[str, Any]]:
            found = recipe_of(recipe)
            known[context, recipe] = found, {**_SAME, **context_of(context), **found.fields, **_OWN}
            return known[context, recipe]

        def records(file: int, path: Path) -> Iterator[tuple[int, CellRecord]]:
            # As flat as can be: this is where the time goes in reading a hundred thousand records.
            for row in self._database.execute(_SELECT, [file]):
                number, start, size, mark, cell, context, recipe, seed, started, seconds, packed, error = row
                same, template = known.get((context, recipe)) or shared(context, recipe)
                key, _, metrics, measurements, nulls, unpack = same
                key = key.copy()
                key["seed"] = seed
                numbers = unpack(packed)
                values = template.copy()
                values["hash"] = mark
                values["cell"] = cell
                values["key"] = key
                values["started"] = started
                values["seconds"] = seconds
                values["metrics"] = dict(zip(metrics, numbers))  # noqa: B905 - the rest are the measurements
                measured: dict[str, float | None] = dict(zip(measurements, numbers[len(metrics) :], strict=True))
                values["measurements"] = measured
                values["_place"] = path, start, size, mark
                for name in nulls:
                    measured[name] = None
                if error is not None:
                    values["error"] = ErrorInfo.model_validate_json(error)
                yield number, filed(values)

        return records


def _recipe_text(record: CellRecord) -> dict[str, Any]:
    return {
        "key": {**record.key, "seed": None},
        "plugins": {kind: source.model_dump() for kind, source in record.plugins.items()},
        "execution": record.execution,
        "metrics": list(record.metrics),
        "measurements": list(record.measurements),
        "nulls": [name for name, value in record.measurements.items() if value is None],
    }


def _recipe(raw: Mapping[str, Any], shared: Shared) -> _Recipe:
    key = raw["key"]
    shared.methods_of(key)
    plugins = {kind: PluginSource.model_validate(source) for kind, source in raw["plugins"].items()}
    metrics, measurements = tuple(raw["metrics"]), tuple(raw["measurements"])
    unpack = struct.Struct(f"<{len(metrics) + len(measurements)}d").unpack
    fields = {"plugins": plugins, "_execution": raw["execution"]}
    return _Recipe(key, fields, metrics, measurements, tuple(raw["nulls"]), unpack)
