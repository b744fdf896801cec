"""Payloads and outcomes as bytes, for executors whose workers run on another machine.

A payload is a JSON text; an outcome is a zip file of one JSON text and one ``.npy`` per array, behind its SHA-256. Both
are checked when they are read. Nothing is pickled, so reading what came back from a worker runs no code of it.
"""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Base64Bytes, BaseModel, ConfigDict, JsonValue, ValidationError

from benchsuite.contracts.cards import Kind, Scalar, TaskCard
from benchsuite.contracts.task import CellInput, MethodSpec
from benchsuite.engine.payload import Outcome, Output, Payload
from benchsuite.errors import ProtocolError
from benchsuite.store.records import EnvLine, ErrorInfo, Nonfinite, PluginSource, Status

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeVar

    Shape = TypeVar("Shape", bound="_Strict")

_OUTCOME = "outcome.json"
_ARRAYS = "arrays/"
_SUFFIX = ".npy"
_SEAL = 32


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class _Method(_Strict):
    name: str
    target: str
    params: dict[str, Scalar]
    version: str


class _Input(_Strict):
    view: str
    cache: str
    seed: int
    methods: dict[Kind, _Method]
    device: str
    shown: Base64Bytes


class Letter(_Strict):
    """What a worker elsewhere is sent for a cell."""

    cell: str
    task: TaskCard
    input: _Input
    packages: dict[str, str]
    sources: dict[str, PluginSource]
    view_digest: str
    """SHA-256 (hex) of the view file: the same path on another machine may hold another file, or none."""

    def payload(self) -> Payload:
        """Return the payload as the host had it."""
        given = self.input
        methods = {kind: MethodSpec(**dict(method)) for kind, method in given.methods.items()}
        cell = CellInput(Path(given.view), Path(given.cache), given.seed, methods, given.device, given.shown)
        return Payload(self.cell, self.task, cell, self.packages, self.sources)


class _Output(_Strict):
    measurements: dict[str, float | None]
    samples: dict[str, list[float | None]]
    notes: dict[str, JsonValue]
    nonfinite: dict[str, Nonfinite]


class _Outcome(_Strict):
    status: Status
    started: str
    seconds: float
    output: _Output | None
    error: ErrorInfo | None
    alone: bool
    spans: dict[str, float]
    worn: bool
    attempts: int
    env: EnvLine | None


def write_letter(payload: Payload, view_digest: str) -> bytes:
    """Return the payload as a letter.

    Args:
        payload: of a cell.
        view_digest: SHA-256 (hex) of its view file.
    """
    given = payload.input
    methods = {kind: {**asdict(method), "params": dict(method.params)} for kind, method in given.methods.items()}
    letter = Letter.model_validate(
        {
            "cell": payload.cell,
            "task": payload.task,
            "input": {
                "view": str(given.view),
                "cache": str(given.cache),
                "seed": given.seed,
                "methods": methods,
                "device": given.device,
                "shown": base64.b64encode(given.shown),
            },
            "packages": dict(payload.packages),
            "sources": dict(payload.sources),
            "view_digest": view_digest,
        }
    )
    return letter.model_dump_json().encode()


def read_letter(letter: bytes) -> Letter:
    """Return a letter, checked.

    Raises:
        ProtocolError: it is none, or was written by another version of the suite.
    """
    return _read(Letter, letter, "a cell")


def write_answer(outcome: Outcome) -> bytes:
    """Return an outcome as a zip file behind its digest."""
    output = outcome.output
    body: dict[str, Any] = {name: getattr(outcome, name) for name in _Outcome.model_fields if name != "output"}
    plain = None if output is None else {name: getattr(output, name) for name in _Output.model_fields}
    text = _Outcome.model_validate(body | {"output": plain}).model_dump_json(by_alias=True)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(_OUTCOME, text)
        for name, data in ({} if output is None else output.arrays).items():
            archive.writestr(f"{_ARRAYS}{name}{_SUFFIX}", data)
    return _seal(buffer.getvalue()) + buffer.getvalue()


def read_answer(answer: bytes) -> Outcome:
    """Return an outcome, checked.

    Raises:
        ProtocolError: the bytes are damaged, or were written by another version of the suite.
    """
    seal, content = answer[:_SEAL], answer[_SEAL:]
    if seal != _seal(content):
        raise ProtocolError("what a worker sent back is damaged", "Run the cell again")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            body = _read(_Outcome, archive.read(_OUTCOME), "an outcome")
            names = [name for name in archive.namelist() if name.startswith(_ARRAYS)]
            arrays = {name[len(_ARRAYS) : -len(_SUFFIX)]: archive.read(name) for name in names}
    except (zipfile.BadZipFile, KeyError) as error:
        raise ProtocolError("what a worker sent back is no outcome", "Run the cell again") from error
    fields = {name: getattr(body, name) for name in _Outcome.model_fields if name != "output"}
    return Outcome(output=None if body.output is None else _output(arrays, body.output), **fields)


def _seal(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _output(arrays: Mapping[str, bytes], plain: _Output) -> Output:
    return Output(arrays, **{name: getattr(plain, name) for name in _Output.model_fields})


def _read(shape: type[Shape], text: bytes, what: str) -> Shape:
    try:
        return shape.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the text"
        message = f"what stands for {what} on its way between two machines cannot be read: {where}: {first['msg']}"
        raise ProtocolError(message, "Install the same version of benchsuite on all nodes") from error
