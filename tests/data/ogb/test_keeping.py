"""The parsed copy: mapped, keyed by what the raw files hold, and made again where it is damaged."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from benchsuite.data.ogb import assembly
from benchsuite.data.ogb.readers import parsed, read_graphs
from benchsuite.errors import MissingDataError, StoreError


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("BENCHSUITE_CACHE", str(folder))
    return folder / "ogb"


def copies(cache) -> list:
    return sorted(cache.glob("*.safetensors"))


@pytest.fixture
def made(specimen, cache):
    found = specimen("ogbg-moltox21")
    found.csv()
    return found


def test_the_second_read_parses_nothing(made, cache, monkeypatch):
    first = read_graphs(made.facts, made.root)
    monkeypatch.setattr(assembly, "read_raw", None)
    second = read_graphs(made.facts, made.root)
    assert second.content_hash() == first.content_hash()
    assert len(copies(cache)) == 1
    assert [path.name for path in cache.iterdir() if path.name.startswith(".")] == []


def test_the_copy_is_mapped_and_not_written_to(made, cache):
    x = read_graphs(made.facts, made.root).graph.x
    maps = Path("/proc/self/maps")
    if maps.exists():
        assert str(copies(cache)[0]) in maps.read_text()
    before = copies(cache)[0].read_bytes()
    x += 1
    assert copies(cache)[0].read_bytes() == before


@pytest.mark.parametrize("file", ["raw/node-feat", "raw/edge-feat", "raw/graph-label", "split/scaffold/test"])
def test_other_contents_of_the_same_size_make_another_copy(file, made, cache):
    before = read_graphs(made.facts, made.root).content_hash()
    lines = made.tables()[file].splitlines()
    made.texts[file] = "\n".join([lines[1], lines[0], *lines[2:]]) + "\n"
    assert lines[0] != lines[1]
    made.csv()
    after = read_graphs(made.facts, made.root).content_hash()
    assert (after == before) == (file == "split/scaffold/test")  # the order within a part means nothing
    assert len(copies(cache)) == 2


@pytest.mark.parametrize("place", [0, 40, -1])
def test_a_damaged_copy_is_made_again(place, made, cache):
    before = read_graphs(made.facts, made.root).content_hash()
    (path,) = copies(cache)
    payload = bytearray(path.read_bytes())
    payload[place] ^= 0x01
    path.write_bytes(payload)
    assert read_graphs(made.facts, made.root).content_hash() == before
    path.write_bytes(payload[: len(payload) // 2])
    assert read_graphs(made.facts, made.root).content_hash() == before


def test_a_copy_by_other_code_is_not_taken(made, cache, monkeypatch):
    read_graphs(made.facts, made.root)
    monkeypatch.setattr("benchsuite.data.ogb.readers.CODE", "another")
    read_graphs(made.facts, made.root)
    assert len(copies(cache)) == 2


def test_readers_at_once_parse_once(made, cache, monkeypatch):
    calls = []
    parse = assembly.read_raw
    monkeypatch.setattr(assembly, "read_raw", lambda folder: calls.append(folder) or parse(folder))
    with ThreadPoolExecutor(4) as pool:
        hashes = {future.result().content_hash() for future in [pool.submit(read_graphs, made.facts, made.root)] * 4}
        hashes |= {
            dataset.content_hash() for dataset in pool.map(lambda _: read_graphs(made.facts, made.root), range(4))
        }
    assert len(hashes) == 1
    assert len(calls) == 1


def test_a_refused_data_set_leaves_no_copy(made, cache):
    made.texts["raw/edge"] = "0,0\n"
    made.csv()
    with pytest.raises(MissingDataError):
        read_graphs(made.facts, made.root)
    assert copies(cache) == []


def test_a_cache_that_cannot_be_written(made, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BENCHSUITE_CACHE", str(tmp_path / "file"))
    with pytest.raises(StoreError, match=r"cannot be written: .*\. Name another one in BENCHSUITE_CACHE"):
        read_graphs(made.facts, made.root)


def test_a_raw_file_that_cannot_be_read_is_no_fault_of_the_cache(made, monkeypatch):
    path = made.root / made.facts.folder / "raw/edge.csv.gz"
    parse = assembly.read_raw
    monkeypatch.setattr(assembly, "read_raw", lambda folder: path.unlink() or parse(folder))  # once hashed
    with pytest.raises(MissingDataError, match=r"has no raw/edge\.csv\.gz"):
        read_graphs(made.facts, made.root)


def test_what_fails_to_be_written_leaves_nothing_behind(made, cache, monkeypatch):
    def full(tensors: object, path: Path, notes: object) -> None:
        path.write_bytes(b"a part")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    with pytest.raises(StoreError, match="No space left on device"):
        read_graphs(made.facts, made.root)
    assert [path.name for path in cache.iterdir() if path.suffix != ".lock"] == []
    monkeypatch.undo()
    monkeypatch.setenv("BENCHSUITE_CACHE", str(cache.parent))
    assert read_graphs(made.facts, made.root).num_graphs == 30


def test_notes_come_along(made, cache):
    first, second = parsed(made.facts, made.root), parsed(made.facts, made.root)
    assert first.notes == second.notes == {"self_loops": "0", "duplicates": "0"}
    assert all(torch.equal(first.tensors[name], second.tensors[name]) for name in ("x", "edge_index", "batch"))
