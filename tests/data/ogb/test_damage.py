"""Files that are damaged, hostile or another data set's give one line that names the file, the place and the mend."""

from __future__ import annotations

import gzip
import zipfile

import numpy as np
import pytest

from benchsuite.data.ogb import tables
from benchsuite.data.ogb.folder import find
from benchsuite.data.ogb.readers import read_graphs, read_nodes
from benchsuite.errors import MissingDataError


def refused(made, root=None) -> str:
    """Return the one line that a data set is refused with."""
    with pytest.raises(MissingDataError) as caught:
        (read_graphs if made.facts.of_graphs else read_nodes)(made.facts, root or made.root)
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_no_data_folder(specimen, tmp_path):
    facts = specimen("ogbg-molhiv").facts
    with pytest.raises(
        MissingDataError,
        match=r"'ogbg-molhiv' needs files, and BENCHSUITE_DATA is not set\. Set BENCHSUITE_DATA to a folder and run: "
        r"benchsuite data fetch ogbg-molhiv, or benchsuite data import hiv\.zip",
    ):
        read_graphs(facts, None)
    with pytest.raises(MissingDataError, match="BENCHSUITE_DATA names no folder: "):
        read_graphs(facts, tmp_path / "none")


def test_no_folder_of_its_own(specimen):
    made = specimen("ogbn-arxiv")
    (made.root / "ogbn_arxiv").mkdir()  # empty: as good as none
    line = refused(made)
    assert f"{made.root} has no folder ogbn_arxiv, ogb/ogbn_arxiv, dataset/ogbn_arxiv" in line
    assert "Run: benchsuite data fetch ogbn-arxiv, or benchsuite data import arxiv.zip (OGB's archive)" in line
    assert line.endswith(f"or put its folder arxiv there as {made.root / 'ogbn_arxiv'}")


TABLES = ["edge", "node-feat", "edge-feat", "num-node-list", "num-edge-list", "graph-label"]
FILES = [*(f"raw/{table}" for table in TABLES), *(f"split/scaffold/{part}" for part in ("train", "valid", "test"))]


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_is_missing(file, specimen):
    made = specimen("ogbg-moltox21")
    folder = made.csv(without=(file,))
    assert f"data set 'ogbg-moltox21': {folder} has no {file}.csv.gz. " in refused(made)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_a_gzip_that_is_cut_off(file, share, specimen):
    made = specimen("ogbg-moltox21")
    path = made.csv() / f"{file}.csv.gz"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    line = refused(made)
    assert f"{path} " in line
    assert "damaged, or another data set than 'ogbg-moltox21'. Replace it: " in line


@pytest.mark.parametrize("file", FILES)
def test_a_gzip_with_a_flipped_byte(file, specimen):
    """Its checksum is read to the end: no wrong number comes through."""
    made = specimen("ogbg-moltox21", graphs=200)
    path = made.csv() / f"{file}.csv.gz"
    payload = bytearray(path.read_bytes())
    payload[len(payload) // 2] ^= 0x10
    path.write_bytes(payload)
    assert str(path) in refused(made)


def test_a_gzip_that_is_none(specimen):
    made = specimen("ogbg-moltox21")
    path = made.csv() / "raw/edge.csv.gz"
    path.write_bytes(b"<html>Not Found</html>")
    assert f"{path} cannot be read: Not a gzipped file" in refused(made)


ODD = [
    ("raw/edge", "3,x", "has 'x' in line 2, which is no whole number"),
    ("raw/edge", "3,1.5", "has '1.5' in line 2, which is no whole number"),
    ("raw/edge", "3,99999999999999999999", "has '99999999999999999999' in line 2, which is no whole number"),
    ("raw/edge", "3,inf", "has 'inf' in line 2, which is no whole number"),
    ("raw/edge", "3", "has 1 columns in place of 2 in line 2"),
    ("raw/edge", "3,4,5", "has 3 columns in place of 2 in line 2"),
    ("raw/edge", "", "has 1 columns in place of 2 in line 2"),
    ("raw/node-feat", "a,0,0,0,0,0,0,0,0", "has 'a' in line 2, which is no whole number"),
    ("raw/node-feat", "0,,0,0,0,0,0,0,0", "has '' in line 2, which is no whole number"),
    ("raw/node-feat", "0,nan,0,0,0,0,0,0,0", "has 'nan' in line 2, which is no whole number"),
    ("raw/num-node-list", "two", "has 'two' in line 2, which is no whole number"),
    ("raw/graph-label", "0,1", "has 2 columns in place of 12 in line 2"),
    ("raw/graph-label", "yes,,,,,,,,,,,", "has 'yes' in line 2, which is no number"),
    ("split/scaffold/valid", "\u2460", "has '\u2460' in line 2, which is no whole number"),
]


@pytest.mark.parametrize(("file", "text", "said"), ODD)
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_a_line_that_is_odd(file, text, said, suffix, specimen):
    made = specimen("ogbg-moltox21")
    lines = made.tables()[file].splitlines()
    lines[1] = text
    made.texts[file] = "\n".join(lines) + "\n"
    path = made.csv(suffix=suffix) / f"{file}{suffix}"
    assert f"{path} {said}: damaged" in refused(made)


def test_an_odd_line_far_down_is_found_by_its_number(specimen, monkeypatch):
    monkeypatch.setattr(tables, "_CELLS", 20)
    made = specimen("ogbg-moltox21", graphs=100)
    lines = made.tables()["raw/graph-label"].splitlines()
    lines[76] = "0" + lines[76][lines[76].index(",") :].replace(",", ",?", 1)
    made.texts["raw/graph-label"] = "\n".join(lines) + "\n"
    made.csv()
    assert "in line 77, which is no number" in refused(made)


def test_a_table_with_a_header(specimen):
    made = specimen("ogbg-moltox21")
    made.texts["raw/edge"] = "source,target\n" + made.tables()["raw/edge"]
    path = made.csv() / "raw/edge.csv.gz"
    assert f"{path} has 'source' in line 1, which is no whole number" in refused(made)


@pytest.mark.parametrize("more", [1, -1])
@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("raw/")])
def test_a_table_with_a_row_too_many_or_too_few(file, more, specimen):
    made = specimen("ogbg-moltox21")
    lines = made.tables()[file].splitlines()
    made.texts[file] = "\n".join([*lines, lines[-1]] if more > 0 else lines[:-1]) + "\n"
    path = made.csv() / f"{file}.csv.gz"
    said = (
        f"has more than {len(lines):,} rows" if more > 0 else f"has {len(lines) - 1:,} rows in place of {len(lines):,}"
    )
    assert f"{path} {said}" in refused(made)


def test_counts_that_do_not_add_up(specimen):
    made = specimen("ogbg-moltox21")
    total = sum(map(len, made.edges))
    counts = [len(edges) for edges in made.edges]
    counts[3] += 2
    made.texts["raw/num-edge-list"] = "".join(f"{count}\n" for count in counts)
    assert f"raw/edge.csv.gz has {total} rows in place of {total + 2}" in refused(_written(made))


def test_counts_that_are_moved_between_graphs(specimen):
    """The sums are right, and an edge then leads out of its graph."""
    made = specimen("ogbg-molesol", graphs=2)
    made.sizes, made.edges = [3, 2], [[(1, 2)], [(0, 1)]]
    made.x, made.edge_attr = np.zeros((5, 9), int), np.zeros((2, 3), int)
    made.targets, made.split = np.zeros((2, 1)), {"train": [0], "valid": [1], "test": []}
    made.texts["raw/num-node-list"] = "2\n3\n"
    said = "raw/edge.csv.gz has an edge from node 1 to node 2 (edge 0), and graph 0 has 2 nodes: damaged"
    assert said in refused(_written(made))


def _written(made):
    made.csv()
    return made


@pytest.mark.parametrize("size", [0, -1, 2**62])
def test_sizes_that_cannot_be(size, specimen):
    made = specimen("ogbg-moltox21")
    made.texts["raw/num-node-list"] = "".join(f"{n}\n" for n in [*made.sizes[:-1], size])
    assert "raw/num-node-list.csv.gz" in refused(_written(made))


def test_a_size_that_no_file_could_fill_costs_no_memory(specimen):
    made = specimen("ogbg-moltox21")
    made.texts["raw/num-node-list"] = "".join(f"{n}\n" for n in [*made.sizes[:-1], 2**39])
    assert "raw/node-feat.csv.gz is too short for 549,7" in refused(_written(made))


@pytest.mark.parametrize("edge", ["-1,0", "0,6", "0,-9223372036854775808"])
def test_an_edge_out_of_range(edge, specimen):
    made = specimen("ogbg-moltox21")
    lines = made.tables()["raw/edge"].splitlines()
    lines[0] = edge
    made.texts["raw/edge"] = "\n".join(lines) + "\n"
    first = next(graph for graph, edges in enumerate(made.edges) if edges)
    source, target = edge.split(",")
    said = f"has an edge from node {source} to node {target} (edge 0), and graph {first} has {made.sizes[first]} nodes"
    assert said in refused(_written(made))


def test_an_edge_out_of_range_in_one_graph(specimen):
    made = specimen("ogbn-arxiv")
    made.edges[0][7] = (60, 3)
    assert "has an edge from node 60 to node 3 (edge 7), and it has 60 nodes" in refused(_written(made))


SPLITS = [
    ({"valid": [3, 3]}, "split/scaffold/valid.csv.gz names graph 3, which it names too"),
    ({"test": [3]}, "split/scaffold/test.csv.gz names graph 3, which an earlier part names too"),
    ({"valid": [30]}, "split/scaffold/valid.csv.gz names graph 30 in line 1, and there are 30"),
    ({"test": [4, -1]}, "split/scaffold/test.csv.gz names graph -1 in line 2, and there are 30"),
    ({"train": [*range(31)]}, "split/scaffold/train.csv.gz has more than 30 rows"),
]


@pytest.mark.parametrize(("changes", "said"), SPLITS)
def test_a_split_that_is_wrong(changes, said, specimen):
    made = specimen("ogbg-moltox21")
    made.split = {"train": [*range(10)], "valid": [10], "test": [11]}
    if "valid" in changes and 3 in changes["valid"]:
        made.split["train"].remove(3)
    made.split |= changes
    assert said in refused(_written(made))


@pytest.mark.parametrize(("label", "said"), [("5", "5"), ("-1", "-1"), ("1.5", "1.5"), ('""', "nan"), ("inf", "inf")])
def test_a_class_that_is_none(label, said, specimen):
    made = specimen("ogbn-arxiv")
    lines = made.tables()["raw/node-label"].splitlines()
    lines[2] = label
    made.texts["raw/node-label"] = "\n".join(lines) + "\n"
    path = made.csv() / "raw/node-label.csv.gz"
    assert f"{path} has {said} as class of node 2, and the classes are 0 to 4: damaged" in refused(made)


def test_another_sets_folder(specimen):
    made, other = specimen("ogbg-molbace", graphs=30), specimen("ogbg-molbbbp", graphs=20)
    other.csv("ogbg_molbace")
    assert "ogbg_molbace/raw/num-node-list.csv.gz has 20 rows in place of 30: damaged, or another data" in refused(made)
    more = specimen("ogbg-molbbbp", graphs=40)
    more.csv("ogbg_molbace")
    assert "num-node-list.csv.gz has more than 30 rows" in refused(made)


def test_a_node_sets_folder_under_another_ones_name(specimen):
    made, other = specimen("ogbn-products"), specimen("ogbn-arxiv", nodes=50)
    other.csv("ogbn_products")
    (made.root / "ogbn_products/split/time").rename(made.root / "ogbn_products/split/sales_ranking")
    assert "num-node-list.csv.gz has 50 nodes in place of 60" in refused(made)
    same_size = specimen("ogbn-arxiv")
    same_size.csv("ogbn_products")
    assert "node-feat.csv.gz has 128 columns in place of 100" in refused(made)


def test_a_split_that_is_only_a_pickle(specimen):
    made = specimen("ogbg-molesol")
    folder = made.csv(without=tuple(f"split/scaffold/{part}" for part in ("train", "valid", "test")))
    (folder / "split/scaffold").mkdir(parents=True)
    (folder / "split/scaffold/split_dict.pt").write_bytes(b"\x80\x02cos\nsystem\n(S'false'\ntR.")
    assert "has no split/scaffold/train.csv.gz" in refused(made)


ARRAYS = [
    ({"edge_index": None}, "has no edge_index"),
    ({"num_nodes_list": None}, "has no num_nodes_list"),
    ({"node_feat": None}, "has no node_feat"),
    ({"edge_index": np.zeros((3, 4), int)}, "has edge_index of [3, 4] in place of [2, "),
    ({"num_nodes_list": np.full(30, 1.0)}, "has num_nodes_list of float64 in place of int64"),
    ({"num_edges_list": np.zeros((30, 1), int)}, "has num_edges_list of [30, 1] in place of [30]"),
    ({"node_feat": np.zeros((5, 9), int)}, "has node_feat of [5, 9] in place of ["),
    ({"edge_feat": np.array([["x"]])}, "has edge_feat of [1, 1] in place of ["),
    ({"num_nodes_list": np.array([object()] * 30)}, "has num_nodes_list of object in place of int64"),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("changes", "said"), ARRAYS)
def test_arrays_that_are_wrong(changes, said, specimen):
    made = specimen("ogbg-moltox21")
    path = made.npz(**changes) / "raw/data.npz"
    assert f"{path} {said}" in refused(made)


@pytest.mark.parametrize("file", ["raw/data.npz", "raw/graph-label.npz"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_arrays_that_are_cut_off(file, share, specimen):
    made = specimen("ogbg-moltox21")
    path = made.npz() / file
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    assert f"{path} cannot be read: " in refused(made)


def test_an_array_that_says_it_is_huge_costs_no_memory(specimen):
    made = specimen("ogbg-moltox21")
    made.facts = made.facts.__class__(**{**made.facts.__dict__, "items": 2**50})
    path = made.npz() / "raw/data.npz"
    _replace(path, "num_nodes_list.npy", (30,), (2**50,))
    assert f"{path} has a num_nodes_list that is cut off" in refused(made)


def _replace(path, member, shape, by) -> None:
    """Let a member's header say another shape."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    before, after = f"{shape}".encode(), f"{by}".encode()
    room = len(after) - len(before)
    members[member] = members[member].replace(before, after).replace(b" " * room + b"\n", b"\n", 1)
    with zipfile.ZipFile(path, "w") as archive:
        for name, payload in members.items():
            archive.writestr(name, payload)


def test_the_text_form_is_taken_where_both_are_there(specimen):
    made = specimen("ogbg-moltox21")
    made.npz()
    assert find(made.facts, made.root).binary
    made.csv()
    assert not find(made.facts, made.root).binary


def test_a_bomb_is_not_unpacked_whole(specimen):
    """Rows are counted as they come, so that no more than a part of them is ever in memory."""
    made = specimen("ogbg-moltox21")
    path = made.csv() / "raw/num-edge-list.csv.gz"
    path.write_bytes(gzip.compress(b"1\n" * 30_000_000, 1))
    assert f"{path} has more than 30 rows" in refused(made)
