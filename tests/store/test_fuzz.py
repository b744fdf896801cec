"""Damaged run files: nothing is raised, no row is wrong, and whatever is left out is reported."""

from __future__ import annotations

import json
import random

import pytest

from benchsuite.store import read_store
from benchsuite.store.index import build
from benchsuite.store.records import VoidLine
from benchsuite.store.verify import verify

NAMES = ("a.jsonl", "b.jsonl", "sub/c.jsonl")


def truncate(rng, data, others):
    return data[: rng.randrange(len(data) + 1)]


def flip(rng, data, others):
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def overwrite(rng, data, others):
    at, size = rng.randrange(len(data)), rng.randrange(1, 40)
    return data[:at] + rng.randbytes(size) + data[at + size :]


def splice(rng, data, others):
    """Cut a piece out, and put a piece of this or another file in."""
    source = rng.choice([data, *others])
    start, end = sorted(rng.randrange(len(source) + 1) for _ in range(2))
    left, right = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:left] + source[start:end] + data[right:]


def duplicate(rng, data, others):
    lines = data.splitlines(keepends=True)
    return b"".join([*lines, *rng.choices(lines, k=rng.randrange(1, 4))])


def reorder(rng, data, others):
    lines = data.splitlines(keepends=True)
    rng.shuffle(lines)
    return b"".join(lines)


def digits(rng, data, others):
    """Change one digit: the damage that JSON itself cannot show."""
    at = rng.choice([i for i, byte in enumerate(data) if chr(byte).isdigit()])
    return data[:at] + str(rng.randrange(10)).encode() + data[at + 1 :]


MUTATIONS = (truncate, flip, overwrite, splice, duplicate, reorder, digits)


class Original:
    """A small sound store, and what is in it as plain JSON."""

    def __init__(self, desk, folder) -> None:
        lines = {name: desk.run(f"run-{name[-7]}", cells=3) for name in NAMES}
        gone = lines["a.jsonl"][3]
        lines["b.jsonl"].append(VoidLine(record=gone.hash, reason="wrong data", author="me", at="2026"))
        self.out = folder
        self.files = {desk.put(folder, name, *own): None for name, own in lines.items()}
        self.files = {path: path.read_bytes() for path in self.files}
        self.lines = {line for data in self.files.values() for line in data.split(b"\n") if line}
        cells = [line for line in map(json.loads, self.lines) if line["type"] == "cell"]
        self.rows = {cell["hash"]: cell for cell in cells}
        self.gone = gone.hash

    def damage(self, rng):
        """Return the files after one to three mutations; those that changed are written."""
        now = dict(self.files)
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            path = rng.choice(list(now))
            if now[path]:
                now[path] = rng.choice(MUTATIONS)(rng, now[path], [d for p, d in self.files.items() if p != path])
        for path, data in now.items():
            if data != self.files[path] or path.read_bytes() != data:
                path.write_bytes(data)
        return now


def check(original, now, store):
    """Hold a store against files that were read without any of the suite's code."""
    rows = {record.hash: json.loads(record.model_dump_json(by_alias=True)) for record in store.cells}
    assert len(rows) == len(store.cells)
    assert all(original.rows.get(mark) == row for mark, row in rows.items())
    lines = [(path, n, line) for path, data in now.items() for n, line in enumerate(data.split(b"\n"), start=1)]
    intact = {json.loads(line)["hash"] for _, _, line in lines if line in original.lines}
    withdrawn = (
        {original.gone} if any(b'"type":"void"' in line for _, _, line in lines if line in original.lines) else set()
    )
    assert (intact & original.rows.keys()) - withdrawn <= rows.keys()
    reported = {problem.partition(": ")[0] for problem in store.problems}
    results = original.out / "results"
    for path, number, line in lines:
        where = f"{path.relative_to(results).as_posix()}:{number}"
        if line in original.lines:
            assert where not in reported
        elif line.strip() and where not in reported:
            # It says the same in other words, such as 1E-05 for 1e-05.
            assert json.loads(line) in map(json.loads, original.lines)


@pytest.mark.parametrize("rounds", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_damaged_files_give_no_exception_and_no_wrong_row(rounds, desk, tmp_path):
    original = Original(desk, tmp_path)
    dropped = 0
    for seed in range(rounds):
        now = original.damage(random.Random(seed))
        store = read_store(tmp_path, index=False)
        check(original, now, store)
        dropped += len(store.problems)
    assert dropped > rounds / 2  # or the damage was none


@pytest.mark.parametrize("rounds", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_the_index_follows_any_damage(rounds, desk, tmp_path):
    original = Original(desk, tmp_path)
    build(tmp_path / "results")
    for seed in range(rounds):
        original.damage(random.Random(seed))
        indexed, plain = read_store(tmp_path), read_store(tmp_path, index=False)
        assert (indexed.cells, indexed.problems, indexed.envs) == (plain.cells, plain.problems, plain.envs), seed
        assert (indexed.files, indexed.withdrawn) == (plain.files, plain.withdrawn)


def test_verify_reports_what_the_reader_drops(desk, tmp_path):
    original = Original(desk, tmp_path)
    for seed in range(40):
        original.damage(random.Random(seed))
        report, store = verify(tmp_path), read_store(tmp_path)
        assert report.dropped == store.problems
        assert report.counted == len(store.cells)


def test_a_torn_tail_never_eats_the_next_line(desk, tmp_path):
    """Whatever a crash leaves of the last line, lines that follow it after a newline are read."""
    first, second = desk.record("c1").text().encode(), desk.record("c2").text().encode()
    path = desk.put(tmp_path, "r.jsonl")
    for cut in range(len(first)):
        path.write_bytes(first[:cut] + b"\n" + second)
        kept = [record.cell for record in read_store(tmp_path).cells]
        assert kept == (["c1", "c2"] if cut == len(first) - 1 else ["c2"])
