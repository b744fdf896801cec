"""Cells on their way to another machine and back: nothing changes, nothing is unpickled, damage is found."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import pickle
import zipfile

import pytest

from benchsuite.engine import wire
from benchsuite.engine.payload import Outcome, Output
from benchsuite.engine.wire import read_answer, read_letter, write_answer, write_letter
from benchsuite.errors import ProtocolError
from benchsuite.host import HostOptions, load_catalogue
from benchsuite.store.env import environment
from benchsuite.store.records import ErrorInfo


@pytest.fixture
def payload(payloads):
    return payloads("toy-good[bits=4,share=0.5]")[-1]


OUTPUT = Output(
    arrays={"test": b"\x93NUMPY", "odd/name": b"\x00"},
    measurements={"seconds": 0.1 + 0.2, "none": None},
    samples={"seconds": [1e-9, None]},
    notes={"pid": 7, "nested": {"a": [1, "\u20ac", None]}},
    nonfinite={"measurements.none": "inf"},
)
OUTCOMES = [
    Outcome("ok", "2026-01-01T00:00:00+00:00", 1.5, output=OUTPUT, alone=True, spans={"load": 0.25}),
    Outcome("oom", "2026-01-01T00:00:00+00:00", 0.0, error=ErrorInfo(phase="run", type="E", message="m", tail=["a"])),
    Outcome("ok", "2026-01-01T00:00:00+00:00", 0.0, output=OUTPUT, env=environment({"toy": ["driver 1"]})),
]


def test_a_letter_brings_the_payload_as_it_was(payload):
    letter = read_letter(write_letter(payload, "ab12"))
    assert letter.payload() == payload
    assert letter.view_digest == "ab12"
    # 4 is an int and 0.5 a float on the other side too: the method is called with them.
    assert [type(value) for value in letter.payload().input.methods["quantizer"].params.values()] == [int, float]


def test_every_task_of_the_suite_can_travel(payload):
    catalogue = load_catalogue(HostOptions(builtins=("benchsuite.tasks.builtin",)))
    assert len(catalogue.tasks) > 20
    for card in catalogue.tasks.values():
        assert read_letter(write_letter(dataclasses.replace(payload, task=card), "")).payload().task == card


@pytest.mark.parametrize("outcome", OUTCOMES, ids=["ok", "error", "env"])
def test_an_answer_brings_the_outcome_as_it_was(outcome):
    assert read_answer(write_answer(outcome)) == outcome


def test_what_travels_is_all_that_there_is():
    """A field that is added to an outcome and forgotten on the way would be lost on clusters alone."""
    assert {field.name for field in dataclasses.fields(Outcome)} == set(wire._Outcome.model_fields)
    assert {field.name for field in dataclasses.fields(Output)} == {*wire._Output.model_fields, "arrays"}


def test_an_answer_that_was_damaged_is_an_error_with_one_line():
    whole = write_answer(OUTCOMES[0])
    damaged = [whole[:length] for length in range(0, len(whole), 7)]
    damaged += [whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :] for place in range(0, len(whole), 5)]
    for answer in damaged:
        with pytest.raises(ProtocolError, match=r"^what a worker sent back is damaged\. Run the cell again$"):
            read_answer(answer)


class Bomb:
    def __reduce__(self):
        return pytest.fail, ("an answer was unpickled",)


def test_an_answer_is_never_unpickled():
    bomb = pickle.dumps(Bomb())
    for answer in (bomb, hashlib.sha256(bomb).digest() + bomb):
        with pytest.raises(ProtocolError, match="what a worker sent back is"):
            read_answer(answer)


def test_an_answer_of_another_version_says_so():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("outcome.json", json.dumps({"status": "splendid"}))
    with pytest.raises(ProtocolError, match=r"status: Input should be .*Install the same version of benchsuite"):
        read_answer(hashlib.sha256(buffer.getvalue()).digest() + buffer.getvalue())
    with pytest.raises(ProtocolError, match="cannot be read"):
        read_letter(b"{}")
