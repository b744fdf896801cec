"""Lines of a run file: their text, their hash, and what is refused."""

from __future__ import annotations

import hashlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchsuite.errors import StoreError
from benchsuite.store import records
from benchsuite.store.records import (
    CellRecord,
    EndLine,
    EnvLine,
    PlanLine,
    VoidLine,
    canonical,
    digest,
    finite,
    parse_line,
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def record(**changes):
    key = {"task": "t", "task_version": "1", "config": "c", "data": "d", "protocol": "p/1", "seed": 0, "device": "cpu"}
    key["methods"] = {"quantizer": {"name": "m", "version": "1", "params": {"bits": 8}}}
    fields = {"run": "r", "cell": "c1", "key": key, "status": "ok", "env": "e", "started": "2026-01-01", "seconds": 1.5}
    return CellRecord.model_validate({**fields, "alone": True, "metrics": {"accuracy": 81.25}, **changes})


LINES = [
    record(),
    EnvLine(env={"python": "3.11", "cores": {"logical": 2}}),
    PlanLine(run="r", started="2026-01-01", done=["a"], todo=["b"]),
    VoidLine(record="abc", reason="wrong data", author="somebody", at="2026-01-01"),
    EndLine(run="r", finished="2026-01-01", status="finished", counts={"ok": 1}),
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.type)
def test_a_line_survives_its_text(line):
    text = line.text()
    assert text.endswith("}\n")
    assert text.count("\n") == 1
    assert parse_line(text) == line.sealed()


def test_the_text_is_canonical_and_the_hash_is_of_the_rest():
    text = record().text()
    fields = json.loads(text)
    assert text == json.dumps(fields, sort_keys=True, separators=(",", ":")) + "\n"
    given = fields.pop("hash")
    body = json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
    assert given == hashlib.sha256(body).hexdigest()[:16]


@given(JSON)
def test_canonical_json_has_one_text_for_one_value(value):
    text = canonical(value)
    assert json.loads(text) == value
    assert canonical(json.loads(text)) == text
    assert text.isascii()


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4))
def test_notes_of_any_shape_survive(notes):
    line = record(notes=notes)
    assert parse_line(line.text()).notes == notes


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_canonical_json_refuses_what_json_does_not_have(value):
    with pytest.raises(ValueError, match="JSON"):
        canonical({"x": value})


@given(st.dictionaries(st.text(max_size=5), st.none() | st.floats(), max_size=6))
def test_numbers_are_kept_or_named(values):
    kept, lost = finite(values)
    assert kept.keys() == values.keys()
    for name, value in values.items():
        if value is None or math.isfinite(value):
            assert kept[name] == value
            assert name not in lost
        else:
            assert kept[name] is None
            assert lost[name] == ("nan" if math.isnan(value) else "inf" if value > 0 else "-inf")


def test_an_edited_line_is_found():
    text = record().text().replace("81.25", "91.25")
    with pytest.raises(StoreError, match="changed after it was written"):
        parse_line(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"status": "great"}, "status"),
        ({"unknown": 1}, "unknown"),
        ({"schema": 2}, "schema"),
        ({"type": "story"}, "type|tag"),
        ({"key": {"task": "t"}}, "key"),
    ],
)
def test_a_line_that_is_no_record_is_refused_even_with_a_right_hash(change, message):
    fields = {**json.loads(record().text()), **change}
    fields.pop("hash")
    with pytest.raises(StoreError, match=message):
        parse_line(canonical({**fields, "hash": digest(fields)}))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"type":"cell"}', "[" * 100_000, '{"type":"end","x":NaN}'])
def test_garbage_is_refused(text):
    with pytest.raises(StoreError, match="it is no record"):
        parse_line(text)


def test_a_number_that_is_no_number_is_a_store_error():
    with pytest.raises(StoreError, match="it is no record"):
        parse_line('{"type":"end","schema":1,"run":"r","counts":{},"finished":"1e999","status":"finished","x":1e999}')


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.type)
def test_the_text_alone_proves_a_line(line, monkeypatch):
    """What was written by :meth:`Line.text` is read without making its canonical JSON again."""

    def refuse(value):
        raise AssertionError("it was made again")

    text = line.text()
    monkeypatch.setattr(records, "canonical", refuse)
    assert records.parse_line(text).type == line.type


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4), st.floats(allow_nan=False, allow_infinity=False))
def test_both_ways_to_read_a_line_agree(notes, number):
    """A member called hash deep inside, and numbers and texts of all kinds, are no way to tell them apart."""
    for line in (
        record(notes=notes, metrics={"accuracy": number}, measurements={"gap": None, "cost": number}),
        EnvLine(env={"hash": "0123456789abcdef", "notes": notes, "deep": [{"hash": "0123456789abcdef"}]}),
    ):
        text = line.text()
        spaced = json.dumps(json.loads(text), indent=None)  # not as it was written: the long way
        assert parse_line(text) == parse_line(spaced) == line.sealed()


@pytest.mark.parametrize("new", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_json_is_refused_even_where_somebody_sealed_it(new):
    body = canonical({name: value for name, value in json.loads(record().text()).items() if name != "hash"})
    body = body.replace("81.25", new)
    mark = hashlib.sha256(body.encode()).hexdigest()[:16]
    with pytest.raises(StoreError, match="it is no record"):
        parse_line(body.replace('"key":', f'"hash":"{mark}","key":'))
