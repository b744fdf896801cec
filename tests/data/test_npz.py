"""Amazon and Coauthor: both forms of the files, against PyTorch Geometric's own reader; damage in one line."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix, random_array

from benchsuite.data import read
from benchsuite.data.cards import DATASETS
from benchsuite.data.importing import recognise
from benchsuite.data.npz import FACTS, Facts, read_graph
from benchsuite.data.validate import problems
from benchsuite.errors import MissingDataError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

CLASSES = 3
TINY = Facts("tiny", "Amazon/Tiny/raw", "amazon_electronics_tiny.npz", "tiny.npz", 180, 0, 12, CLASSES)


def tiny() -> dict[str, np.ndarray]:
    """Return a directed graph with self loops and counts as features, as the original files have them."""
    draw = np.random.default_rng(0)
    edges = csr_matrix(random_array((180, 180), density=0.02, rng=draw))
    edges.setdiag(1.0, k=0)
    words = csr_matrix(
        random_array((180, 12), density=0.3, rng=draw, data_sampler=lambda size: draw.integers(1, 4, size))
    )
    matrices = {"adj": edges, "attr": words.astype(np.float32)}
    arrays = {
        f"{name}_{part}": np.asarray(getattr(matrix, part))
        for name, matrix in matrices.items()
        for part in ("data", "indices", "indptr", "shape")
    }
    return {**arrays, "labels": np.arange(180) % CLASSES}


def plain(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the same in the form without pickles; the features lack their values, so all are 1."""
    same = {name: value for name, value in arrays.items() if name.startswith("adj") and name != "adj_data"}
    words = {name.replace("attr", "x"): arrays[name] for name in ("attr_indptr", "attr_indices", "attr_shape")}
    return {**same, **words, "y": arrays["labels"].astype(np.int16)}


def counted(arrays: dict[str, np.ndarray]) -> Facts:
    """Return TINY with the number of edges that PyTorch Geometric finds."""
    from dataclasses import replace

    return replace(TINY, edges=theirs(arrays).num_edges)


def theirs(arrays: dict[str, np.ndarray]):
    from torch_geometric.io.npz import parse_npz

    return parse_npz(arrays)


def same(ours, data) -> None:
    from torch_geometric.transforms import NormalizeFeatures

    assert torch.allclose(ours.graph.x, NormalizeFeatures()(data.clone()).x, rtol=1e-6, atol=0)
    assert torch.equal(ours.graph.x > 0, data.x > 0)
    assert torch.equal(ours.y, data.y)
    by_target = torch.argsort(data.edge_index[1] * data.num_nodes + data.edge_index[0])
    assert torch.equal(ours.graph.edge_index, data.edge_index[:, by_target])


def put(root, place: str, arrays: dict[str, np.ndarray]):
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)
    return path


@pytest.mark.parametrize(
    ("place", "form"),
    [
        ("Amazon/Tiny/raw/amazon_electronics_tiny.npz", dict),
        ("Tiny/raw/amazon_electronics_tiny.npz", dict),
        ("node_npz/tiny.npz", plain),
        ("tiny.npz", plain),
    ],
)
def test_both_forms_are_pygs(tmp_path, place, form):
    arrays = tiny()
    put(tmp_path, place, form(arrays))
    dataset = read_graph(counted(arrays), tmp_path)
    assert problems(dataset) == []
    same(dataset, theirs(arrays))


def test_what_pygs_own_class_reads_is_read(tmp_path):
    """The original files hold names as pickled objects: PyTorch Geometric leaves them, and so does this reader."""
    from torch_geometric.datasets import Amazon

    arrays = tiny() | {"node_names": np.array(["a", None], dtype=object)}
    put(tmp_path, "Amazon/Computers/raw/amazon_electronics_computers.npz", arrays)
    facts = Facts(
        **{**vars(counted(tiny())), "file": "amazon_electronics_computers.npz", "folder": "Amazon/Computers/raw"}
    )
    same(read_graph(facts, tmp_path), Amazon(str(tmp_path / "Amazon"), "Computers")[0])


def test_the_split_is_so_many_of_each_class_and_the_same_each_time(tmp_path):
    arrays = tiny()
    put(tmp_path, "tiny.npz", plain(arrays))
    facts = counted(arrays)
    dataset = read_graph(facts, tmp_path)
    for part, each in (("train", 20), ("val", 30), ("test", 10)):
        assert torch.bincount(dataset.y[dataset.splits()[part]]).tolist() == [each] * CLASSES
    assert (dataset.train | dataset.val | dataset.test).all()
    assert read_graph(facts, tmp_path).content_hash() == dataset.content_hash()


def test_a_row_without_words_stays_zero(tmp_path):
    arrays = tiny()
    start, end = arrays["attr_indptr"][4:6]
    keep = np.r_[0:start, end : len(arrays["attr_indices"])]
    arrays["attr_indices"], arrays["attr_data"] = arrays["attr_indices"][keep], arrays["attr_data"][keep]
    arrays["attr_indptr"][5:] -= end - start
    put(tmp_path, "tiny.npz", plain(arrays))
    x = read_graph(counted(arrays), tmp_path).graph.x
    has_words = torch.from_numpy(np.diff(arrays["attr_indptr"]) > 0)
    assert not has_words[4]
    assert torch.allclose(x.sum(1), has_words.float())


#: Edges of each real graph, and nodes of each class.
REAL = {
    "amazon-computers": (491_722, [436, 2142, 1414, 542, 5158, 308, 487, 818, 2156, 291]),
    "amazon-photo": (238_162, [369, 1686, 703, 915, 882, 823, 1941, 331]),
    "coauthor-cs": (163_788, [708, 462, 2050, 429, 1394, 2193, 371, 924, 775, 118, 1444, 2033, 420, 4136, 876]),
    "coauthor-physics": (495_924, [5750, 5045, 17_426, 2753, 3519]),
}


@pytest.mark.data
@pytest.mark.parametrize("name", ["amazon-computers", "amazon-photo"])
def test_real_files_are_pygs(name, data_root):
    real(name, data_root)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", ["coauthor-cs", "coauthor-physics"])
def test_the_larger_ones_are_pygs(name, data_root):
    real(name, data_root)


def real(name, data_root) -> None:
    path = data_root / "node_npz" / FACTS[name].plain
    if not path.is_file():
        pytest.skip(f"{path} is not here")
    dataset = read(next(card for card in DATASETS if card.name == name), data_root)
    edges, classes = REAL[name]
    assert dataset.graph.num_edges == edges
    assert dataset.y.bincount().tolist() == classes
    with np.load(path) as file:
        arrays = {key.replace("x_", "attr_"): file[key] for key in file.files}
    ones = {part: np.ones(len(arrays[f"{part}_indices"]), np.float32) for part in ("adj", "attr")}
    arrays = {f"{part}_data": value for part, value in ones.items()} | arrays | {"labels": arrays["y"]}
    same(dataset, theirs(arrays))


def changed(**changes) -> dict[str, np.ndarray]:
    arrays = tiny()
    return {name: value for name, value in (arrays | changes).items() if value is not None}


BAD = [
    ({"labels": None}, "has no labels"),
    ({"labels": np.zeros(179, int)}, r"has labels of \[179\] int64 in place of \[180\] integers"),
    ({"labels": np.zeros(180)}, r"has labels of \[180\] float64 in place of \[180\] integers"),
    ({"labels": np.arange(180) % 4}, "has labels outside 0 to 2"),
    ({"labels": -np.ones(180, int)}, "has labels outside 0 to 2"),
    ({"labels": np.array([None] * 180)}, "is refused: it holds a pickle, which can run any code"),
    ({"adj_indptr": np.arange(181)}, r"has adj_indptr that does not fit its \d+ adj_indices"),
    ({"adj_indices": np.arange(3)}, "has adj_indptr that does not fit its 3 adj_indices"),
    ({"adj_indices": tiny()["adj_indices"] + 1}, "has adj_indices outside 0 to 179"),
    ({"attr_indices": tiny()["attr_indices"] + 1}, "has attr_indices outside 0 to 11"),
    ({"attr_data": np.ones(3)}, r"has attr_data of \[3\] float64 in place of "),
    ({"attr_indptr": None, "attr_data": None}, "has no y"),
]


@pytest.mark.parametrize(("changes", "said"), BAD, ids=[f"{n}-{'-'.join(c)}" for n, (c, _) in enumerate(BAD)])
def test_content_that_does_not_fit(tmp_path, changes, said):
    path = put(tmp_path, "tiny.npz", changed(**changes))
    with pytest.raises(MissingDataError, match=said) as caught:
        read_graph(counted(tiny()), tmp_path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_another_number_of_edges_is_another_graph(tmp_path):
    put(tmp_path, "tiny.npz", tiny())
    with pytest.raises(MissingDataError, match=r"has [\d,]+ edges in place of 0: damaged, or another data set"):
        read_graph(TINY, tmp_path)


def test_a_pickle_runs_nothing(tmp_path):
    made = tmp_path / "it ran"

    class Runs:
        def __reduce__(self):
            return open, (str(made), "w")

    put(tmp_path, "tiny.npz", changed(labels=np.array([Runs()] * 180)))
    with pytest.raises(MissingDataError, match="is refused: it holds a pickle"):
        read_graph(TINY, tmp_path)
    assert not made.exists()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.95])
def test_a_file_that_is_cut_off(tmp_path, share):
    path = put(tmp_path, "tiny.npz", tiny())
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(MissingDataError, match=r"tiny\.npz is no whole npz"):
        read_graph(counted(tiny()), tmp_path)


def test_any_changed_byte_of_an_array_is_found(tmp_path):
    arrays = tiny()
    path = tmp_path / "tiny.npz"
    np.savez(path, **arrays)  # not compressed: a change stays a number
    whole, facts = path.read_bytes(), counted(arrays)
    place = whole.index(arrays["labels"].tobytes())
    for at in (place, place + 8 * 100, place + 8 * 179):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(MissingDataError, match=r"tiny\.npz is no whole npz: Bad CRC-32"):
            read_graph(facts, tmp_path)


def test_an_array_that_claims_more_than_it_has(tmp_path):
    path = put(tmp_path, "tiny.npz", changed(labels=None))
    head = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little")
    head += b"{'descr': '<i8', 'fortran_order': False, 'shape': (1099511627776,), }".ljust(117) + b"\n"
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("labels.npy", head + bytes(64))
    with pytest.raises(MissingDataError, match=r"it claims 8,796,093,022,208 bytes and has 192"):
        read_graph(TINY, tmp_path)


def test_no_folder_and_no_file(tmp_path):
    with pytest.raises(MissingDataError, match=r"BENCHSUITE_DATA is not set\. Set it to a folder\. Run: benchsuite"):
        read_graph(FACTS["amazon-photo"], None)
    with pytest.raises(MissingDataError) as caught:
        read_graph(FACTS["amazon-photo"], tmp_path)
    place = "Amazon/Photo/raw/amazon_electronics_photo.npz"
    assert str(caught.value) == (
        f"data set 'amazon-photo': {tmp_path} has no {place}, nor that in another known place. "
        f"Run: benchsuite data fetch amazon-photo (needs a network), or put amazon_electronics_photo.npz into "
        f"{tmp_path}/Amazon/Photo/raw"
    )


@pytest.mark.parametrize("name", FACTS)
def test_a_file_brought_by_hand_is_recognised_by_its_name(tmp_path, name):
    from benchsuite.archives import open_source

    for file in (FACTS[name].file, FACTS[name].plain):
        folder = tmp_path / file.partition(".")[0]
        put(folder, file, tiny())
        with open_source(folder) as source:
            found = recognise(source, DATASETS)
        assert found is not None
        assert (found.card.name, found.inside) == (name, "")
