"""Lines of other schemas: older ones are made into present ones, newer ones are left out with a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchsuite.store import migrations, read_store
from benchsuite.store.index import build
from benchsuite.store.records import CellRecord, canonical, digest, parse_line
from benchsuite.store.verify import verify

FILES = Path(__file__).parent / "files"


def sealed(fields) -> str:
    """Return a line as a suite of any version would have written it."""
    body = {name: value for name, value in fields.items() if name != "hash"}
    return canonical({**body, "hash": digest(body)}) + "\n"


def aged(record) -> str:
    """Return a record as a version 0, which there never was, might have put it: its seconds in milliseconds."""
    fields = json.loads(record.text())
    fields |= {"schema": 0, "milliseconds": 1000 * fields.pop("seconds")}
    return sealed(fields)


@pytest.fixture
def step(monkeypatch):
    """Know the step from version 0."""

    def seconds(line):
        if line["type"] == "cell":
            line["seconds"] = line.pop("milliseconds") / 1000
        return line

    monkeypatch.setitem(migrations.STEPS, 0, seconds)


def test_a_file_of_every_version_is_kept():
    kept = {path.name for path in FILES.glob("schema-*.jsonl")}
    assert kept == {f"schema-{version}.jsonl" for version in range(1, migrations.SCHEMA + 1)}


@pytest.mark.parametrize("path", sorted(FILES.glob("schema-*.jsonl")), ids=lambda path: path.stem)
def test_kept_files_are_read_whole(path, desk, tmp_path):
    """Real files; what they say is read by hand here."""
    desk.put(tmp_path, path.name, path.read_text())
    store = read_store(tmp_path)
    assert verify(tmp_path).dropped == store.problems == []
    wanted = [line for line in map(json.loads, path.read_text().splitlines()) if line["type"] == "cell"]
    assert [record.hash for record in store.cells] == [line["hash"] for line in wanted]
    assert [record.metrics["accuracy"] for record in store.cells] == [70.19999999999999, 70.39999999999999, 69.6, 70.8]
    assert all(store.envs[record.env]["threads"] == 1 for record in store.cells)


def test_an_old_line_is_read_as_a_new_one_under_its_own_hash(step, desk):
    record = desk.record(seconds=2.5)
    text = aged(record)
    line = parse_line(text)
    assert isinstance(line, CellRecord)
    assert (line.seconds, line.version, line.hash) == (2.5, 1, json.loads(text)["hash"])
    assert line.model_copy(update={"hash": record.hash}) == record


def test_an_old_line_that_was_edited_is_found(step, desk):
    with pytest.raises(Exception, match="changed after it was written"):
        parse_line(aged(desk.record(seconds=2.5)).replace("2500", "2600"))


def test_old_and_new_lines_share_a_store_and_an_index(step, desk, tmp_path):
    desk.put(tmp_path, "r.jsonl", aged(desk.record("old", seconds=2.5)), desk.record("new"))
    build(tmp_path / "results")
    indexed, plain = read_store(tmp_path), read_store(tmp_path, index=False)
    assert [record.seconds for record in plain.cells] == [2.5, 1.0]
    assert indexed.cells == plain.cells


def test_steps_follow_one_another(monkeypatch):
    monkeypatch.setitem(migrations.STEPS, -1, lambda line: {**line, "trail": [-1]})
    monkeypatch.setitem(migrations.STEPS, 0, lambda line: {**line, "trail": [*line["trail"], 0]})
    given = {"schema": -1}
    assert migrations.migrated(given) == {"schema": 1, "trail": [-1, 0]}
    assert given == {"schema": -1}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (2, "schema 2 is newer than 1, the newest that this benchsuite reads: update it"),
        (0, "schema 0 is unknown"),
        ("1", "schema: it is no whole number"),
        (None, "schema: it is no whole number"),
    ],
)
def test_a_line_of_another_schema_costs_itself_alone(schema, why, desk, tmp_path):
    other = sealed({**json.loads(desk.record("c1").text()), "schema": schema})
    desk.put(tmp_path, "r.jsonl", other, desk.record("c2"))
    store = read_store(tmp_path)
    assert [record.cell for record in store.cells] == ["c2"]
    assert store.problems == [f"r.jsonl:1: it is no record: {why}"]
