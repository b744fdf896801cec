"""Both forms, in every layout, give one and the same data set: PyTorch Geometric's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from benchsuite.data.bounded import Bundle
from benchsuite.data.tu import gin_text, raw_text
from benchsuite.data.tu.folds import stratified_folds
from benchsuite.data.tu.readers import degree_features, find, read_tu

LAYOUTS = [
    ("gin", "zip", "tu/TINYSET.zip"),
    ("gin", "zip", "TUDataset/TINY-SET.zip"),
    ("gin", "zip", "TINYSET.zip"),
    ("gin", "folder", "tu/TINYSET"),
    ("raw", "zip", "tu/TINY-SET.zip"),
    ("raw", "folder", "TUDataset/TINY-SET/raw"),
    ("gin", "folder", "TUDataset/TINY-SET/raw"),
    ("raw", "folder", "TINY-SET/raw"),
    ("raw", "folder", "TINY-SET/TINY-SET/raw"),
]


@pytest.mark.parametrize(("form", "how", "where"), LAYOUTS)
def test_every_layout_is_the_same_data_set(tiny, form, how, where):
    getattr(tiny, how)(form, where)
    dataset = read_tu(tiny.facts, tiny.root)
    adjacent = np.zeros((94, 94), bool)
    start = 0
    for block in tiny.graphs:
        adjacent[start : start + len(block), start : start + len(block)] = block
        start += len(block)
    np.fill_diagonal(adjacent, False)
    target, source = np.nonzero(adjacent)
    assert dataset.graph.edge_index.tolist() == [source.tolist(), target.tolist()]
    assert dataset.graph.batch.tolist() == tiny.batch.tolist()
    assert dataset.y.tolist() == [label // 2 for label in tiny.labels]
    codes = {3: 0, 5: 1, 9: 2}
    assert dataset.graph.x.tolist() == [[codes[tag]] for tags in tiny.tags for tag in tags.tolist()]
    assert dataset.node_categories == (3,)
    assert (dataset.num_classes, dataset.target_type, dataset.undirected) == (2, "classes", True)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_raw_form_is_read_as_pyg_reads_it(tiny):
    from torch_geometric.io import read_tu_data

    folder = tiny.folder("raw", "TINY-SET/raw")
    theirs, slices, _ = read_tu_data(str(folder), "TINY-SET")
    ours = read_tu(tiny.facts, tiny.root)
    per_edge = slices["x"][:-1].repeat_interleave(slices["edge_index"].diff())
    edges = theirs.edge_index + per_edge
    assert torch.equal(ours.graph.edge_index, edges[:, torch.argsort(edges[1] * 94 + edges[0])])
    assert torch.equal(ours.y, theirs.y)
    # PyTorch Geometric keeps a column for each number between the smallest and the largest tag.
    used = theirs.x[:, theirs.x.any(0)]
    assert torch.equal(torch.nn.functional.one_hot(ours.graph.x[:, 0]).float(), used)


@pytest.mark.parametrize("form", ["gin", "raw"])
def test_without_tags_the_degree_is_the_feature(tiny, form):
    tiny.tags = [np.zeros(len(block), int) for block in tiny.graphs]
    path = tiny.folder(form, "TINY-SET")
    if form == "raw":
        (path / "TINY-SET_node_labels.txt").unlink()
    dataset = read_tu(tiny.facts, tiny.root)
    degrees = [int(row.sum() - row[i]) for block in tiny.graphs for i, row in enumerate(block)]
    assert dataset.graph.x.tolist() == [[degree] for degree in degrees]
    assert dataset.node_categories == (max(degrees) + 1,)


def test_large_degrees_are_one_standardised_number():
    x, categories = degree_features(np.array([1, 1, 1000]))
    # mean 334, deviations -333, -333, 666, and sqrt((2 * 333 ** 2 + 666 ** 2) / 2) = 576.77
    assert x.flatten().tolist() == pytest.approx([-0.57735, -0.57735, 1.15470], abs=1e-5)
    assert (x.dtype, categories) == (torch.float32, ())


def test_the_bound_between_codes_and_a_number():
    x, categories = degree_features(np.array([0, 999]))
    assert (x.tolist(), x.dtype, categories) == ([[0], [999]], torch.int64, (1000,))


def test_several_columns_of_tags(tiny):
    path = tiny.folder("raw", "TINY-SET/raw") / "TINY-SET_node_labels.txt"
    lines = path.read_text().split()
    path.write_text("".join(f"{tag}, {number % 2 + 40}\n" for number, tag in enumerate(lines)))
    dataset = read_tu(tiny.facts, tiny.root)
    assert dataset.node_categories == (3, 2)
    assert dataset.graph.x[:, 1].tolist() == [number % 2 for number in range(94)]


def test_a_zip_made_on_a_mac_is_read_past_its_litter(tiny):
    litter = {"__MACOSX/TINYSET/._TINYSET.txt": "no", "TINYSET/.DS_Store": "no"}
    tiny.zip("gin", "tu/TINYSET.zip", litter)
    assert read_tu(tiny.facts, tiny.root).num_graphs == 24


def test_what_was_fetched_comes_first(tiny):
    damaged = tiny.zip("gin", "tu/TINYSET.zip")
    damaged.write_bytes(b"no zip")
    fetched = tiny.folder("raw", "TUDataset/TINY-SET/raw")
    assert find(tiny.facts, tiny.root).path == fetched
    assert read_tu(tiny.facts, tiny.root).num_graphs == 24


def test_a_folder_without_the_files_is_passed_by(tiny):
    (tiny.root / "tu" / "TINY-SET").mkdir(parents=True)
    whole = tiny.zip("gin", "tu/TINYSET.zip")
    assert find(tiny.facts, tiny.root).path == whole


@st.composite
def collections(draw):
    """Return blocks of adjacency and tags."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    blocks = []
    for size in sizes:
        bits = draw(st.lists(st.booleans(), min_size=size * size, max_size=size * size))
        half = np.array(bits).reshape(size, size)
        blocks.append(half | half.T)
    return blocks


@given(collections(), st.sampled_from(["\n", "\r\n", " \n", "\n\n"]))
def test_both_forms_hold_the_same(blocks, newline):
    sizes = [len(block) for block in blocks]
    tags = np.arange(sum(sizes))
    lines, pairs, start = [str(len(blocks))], [], 0
    for number, block in enumerate(blocks):
        lines.append(f"{len(block)} {-number}")
        for i, row in enumerate(block):
            others = np.flatnonzero(row)
            lines.append(" ".join(map(str, [start + i, len(others), *others])))
            pairs += [f"{start + i + 1},{start + j + 1}" for j in others]
        start += len(block)
    parts = {
        "A": pairs,
        "graph_indicator": map(str, np.repeat(np.arange(len(sizes)), sizes) + 1),
        "graph_labels": [str(-number) for number in range(len(sizes))],
        "node_labels": map(str, tags),
    }
    texts = {part: newline.join(rows).encode() for part, rows in parts.items()}
    one = gin_text.parse(newline.join(lines).encode(), "it")
    other = raw_text.parse(texts.__getitem__, str, tagged=True)
    assert one.sizes.tolist() == other.sizes.tolist() == sizes
    assert one.labels.tolist() == other.labels.tolist()
    assert {*zip(one.source, one.target, strict=True)} == {*zip(other.target, other.source, strict=True)}
    assert other.tags.flatten().tolist() == tags.tolist()
    assert one.tags is None if len(tags) == 1 else one.tags.flatten().tolist() == tags.tolist()


def test_folds_follow_pygs_kernel_benchmark():
    """Held against the parts that its k_fold makes, and the rule that the part before the tested one validates."""
    from sklearn.model_selection import StratifiedKFold

    y = np.array([0] * 33 + [1] * 50)
    deal = StratifiedKFold(10, shuffle=True, random_state=12345)
    parts = [part.tolist() for _, part in deal.split(torch.zeros(83), y)]
    folds = stratified_folds(y)
    for k, fold in enumerate(folds):
        assert fold.test.nonzero().flatten().tolist() == parts[k]
        assert fold.val.nonzero().flatten().tolist() == parts[k - 1]
        assert torch.equal(fold.train, ~(fold.val | fold.test))
    assert torch.stack([fold.test for fold in folds]).sum(0).tolist() == [1] * 83
    assert {int(y[fold.test.numpy()].sum()) for fold in folds} == {5}


def test_a_folder_is_listed_with_its_sub_folders(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c.txt").write_text("x")
    bundle = Bundle(tmp_path, 10)
    assert (bundle.names, bundle.read("a/b/c.txt")) == (["a/b/c.txt"], b"x")
