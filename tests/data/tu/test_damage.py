"""Damaged, foreign and hostile files: one line that names the file and what is wrong."""

from __future__ import annotations

import dataclasses
import zipfile

import pytest

from benchsuite.data import bounded
from benchsuite.data.tu import readers
from benchsuite.data.tu.readers import archive_folds, read_tu
from benchsuite.errors import MissingDataError


def refused(tiny, root=None) -> str:
    with pytest.raises(MissingDataError) as caught:
        read_tu(tiny.facts, root or tiny.root)
    line = str(caught.value)
    assert "\n" not in line
    return line


GIN = [
    ("1 7", "does not begin with the number of graphs"),
    ("1\n2 0\n0 1 1\n", "claims 2 nodes in line 2, and 1 lines are left"),
    ("1\n999999999999 0\n0 1 1\n", "claims 999,999,999,999 nodes in line 2"),
    ("1\n-1 0\n0 0\n", "claims -1 nodes in line 2"),
    ("2\n1 0\n0 0\n", "claims 2 graphs and holds 1"),
    ("0\n", "claims 0 graphs and holds 0"),
    ("1\n2 0\n0 1 1\n0 1 2\n", "names node 2 in line 4, and that graph has nodes 0 to 1"),
    ("1\n2 0\n0 1 1\n0 1 -1\n", "names node -1 in line 4"),
    ("1\n2 0\n0 1 1\n0 3 0\n", "claims 3 neighbours in line 4 and holds 1"),
    ("1\n2 0\n0 1 1\n0\n", "has one number in line 4"),
    ("1\n1 0\n0 0\n3\n", "has 1 numbers in line 4, where a graph should begin"),
    ("1\n1 0\n0 0.5\n", "holds something that is no whole number"),
    ("1\n1 0\n0 0 \x00\n", "holds something that is no whole number"),
    ("", "does not begin with the number of graphs"),
]


@pytest.mark.parametrize(("text", "said"), GIN)
def test_text_in_gins_form(tiny, text, said):
    folder = tiny.folder("gin", "tu/TINYSET")
    (folder / "TINYSET.txt").write_text(text)
    assert f"TINYSET.txt in {folder} {said}" in refused(tiny)


RAW = [
    ("A", "1, 2\n2, 95\n", "names node 95, and the nodes are 1 to 94"),
    ("A", "0, 2\n", "names node 0"),
    ("A", "1, 2, 3\n", "has 3 numbers in a line in place of 2"),
    ("A", "1, 2\n2\n", "has 1 numbers in line 2 and 2 before"),
    ("A", "1, 3\n", "joins nodes 1 and 3 of two graphs"),
    ("A", "1, two\n", "holds something that is no whole number"),
    ("graph_indicator", "2\n1\n", "is not ascending"),
    ("graph_indicator", "1\n25\n", "names graphs outside 1 to 24"),
    ("graph_indicator", "0\n1\n", "names graphs outside 1 to 24"),
    ("graph_indicator", "1\n3\n24\n", "gives graph 2 no node"),
    ("graph_indicator", "", "names graphs outside"),
    ("node_labels", "1\n2\n", "has 2 lines for 94 nodes"),
]


@pytest.mark.parametrize(("part", "text", "said"), RAW)
def test_text_in_tudatasets_form(tiny, part, text, said):
    folder = tiny.folder("raw", "TINY-SET/raw")
    (folder / f"TINY-SET_{part}.txt").write_text(text)
    assert f"TINY-SET_{part}.txt in {folder} {said}" in refused(tiny)


def test_an_edge_in_one_direction(tiny):
    path = tiny.folder("raw", "TINY-SET/raw") / "TINY-SET_A.txt"
    path.write_text("1, 2\n2, 1\n3, 4\n")
    assert "has an edge between nodes 2 and 3 (of all graphs, from 0) in one direction only" in refused(tiny)


@pytest.mark.parametrize(("what", "said"), [("graphs", "24 graphs"), ("nodes", "94 nodes"), ("classes", "2 classes")])
def test_another_collection(tiny, what, said):
    tiny.zip("gin", "tu/TINYSET.zip")
    tiny.facts = dataclasses.replace(tiny.facts, **{what: 7})
    assert f"TINYSET.zip has {said} in place of 7: another data set than 'tiny-set'" in refused(tiny)


def test_no_folder_no_files(tiny, tmp_path):
    with pytest.raises(
        MissingDataError, match=r"is not set\. Set BENCHSUITE_DATA to a folder and run: benchsuite data fe"
    ):
        read_tu(tiny.facts, None)
    assert "BENCHSUITE_DATA names no folder" in refused(tiny, tmp_path / "none")
    assert f"{tmp_path} has no TINY-SET.zip or folder in any known layout. Run: " in refused(tiny, tmp_path)


def test_a_zip_with_other_files(tiny):
    tiny.root.mkdir()
    with zipfile.ZipFile(tiny.root / "TINYSET.zip", "w") as archive:
        archive.writestr("README", "hello")
    assert "holds no TINY-SET.txt, and no TINY-SET_A.txt" in refused(tiny)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_zip_that_is_cut_off(tiny, share):
    path = tiny.zip("gin", "tu/TINYSET.zip")
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    assert f"{path} is no whole zip" in refused(tiny)


def test_a_zip_with_a_flipped_byte(tiny):
    path = tiny.zip("gin", "tu/TINYSET.zip")
    payload = bytearray(path.read_bytes())
    payload[100] ^= 0xFF
    path.write_bytes(payload)
    assert f"TINYSET/TINYSET.txt in {path} cannot be read" in refused(tiny)


@pytest.mark.parametrize("name", ["../TINYSET.txt", "/etc/x", "a/../../x", "C:x", "a\\b"])
def test_a_name_that_leads_out(tiny, name):
    tiny.zip("gin", "tu/TINYSET.zip", {name: "0"})
    assert f"holds {name!r}, which leads out of it. Do not trust this archive" in refused(tiny)


def test_a_bomb_is_not_unpacked(tiny, monkeypatch):
    """The size is read from the directory of the zip, before one byte is unpacked."""
    tiny.zip("gin", "tu/TINYSET.zip", {"TINYSET/TINYSET.txt": "0 " * 5000})
    monkeypatch.setattr(readers, "LIMIT", 9999)
    monkeypatch.setattr(zipfile.ZipFile, "read", None)
    assert "has 10,000 bytes, and 9,999 are allowed. Do not trust this archive" in refused(tiny)


def test_a_member_longer_than_it_says(tiny):
    path = tiny.zip("gin", "tu/TINYSET.zip")
    payload = path.read_bytes()
    size = len(tiny.gin()).to_bytes(4, "little")
    assert payload.count(size) >= 2
    path.write_bytes(payload.replace(size, (10).to_bytes(4, "little")))
    assert f"TINYSET/TINYSET.txt in {path} cannot be read" in refused(tiny)


def test_an_archive_of_a_hundred_thousand_files(tiny, monkeypatch):
    tiny.zip("gin", "tu/TINYSET.zip", {"a": "", "b": ""})
    monkeypatch.setattr(bounded, "_MEMBERS", 2)
    assert "TINYSET.zip holds 3 files" in refused(tiny)


def folds(graphs: int = 24) -> dict[str, str]:
    files = {}
    for k in range(10):
        test = [graph for graph in range(graphs) if graph % 10 == k]
        for part, members in (("test", test), ("train", [g for g in range(graphs) if g not in test])):
            files[f"TINYSET/10fold_idx/{part}_idx-{k + 1}.txt"] = "\n".join(map(str, members))
    return files


def test_folds_of_an_archive(tiny):
    tiny.zip("gin", "tu/TINYSET.zip", folds())
    found = archive_folds(tiny.facts, tiny.root)
    assert found[3].test.nonzero().flatten().tolist() == [3, 13, 23]
    assert found[3].val.nonzero().flatten().tolist() == [2, 12, 22]
    assert int(found[3].train.sum()) == 18


FOLDS = [
    ({"test_idx-1": "0\n10\n20\n1"}, "fold 1 does not name each of the 24 graphs once"),
    ({"train_idx-2": "0"}, "fold 2 does not name each of the 24 graphs once"),
    (
        {"test_idx-1": "10\n20", "train_idx-1": "\n".join(str(g) for g in range(24) if g not in (10, 20))},
        "graph 0 is tested 0 times over the folds, not once",
    ),
    ({"test_idx-1": "zero"}, "holds something that is no whole number"),
]


@pytest.mark.parametrize(("changes", "said"), FOLDS)
def test_folds_that_are_wrong(tiny, changes, said):
    changed = {f"TINYSET/10fold_idx/{name}.txt": text for name, text in changes.items()}
    tiny.zip("gin", "tu/TINYSET.zip", folds() | changed)
    with pytest.raises(MissingDataError) as caught:
        archive_folds(tiny.facts, tiny.root)
    assert said in str(caught.value)


def test_an_archive_without_folds(tiny):
    tiny.zip("gin", "tu/TINYSET.zip")
    with pytest.raises(MissingDataError, match=r"has no file 10fold_idx/train_idx-1\.txt"):
        archive_folds(tiny.facts, tiny.root)


def test_too_few_graphs_for_ten_folds(tiny):
    tiny.labels = [0] * 15 + [1] * 9
    tiny.zip("gin", "tu/TINYSET.zip")
    assert "a class has 9 graphs, and ten folds need ten of each" in refused(tiny)
