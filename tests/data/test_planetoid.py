"""Planetoid's files: every layout, and every way in which a folder can be wrong."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from benchsuite.data.planetoid import FACTS, file_names, folders, read_planetoid
from benchsuite.data.validate import problems
from benchsuite.errors import MissingDataError

FLAT = ("planetoid", "Planetoid", ".")
PYG = ("Tiny/raw", "tiny/raw", "Planetoid/Tiny/raw", "planetoid/Tiny/raw", "Tiny/Tiny/raw", "Planetoid/tiny/raw")
PARTS = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")


def refusal(tiny) -> str:
    with pytest.raises(MissingDataError) as caught:
        read_planetoid(tiny.facts, tiny.root)
    line = str(caught.value)
    assert "\n" not in line
    assert "benchsuite data fetch tiny" in line
    return caught.value.message


class TestContent:
    @pytest.fixture
    def dataset(self, tiny):
        tiny.write()
        return read_planetoid(tiny.facts, tiny.root)

    def test_is_valid(self, dataset):
        assert problems(dataset) == []

    def test_splits(self, dataset):
        assert dataset.train.nonzero().flatten().tolist() == [0, 1, 2]
        assert dataset.val.nonzero().flatten().tolist() == [3, 4, 5, 6]
        assert dataset.test.nonzero().flatten().tolist() == [9, 10, 12, 13]

    def test_rows_of_tx_go_where_test_index_says(self, dataset):
        # test.index is 12, 9, 13, 10 and the rows of tx are unit vectors 0 to 3; node 11 is in no file
        unit = np.eye(6).tolist()
        assert dataset.graph.x[9:].tolist() == [unit[1], unit[3], [0.0] * 6, unit[0], unit[2]]
        assert dataset.y[9:].tolist() == [1, 2, 0, 2, 0]

    def test_rows_sum_to_one(self, dataset):
        sums = dataset.graph.x.sum(1)
        assert sums[:9].tolist() == pytest.approx([1.0] * 9)
        assert sums[11] == 0

    def test_edges_go_both_ways_once(self, dataset):
        wanted = {(node, node + 1) for node in range(9)} | {(0, 5), (9, 8), (9, 10), (12, 13), (13, 0)}
        wanted |= {(b, a) for a, b in wanted}
        found = list(map(tuple, dataset.graph.edge_index.T.tolist()))
        assert set(found) == wanted
        assert found == sorted(wanted, key=lambda edge: (edge[1], edge[0]))


class TestLayouts:
    @pytest.mark.parametrize("folder", [*FLAT, *PYG])
    def test_is_read(self, folder, tiny):
        tiny.write()
        wanted = read_planetoid(tiny.facts, tiny.root).content_hash()
        for file in (tiny.root / "planetoid").iterdir():
            file.unlink()
        tiny.write(folder)
        assert read_planetoid(tiny.facts, tiny.root).content_hash() == wanted

    def test_a_whole_folder_is_taken_before_one_with_holes(self, tiny):
        tiny.write("Planetoid/Tiny/raw", without=("graph",))
        tiny.write("planetoid")
        assert problems(read_planetoid(tiny.facts, tiny.root)) == []

    def test_the_folder_that_fetch_fills_comes_first(self, tiny):
        assert next(iter(folders(tiny.facts, tiny.root))) == tiny.root / "Planetoid" / "Tiny" / "raw"

    def test_windows_line_ends_in_test_index(self, tiny):
        tiny.values["test.index"] = "12\r\n9\r\n13\r\n10\r\n"
        tiny.write()
        assert read_planetoid(tiny.facts, tiny.root).test.sum() == 4


class TestNothingThere:
    @pytest.mark.parametrize("name", FACTS)
    def test_no_variable(self, name):
        with pytest.raises(MissingDataError) as caught:
            read_planetoid(FACTS[name], None)
        assert str(caught.value) == (
            f"data set '{name}' needs files, and BENCHSUITE_DATA is not set. Set BENCHSUITE_DATA to a folder and run: "
            f"benchsuite data fetch {name} (or put ind.{name}.* into its planetoid/)"
        )

    def test_no_folder(self, tiny):
        assert refusal(tiny) == f"data set 'tiny' needs files, and BENCHSUITE_DATA names no folder: {tiny.root}"

    def test_a_file_in_place_of_the_folder(self, tiny):
        tiny.root.write_text("")
        assert "names no folder" in refusal(tiny)

    def test_an_empty_folder(self, tiny):
        tiny.root.mkdir()
        assert refusal(tiny) == f"data set 'tiny': {tiny.root} is empty"

    def test_a_folder_with_other_things(self, tiny):
        tiny.write()
        with pytest.raises(MissingDataError, match=r"has no ind\.cora\.\* in any known layout"):
            read_planetoid(FACTS["cora"], tiny.root)

    @pytest.mark.parametrize("part", PARTS)
    def test_one_file_missing(self, part, tiny):
        folder = tiny.write(without=(part,))
        assert refusal(tiny) == f"data set 'tiny': {folder} lacks ind.tiny.{part}"

    def test_a_folder_in_place_of_a_file(self, tiny):
        (tiny.write(without=("y",)) / "ind.tiny.y").mkdir()
        assert "lacks ind.tiny.y" in refusal(tiny)

    def test_a_folder_that_may_not_be_entered(self, tiny, monkeypatch):
        tiny.write()

        def forbidden(self):
            raise PermissionError(13, "Permission denied", str(self))

        monkeypatch.setattr("pathlib.Path.is_file", forbidden)
        assert refusal(tiny) == f"data set 'tiny': {tiny.root} cannot be searched (Permission denied)"


class TestDamaged:
    @pytest.mark.parametrize("part", PARTS)
    def test_empty(self, part, tiny):
        (tiny.write() / f"ind.tiny.{part}").write_bytes(b"")
        assert f"ind.tiny.{part} " in refusal(tiny)

    @pytest.mark.parametrize("part", PARTS)
    def test_cut_off_anywhere(self, part, tiny):
        file = tiny.write() / f"ind.tiny.{part}"
        whole = file.read_bytes()
        ends = range(1, len(whole) - 2) if len(whole) < 40 else range(1, len(whole), len(whole) // 12)
        for end in ends:
            file.write_bytes(whole[:end])
            assert f"ind.tiny.{part} " in refusal(tiny), end

    @pytest.mark.parametrize("part", PARTS)
    def test_a_web_page_in_place_of_a_file(self, part, tiny):
        (tiny.write() / f"ind.tiny.{part}").write_bytes(b"<!DOCTYPE html>\n<html>not found</html>\n")
        assert f"ind.tiny.{part} " in refusal(tiny)

    @pytest.mark.parametrize("part", PARTS[:-1])
    def test_saved_anew_by_python_3(self, part, tiny):
        (tiny.write() / f"ind.tiny.{part}").write_bytes(pickle.dumps(tiny.values[part]))
        assert f"ind.tiny.{part} is refused" in refusal(tiny)


class TestForeign:
    @pytest.mark.parametrize(
        ("fact", "value", "said"),
        [
            ("nodes", 15, "ind.tiny.test.index has 13 as its last id in place of 14"),
            ("edges", 30, "ind.tiny.graph has 26 edges in place of 30"),
            ("features", 7, "ind.tiny.x has 6 columns in place of 7"),
            ("classes", 4, "ind.tiny.y has 3 columns in place of 4"),
            ("train", 2, "ind.tiny.x has 3 rows in place of 2"),
            ("test", 5, "ind.tiny.test.index has 4 different ids in place of 5"),
        ],
    )
    def test_other_counts(self, fact, value, said, tiny):
        tiny.facts = dataclasses.replace(tiny.facts, **{fact: value})
        tiny.write()
        assert f"{said}: damaged, or another data set than 'tiny'" in refusal(tiny)

    def test_another_matrix_of_the_same_shape(self, tiny):
        other = tiny.values["allx"].toarray()
        other[0] = 1 - other[0]
        tiny.values["allx"] = csr_matrix(other)
        tiny.write()
        assert "ind.tiny.allx does not begin with the rows of ind.tiny.x" in refusal(tiny)

    def test_other_labels_of_the_same_shape(self, tiny):
        tiny.values["ally"] = tiny.values["ally"][::-1].copy()
        tiny.write()
        assert "does not begin with the rows" in refusal(tiny)

    @pytest.mark.parametrize("row", [[0, 0, 0], [1, 1, 0], [2, -1, 0]])
    def test_a_label_that_is_not_one_class(self, row, tiny):
        labels = tiny.values["ty"].copy()
        labels[1] = row
        tiny.values["ty"] = labels
        tiny.write()
        assert "ind.tiny.ty has a row that does not name exactly one class" in refusal(tiny)

    def test_labels_in_one_column(self, tiny):
        tiny.values["y"] = np.arange(3, dtype=np.int32)
        tiny.write()
        assert "ind.tiny.y is no table of labels" in refusal(tiny)

    @pytest.mark.parametrize(
        ("index", "said"),
        [
            ("9 9 13 10", "has 3 different ids in place of 4"),
            ("9 12 13 10 9", "has 5 ids in place of 4"),
            ("2 9 12 13", "names node 2, which trains or validates"),
            ("-1 9 12 13", "names node -1, which trains or validates"),
            ("9 10 12 99999999999999999999", "is no list of numbers"),
            ("9 10 twelve 13", "is no list of numbers"),
            ("9 10 12 13.0", "is no list of numbers"),
        ],
    )
    def test_test_index(self, index, said, tiny):
        tiny.values["test.index"] = index
        tiny.write()
        assert f"ind.tiny.test.index {said}" in refusal(tiny)

    @pytest.mark.parametrize("node", [-1, 14])
    def test_a_neighbour_that_does_not_exist(self, node, tiny):
        tiny.values["graph"][3] = [node]
        tiny.write()
        assert "ind.tiny.graph names nodes outside 0 to 13" in refusal(tiny)

    def test_a_node_that_does_not_exist(self, tiny):
        tiny.values["graph"][20] = [1]
        tiny.write()
        assert "ind.tiny.graph names nodes outside 0 to 13" in refusal(tiny)

    def test_not_a_number_among_the_features(self, tiny):
        bad = tiny.values["tx"].copy()
        bad.data[0] = np.nan
        tiny.values["tx"] = bad
        tiny.write()
        assert problems(read_planetoid(tiny.facts, tiny.root))[0].startswith("x[12, ")


def test_facts_name_the_files_as_upstream_does():
    assert file_names(FACTS["cora"]) == tuple(f"ind.cora.{part}" for part in PARTS)
    assert torch.tensor([facts.classes * 20 == facts.train for facts in FACTS.values()]).all()
