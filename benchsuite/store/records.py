"""The lines of a run file.

A run file is JSON, one object a line, in the order in which things happened::

    env    first what the host is, and before a cell that ran elsewhere what that is; cells refer to it by its hash
    plan   once: which cells were wanted, and which of them were done already
    cell   one per finished cell, whatever became of it
    void   withdraws a cell line, with a reason; nothing is ever deleted
    end    once, last; a file without it is a run that was interrupted

Each line carries ``schema`` (the version of these models) and ends in ``hash``, the first 16 hex digits of the SHA-256
of the line's own canonical JSON without that field, so a line that was edited by hand is found. Lines of an older
schema are brought up to date as they are read, see :mod:`benchsuite.store.migrations`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError
from typing_extensions import Self, TypedDict  # pydantic refuses typing's below Python 3.12

from benchsuite.errors import StoreError
from benchsuite.store.migrations import migrated

if TYPE_CHECKING:
    from collections.abc import Mapping

Status = Literal["ok", "failed", "timeout", "oom", "crashed", "skipped", "interrupted"]
Nonfinite = Literal["nan", "inf", "-inf"]


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: object) -> str:
    """Return ``value`` as the one JSON text that stands for it: sorted keys, no spaces, ASCII.

    Raises:
        ValueError: a float is not finite.
        TypeError: something in it is no JSON.
    """
    return _ENCODER.encode(value)


def digest(value: object) -> str:
    """Return the first 16 hex digits of the SHA-256 of ``value``'s canonical JSON."""
    return _digest(canonical(value))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Line(BaseModel):
    """What all lines share."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True)

    version: Literal[1] = Field(default=1, alias="schema")
    hash: str = ""

    def body(self) -> dict[str, Any]:
        """Return the line as plain JSON values, without its hash."""
        return self.model_dump(mode="json", by_alias=True, exclude={"hash"})

    def seal(self) -> tuple[Self, str]:
        """Return the line with its hash filled in, and as it then stands in a file, newline included."""
        body = self.body()
        # Most of an append is making JSON, so it is made once: in two pieces, between which the hash has its place.
        pieces = [
            canonical({name: value for name, value in body.items() if name < "hash"})[1:-1],
            canonical({name: value for name, value in body.items() if name > "hash"})[1:-1],
        ]
        mark = _digest("{" + ",".join(filter(None, pieces)) + "}")
        pieces.insert(1, f'"hash":"{mark}"')
        return self.model_copy(update={"hash": mark}), "{" + ",".join(filter(None, pieces)) + "}\n"

    def sealed(self) -> Self:
        """Return the line with its hash filled in."""
        return self.seal()[0]

    def text(self) -> str:
        """Return the sealed line as it stands in a file, newline included."""
        return self.seal()[1]


class MethodKey(TypedDict):
    """One method in a cell's key."""

    name: str
    version: str
    params: dict[str, JsonValue]


class CellKey(TypedDict):
    """A cell's canonical key as it stands in a record; :class:`benchsuite.engine.cells.Cell` makes it."""

    task: str
    task_version: str
    config: str
    data: str
    protocol: str
    methods: dict[str, MethodKey]
    """By kind."""
    seed: int
    device: str


class ErrorInfo(BaseModel):
    """Why a cell has no result."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    phase: str
    """``load`` (importing), ``run``, ``score``, or ``worker`` (the process itself died or was stopped)."""
    type: str
    """Name of the exception's class."""
    message: str
    tail: list[str] = []
    """Last lines of the traceback and of what the cell printed."""


class PluginSource(BaseModel):
    """Which code a method came from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    plugin: str
    version: str
    source: str
    """SHA-256 over the plugin's Python files."""


class EnvLine(Line):
    """What a run ran on. Names no run and no time: the same surroundings have the same hash."""

    type: Literal["env"] = "env"
    env: dict[str, JsonValue]


class PlanLine(Line):
    """What a run set out to do."""

    type: Literal["plan"] = "plan"
    run: str
    started: str
    """ISO 8601, UTC."""
    command: list[str] = []
    done: list[str]
    """Ids of the wanted cells that had an ok record before."""
    todo: list[str]
    """Ids of the cells that this run was to do."""
    skipped: dict[str, str] = {}
    """Tasks that could not be prepared, with the reason."""


class CellRecord(Line):
    """What a cell left behind, whatever became of it."""

    type: Literal["cell"] = "cell"
    run: str
    cell: str
    """Id of the cell: first 16 hex digits of the SHA-256 of its key."""
    key: CellKey
    status: Status
    metrics: dict[str, float] = {}
    """By the task's metric names, in their units."""
    measurements: dict[str, float | None] = {}
    """Numbers that need no label, see :class:`benchsuite.contracts.task.CellOutput`."""
    samples: dict[str, list[float | None]] = {}
    """The repeated measurements behind a median."""
    notes: dict[str, JsonValue] = {}
    outputs: dict[str, str] = {}
    """By name, the first 16 hex digits of the SHA-256 of what the worker returned to be scored (an ``.npy`` file)."""
    nonfinite: dict[str, Nonfinite] = {}
    """What stands as null in ``measurements`` and ``samples`` though it was a number: its path, and which it was."""
    plugins: dict[str, PluginSource] = {}
    """By kind: where the method's code came from."""
    env: str
    """Hash of the run's env line."""
    error: ErrorInfo | None = None
    started: str
    """ISO 8601, UTC."""
    seconds: float
    """Wall time inside the task (or until it was stopped)."""
    alone: bool
    """True where no other cell ran at the same time: only then are its times comparable."""

    @property
    def execution(self) -> JsonValue:
        """The note ``execution``, how the products of the model ran by site; None where there is no such note."""
        return self.notes.get("execution")


class VoidLine(Line):
    """Withdraws a cell line."""

    type: Literal["void"] = "void"
    record: str
    """Hash of the line that is withdrawn."""
    reason: str
    author: str
    at: str
    """ISO 8601, UTC."""


class EndLine(Line):
    """How a run ended."""

    type: Literal["end"] = "end"
    run: str
    finished: str
    """ISO 8601, UTC."""
    status: Literal["finished", "interrupted", "stopped"]
    """``stopped``: an error of the suite or the store ended the run."""
    counts: dict[str, int] = {}
    """Number of cells of this run by status."""


AnyLine = EnvLine | PlanLine | CellRecord | VoidLine | EndLine
_ADAPTER: TypeAdapter[AnyLine] = TypeAdapter(Annotated[AnyLine, Field(discriminator="type")])
_CELL: TypeAdapter[AnyLine] = TypeAdapter(CellRecord)
_HASH = re.compile(rb'"hash":"([0-9a-f]{16})",')


def parse_line(text: str | bytes) -> AnyLine:
    """Read one line of a run file and verify its hash.

    A line of an older schema is returned as the present schema has it, with the hash that it has in the file.

    Raises:
        StoreError: the line is torn, of an unknown kind or a newer schema, or was changed after it was written.
    """
    try:
        data = (text.encode() if isinstance(text, str) else text).rstrip()
        return _parse_sealed(data) or _parse(data.decode())
    except (ValueError, RecursionError) as error:
        raise StoreError("it is no record: " + _first_line(error)) from None


def _parse_sealed(data: bytes) -> AnyLine | None:
    """Read a line that is, byte for byte, what :meth:`Line.text` made; None where it may not be.

    Its hash is that of its own text without the hash, so the text is canonical and need not be made again to verify
    it. That, and that pydantic reads JSON without a tree in between, is several times as fast as :func:`_parse`.
    """
    found = _HASH.search(data)
    if found is None or b"NaN" in data or b"Infinity" in data:
        return None
    start, end = found.span()
    if hashlib.sha256(data[:start] + data[end:]).hexdigest()[:16].encode() != found[1]:
        return None
    try:
        line = (_CELL if data.endswith(b'"type":"cell"}') else _ADAPTER).validate_json(data)
    except ValidationError:  # of another schema perhaps; if it is no record, _parse says why
        return None
    return line if line.hash.encode() == found[1] else None


def _parse(text: str) -> AnyLine:
    raw = json.loads(text, parse_constant=_refuse_constant)
    if not isinstance(raw, dict):
        raise ValueError("it is no JSON object")
    line = _ADAPTER.validate_python(migrated(raw))
    if raw.get("hash") != digest({name: value for name, value in raw.items() if name != "hash"}):
        raise StoreError("its hash is wrong: it was changed after it was written")
    return line


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _first_line(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    errors = getattr(error, "errors", None)
    if callable(errors):
        first = errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error).splitlines()[0]


def finite(values: Mapping[str, float | None]) -> tuple[dict[str, float | None], dict[str, Nonfinite]]:
    """Split numbers into what JSON can hold and what it cannot.

    Returns:
        The numbers with null in place of NaN and infinities, and for each of these its name and which it was.
    """
    kept = {name: None if value is None or not math.isfinite(value) else float(value) for name, value in values.items()}
    lost = {name: _spell(value) for name, value in values.items() if value is not None and not math.isfinite(value)}
    return kept, lost


def _spell(value: float) -> Nonfinite:
    if math.isnan(value):
        return "nan"
    return "inf" if value > 0 else "-inf"
