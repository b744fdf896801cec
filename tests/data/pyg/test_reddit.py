"""``reddit`` and ``flickr``: files of the layout that PyTorch Geometric downloads, against its own classes."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from benchsuite.data.pyg.flickr import Facts as FlickrFacts
from benchsuite.data.pyg.flickr import flickr, read_flickr
from benchsuite.data.pyg.reddit import Facts as RedditFacts
from benchsuite.data.pyg.reddit import read_reddit, reddit
from benchsuite.data.validate import problems
from benchsuite.errors import MissingDataError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

NODES, FEATURES = 60, 5
REDDIT = RedditFacts(nodes=NODES, edges=0, features=FEATURES, classes=4)
FLICKR = FlickrFacts(nodes=NODES, edges=0, features=FEATURES, classes=4)


def adjacency(symmetric: bool = True) -> sp.coo_matrix:
    draw = np.random.default_rng(1)
    half = np.triu(draw.random((NODES, NODES)) < 0.1, 1)
    return sp.coo_matrix((half | half.T if symmetric else half).astype(np.float32))


def features() -> np.ndarray:
    return np.random.default_rng(2).normal(size=(NODES, FEATURES))


def labels() -> np.ndarray:
    return np.arange(NODES) // 3 % 4


def parts() -> np.ndarray:
    """Return 1, 2 and 3 in turn: train, validate, test."""
    return np.arange(NODES) % 3 + 1


def write_reddit(root, matrix=None, **changes):
    raw = root / "Reddit" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    arrays = {"feature": features(), "label": labels(), "node_types": parts(), "node_ids": np.arange(NODES)}
    np.savez(raw / "reddit_data.npz", **{k: v for k, v in (arrays | changes).items() if v is not None})
    sp.save_npz(raw / "reddit_graph.npz", adjacency() if matrix is None else matrix)
    return raw


def write_flickr(root, matrix=None, feats=None, classes=None, role=None):
    raw = root / "Flickr" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    csr = sp.csr_matrix(adjacency() if matrix is None else matrix)
    np.savez(raw / "adj_full.npz", data=csr.data, indices=csr.indices, indptr=csr.indptr, shape=csr.shape)
    np.save(raw / "feats.npy", features() if feats is None else feats)
    named = {str(node): int(label) for node, label in enumerate(labels())}
    (raw / "class_map.json").write_text(json.dumps(named if classes is None else classes))
    members = {name: np.flatnonzero(parts() == n).tolist() for n, name in ((1, "tr"), (2, "va"), (3, "te"))}
    (raw / "role.json").write_text(json.dumps(members if role is None else role))
    return raw


WRITERS = {"Reddit": (write_reddit, read_reddit, REDDIT), "Flickr": (write_flickr, read_flickr, FLICKR)}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("symmetric", [True, False])
def test_is_what_pygs_own_class_reads(tmp_path, name, symmetric):
    from torch_geometric import datasets

    write, read, facts = WRITERS[name]
    matrix = adjacency(symmetric)
    write(tmp_path, matrix)
    theirs = getattr(datasets, name)(str(tmp_path / name))[0]
    ours = read(replace(facts, edges=matrix.nnz), tmp_path)
    assert problems(ours) == []
    assert torch.equal(ours.graph.x, theirs.x)
    assert torch.equal(ours.y, theirs.y)
    for part, chosen in ours.splits().items():
        assert torch.equal(chosen, theirs[f"{part}_mask"])
    order = torch.argsort(theirs.edge_index[1] * NODES + theirs.edge_index[0])
    assert torch.equal(ours.graph.edge_index, theirs.edge_index[:, order])
    assert ours.undirected == symmetric == theirs.is_undirected()


@pytest.mark.parametrize("name", WRITERS)
def test_self_loops_are_dropped_before_edges_are_counted(tmp_path, name):
    write, read, facts = WRITERS[name]
    matrix = adjacency()
    looped = sp.coo_matrix(matrix + sp.eye_array(NODES))
    write(tmp_path, looped)
    assert read(replace(facts, edges=matrix.nnz), tmp_path).graph.num_edges == matrix.nnz


@pytest.mark.parametrize("place", ["Reddit/raw", "reddit/raw", "Reddit", "."])
def test_other_places(tmp_path, place):
    raw = write_reddit(tmp_path / "made")
    (tmp_path / "root" / place).mkdir(parents=True)
    for file in raw.iterdir():
        file.rename(tmp_path / "root" / place / file.name)
    read_reddit(replace(REDDIT, edges=adjacency().nnz), tmp_path / "root")


REDDIT_BAD = [
    ({"feature": features()[:, :4]}, r"has feature of \[60, 4\] float64 in place of \[60, 5\] numbers"),
    ({"feature": features() * np.nan}, "has feature that is not finite"),
    ({"label": None}, "has no label"),
    ({"label": labels() + 1}, "has label outside 0 to 3"),
    ({"label": np.array(["a"] * NODES, object)}, "is refused: it holds a pickle"),
    ({"node_types": parts() + 1}, "has node_types outside 0 to 3"),
    ({"node_types": parts()[:9]}, r"has node_types of \[9\] int64"),
    ({"matrix": sp.coo_matrix((NODES + 1, NODES + 1)) + sp.eye_array(NODES + 1)}, "has no row"),
    ({"matrix": sp.coo_matrix(sp.eye_array(NODES + 1))}, "has row outside 0 to 59"),
    ({"matrix": adjacency(False)}, "edges in place of "),
]


@pytest.mark.parametrize(
    ("changes", "said"), REDDIT_BAD, ids=[f"{n}-{next(iter(c))}" for n, (c, _) in enumerate(REDDIT_BAD)]
)
def test_reddits_content_that_does_not_fit(tmp_path, changes, said):
    raw = write_reddit(tmp_path, **changes)
    with pytest.raises(MissingDataError, match=said) as caught:
        read_reddit(replace(REDDIT, edges=adjacency().nnz), tmp_path)
    file = "reddit_graph.npz" if "matrix" in changes else "reddit_data.npz"
    assert str(caught.value).startswith(f"{raw / file} ")


FLICKR_BAD = [
    ({"feats": features()[:9]}, "feats.npy", r"has feats of \[9, 5\]"),
    ({"feats": np.array([[None] * FEATURES] * NODES)}, "feats.npy", "is refused: it holds a pickle"),
    ({"matrix": adjacency(False)}, "adj_full.npz", "edges in place of "),
    ({"matrix": sp.eye_array(NODES + 1)}, "adj_full.npz", r"has indptr of \[62\] int32 in place of \[61\] integers"),
    ({"classes": {"0": 1}}, "class_map.json", "does not name one of the classes 0 to 3 for each of 60 nodes"),
    ({"classes": {str(n): n for n in range(NODES)}}, "class_map.json", "does not name one of the classes"),
    ({"classes": {str(n): True for n in range(NODES)}}, "class_map.json", "does not name one of the classes"),
    ({"classes": [1, 2]}, "class_map.json", "holds no JSON object"),
    ({"role": {"tr": [0], "va": [1]}}, "role.json", "has no list of nodes 0 to 59 as 'te'"),
    ({"role": {"tr": [60], "va": [1], "te": [2]}}, "role.json", "has no list of nodes 0 to 59 as 'tr'"),
    ({"role": {"tr": "all", "va": [1], "te": [2]}}, "role.json", "has no list of nodes 0 to 59 as 'tr'"),
]


@pytest.mark.parametrize(
    ("changes", "file", "said"), FLICKR_BAD, ids=[f"{n}-{next(iter(c))}" for n, (c, *_) in enumerate(FLICKR_BAD)]
)
def test_flickrs_content_that_does_not_fit(tmp_path, changes, file, said):
    raw = write_flickr(tmp_path, **changes)
    with pytest.raises(MissingDataError, match=said) as caught:
        read_flickr(replace(FLICKR, edges=adjacency().nnz), tmp_path)
    assert str(caught.value).startswith(f"{raw / file} ")


@pytest.mark.parametrize(
    ("file", "payload", "said"),
    [
        ("feats.npy", b"", "is damaged|is no whole npy"),
        ("feats.npy", b"\x93NUMPY\x01\x00", "is damaged|is no whole npy"),
        ("adj_full.npz", b"<html>sign in</html>", "is no whole npz"),
        ("role.json", b'{"tr": [0, 1', "is no JSON"),
        ("class_map.json", b"[" * 100_000, "is no JSON|holds no JSON object"),
    ],
)
def test_flickrs_damaged_files(tmp_path, file, payload, said):
    raw = write_flickr(tmp_path)
    (raw / file).write_bytes(payload)
    with pytest.raises(MissingDataError, match=said) as caught:
        read_flickr(replace(FLICKR, edges=adjacency().nnz), tmp_path)
    assert str(caught.value).startswith(f"{raw / file} ")


def test_absent_files(tmp_path):
    with pytest.raises(
        MissingDataError, match=r"BENCHSUITE_DATA is not set\. Set it to a folder\. Run: benchsuite data f"
    ):
        reddit(None)
    with pytest.raises(MissingDataError, match=r"has no Flickr/raw/adj_full\.npz, nor that in another known place"):
        flickr(tmp_path)
    (write_flickr(tmp_path) / "role.json").unlink()
    with pytest.raises(MissingDataError, match=r"Flickr/raw lacks role\.json\. Run: benchsuite data fetch flickr"):
        flickr(tmp_path)


def test_a_small_graph_is_not_taken_for_the_real_one(tmp_path):
    write_reddit(tmp_path)
    with pytest.raises(MissingDataError, match=r"has feature of \[60, 5\] float64 in place of \[232965, 602\] numbers"):
        reddit(tmp_path)
    write_flickr(tmp_path)
    with pytest.raises(MissingDataError, match=r"has indptr of \[61\] int32 in place of \[89251\] integers"):
        flickr(tmp_path)
