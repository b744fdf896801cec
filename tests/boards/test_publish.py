"""Pages on disk: the same bytes from the same records, hand-written text kept, staleness found."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
from textwrap import dedent

import pytest

from benchsuite.boards import check_boards, write_boards
from benchsuite.boards.files import BEGIN, END, merged
from benchsuite.errors import StoreError
from benchsuite.store import read_store


def pages(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def out(tmp_path, scene, results):
    """A folder with the scene's records and boards."""
    results(tmp_path / "out", scene.records)
    write_boards(read_store(tmp_path / "out"), scene.catalogue, tmp_path / "out")
    return tmp_path / "out"


def test_writes_page_index_and_picture(tmp_path, scene):
    written = write_boards(scene.store, scene.catalogue, tmp_path / "new")
    assert [path.name for path in written] == ["quantizer.md", "README.md", "quantizer.svg"]
    index = (tmp_path / "new" / "README.md").read_text()
    assert "[Quantizers](quantizer.md)" in index
    assert "2026-01-02 03:04:02 UTC" in index


@pytest.mark.parametrize("seed", range(3))
def test_neither_order_nor_files_change_a_byte(tmp_path, scene, results, out, seed):
    rng = random.Random(seed)
    shuffled = rng.sample(scene.records, len(scene.records))
    cuts = sorted(rng.sample(range(1, len(shuffled)), 3))
    parts = [shuffled[a:b] for a, b in zip([0, *cuts], [*cuts, None], strict=True)]
    for name, part in zip(rng.sample("abcdefgh", len(parts)), parts, strict=True):
        results(tmp_path / "again", part, f"{name}/run-{name}" if rng.random() < 0.5 else name)
    cards = rng.sample(scene.cards, len(scene.cards))
    write_boards(read_store(tmp_path / "again"), scene.desk.catalogue(*cards), tmp_path / "again")
    assert pages(tmp_path / "again") == pages(out)


def test_another_process_with_another_locale_writes_the_same_bytes(tmp_path, scene, results):
    """Cards come from the suite alone here, so the methods have none: those pages must be as stable."""
    results(tmp_path, scene.records)
    script = """
        import sys
        from pathlib import Path
        from benchsuite.boards import write_boards
        from benchsuite.host import Catalogue
        from benchsuite.store import read_store
        write_boards(read_store(Path(sys.argv[1])), Catalogue(), Path(sys.argv[2]))
    """
    other = tmp_path / "other"
    surroundings = {"PYTHONHASHSEED": "7", "LC_ALL": "C", "TZ": "Asia/Tokyo", "COLUMNS": "20"}
    subprocess.run(
        [sys.executable, "-c", dedent(script), str(tmp_path), str(other)],
        check=True,
        env={**os.environ, **surroundings},
    )
    write_boards(read_store(tmp_path), scene.desk.catalogue(), tmp_path / "here")
    assert pages(other) == pages(tmp_path / "here")


def test_pages_name_no_folder_and_have_unix_line_ends(out):
    for name, content in pages(out).items():
        assert str(out).encode() not in content, name
        assert b"\r" not in content, name


def test_what_is_current_is_not_rewritten(out, scene):
    before = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    write_boards(read_store(out), scene.catalogue, out)
    assert {path.name: path.stat().st_mtime_ns for path in out.iterdir()} == before


def test_text_around_the_markers_survives(out, scene):
    path = out / "quantizer.md"
    path.write_text("# Mine\n\nBefore.\n\n" + path.read_text().partition("\n\n")[2] + "\nAfter.\n")
    scene.records.append(scene.desk.record(scene.task, scene.fine, 7, 80.0))
    write_boards(scene.store, scene.catalogue, out)
    text = path.read_text()
    assert text.startswith(f"# Mine\n\nBefore.\n\n{BEGIN}\n")
    assert text.endswith(f"{END}\n\nAfter.\n")
    assert "seeds 0-2, 7" in text
    assert check_boards(scene.store, scene.catalogue, out) == []


def test_a_page_without_markers_keeps_its_text(tmp_path, scene):
    (tmp_path / "README.md").write_bytes(b"# Results\r\n\r\nBy hand.\r\n")
    write_boards(scene.store, scene.catalogue, tmp_path)
    assert (tmp_path / "README.md").read_bytes().startswith(f"# Results\n\nBy hand.\n\n{BEGIN}\n".encode())


@pytest.mark.parametrize("text", [BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}{END}{BEGIN}{END}"])
def test_markers_that_are_no_pair_are_refused(tmp_path, scene, text):
    (tmp_path / "quantizer.md").write_text(text)
    with pytest.raises(StoreError, match=r"quantizer\.md: its BEGIN and END markers are no pair"):
        write_boards(scene.store, scene.catalogue, tmp_path)
    assert (tmp_path / "quantizer.md").read_text() == text


def test_merged_is_idempotent():
    once = merged("Before.\n", "T", "one\n")
    assert merged(once, "T", "one") == once
    assert merged(once, "T", "two") == once.replace("one", "two")


def test_check_is_silent_on_fresh_boards_and_writes_nothing(out, scene):
    before = pages(out)
    assert check_boards(read_store(out), scene.catalogue, out) == []
    assert pages(out) == before


def test_check_finds_a_new_record(out, scene):
    scene.records.append(scene.desk.record(scene.task, scene.fine, 7, 80.0))
    before = pages(out)
    assert check_boards(scene.store, scene.catalogue, out) == [
        f"{out / 'quantizer.md'} is stale or was edited by hand",
        f"{out / 'README.md'} is stale or was edited by hand",
        f"{out / 'quantizer.svg'} was drawn from other records",
    ]
    assert pages(out) == before


def test_check_finds_a_hand_edited_number(out, scene):
    path = out / "quantizer.md"
    path.write_text(path.read_text().replace("80.93", "81.93", 1))
    assert check_boards(scene.store, scene.catalogue, out) == [f"{path} is stale or was edited by hand"]


def test_check_finds_a_changed_card(out, scene):
    card = scene.desk.method("fine", departures=("Something else.",))
    catalogue = scene.desk.catalogue(scene.task, scene.fp32, card, scene.rough)
    assert check_boards(scene.store, catalogue, out) == [f"{out / 'quantizer.md'} is stale or was edited by hand"]


def test_check_finds_line_ends_that_an_editor_changed(out, scene):
    path = out / "quantizer.md"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert check_boards(scene.store, scene.catalogue, out) == [f"{path} is stale or was edited by hand"]


def test_check_finds_what_is_missing(out, scene):
    for name in ("README.md", "quantizer.svg"):
        (out / name).unlink()
    found = check_boards(scene.store, scene.catalogue, out)
    assert found == [f"{out / name} is missing" for name in ("README.md", "quantizer.svg")]


def test_without_records_nothing_is_written_and_old_boards_are_named(out, scene):
    empty = scene.desk.store()
    before = pages(out)
    assert write_boards(empty, scene.catalogue, out) == []
    assert pages(out) == before
    assert check_boards(empty, scene.catalogue, out) == [
        f"{out / name} has no records behind it: delete it" for name in ("quantizer.md", "README.md")
    ]


def test_one_kind_alone(tmp_path, scene):
    probe = scene.desk.method("look", bits=False, kind="probe")
    task = scene.desk.task("look-at", factors=("probe",), reference={})
    store = scene.desk.store(scene.records, scene.desk.runs(task, probe, [1.0]))
    catalogue = scene.desk.catalogue(*scene.cards, task, probe)
    written = write_boards(store, catalogue, tmp_path, ("probe",))
    # A probe has no reference: nothing to draw.
    assert [path.name for path in written] == ["probe.md", "README.md"]
    assert "[Quantizers](quantizer.md)" in (tmp_path / "README.md").read_text()
    assert check_boards(store, catalogue, tmp_path, ("probe",)) == []
    assert f"{tmp_path / 'quantizer.md'} is missing" in check_boards(store, catalogue, tmp_path)


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path, scene):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"the board .*quantizer\.md cannot be written: Not a directory"):
        write_boards(scene.store, scene.catalogue, tmp_path / "file" / "out")


def test_a_write_that_stops_half_way_leaves_the_old_page_and_nothing_else(out, scene):
    before = pages(out)
    scene.records.append(scene.desk.record(scene.task, scene.fine, 7, 80.0))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(StoreError, match=r"quantizer\.md cannot be written: File too large"):
            write_boards(scene.store, scene.catalogue, out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert pages(out) == before


def test_a_page_that_is_no_text_is_one_line(tmp_path, scene):
    (tmp_path / "quantizer.md").write_bytes(b"\xff\xfe")
    with pytest.raises(StoreError, match=r"quantizer\.md is no UTF-8 text"):
        write_boards(scene.store, scene.catalogue, tmp_path)
