"""What PyTorch Geometric wrote is read as PyTorch Geometric reads it; what it did not write is refused."""

from __future__ import annotations

import pickle
import zipfile

import pytest
import torch

from benchsuite.data.cards import DATASETS
from benchsuite.data.pyg.splits import Facts
from benchsuite.data.pyg.stored import read_stored
from benchsuite.data.pyg.superpixels import CIFAR10, MNIST, mnist_superpixels, read_superpixels
from benchsuite.data.pyg.zinc import FACTS as ZINC
from benchsuite.data.pyg.zinc import read_zinc, zinc
from benchsuite.errors import MissingDataError

# Importing PyTorch Geometric warns that torch.jit is deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

MOLECULES = Facts("tiny-zinc", ("ZINC/subset/processed",), ZINC.files, (4, 2, 3), "ZINC(...)")
IMAGES = Facts("tiny-pixels", ("MNIST/processed",), MNIST.files, (4, 2, 3), "GNNBenchmarkDataset(...)")


def pyg():
    import torch_geometric.data

    return torch_geometric.data


def newest(graphs, path) -> None:
    pyg().InMemoryDataset.save(graphs, str(path))


def with_dict(graphs, path) -> None:
    data, slices = pyg().InMemoryDataset.collate(graphs)
    torch.save((data.to_dict(), slices), path)


def with_object(graphs, path) -> None:
    torch.save(pyg().InMemoryDataset.collate(graphs), path)


def write(root, facts, make, save=newest):
    """Write three files and return all graphs in their order."""
    folder = root / facts.places[0]
    folder.mkdir(parents=True)
    graphs = [make(number, 2 + number % 4) for number in range(sum(facts.graphs))]
    start = 0
    for name, count in zip(facts.files, facts.graphs, strict=True):
        save(graphs[start : start + count], folder / name)
        start += count
    return graphs


def sorted_edges(batch):
    order = torch.argsort(batch.edge_index[1] * batch.num_nodes + batch.edge_index[0])
    return batch.edge_index[:, order], batch.edge_attr[order][:, None]


@pytest.mark.parametrize("save", [newest, with_dict, with_object])
def test_molecules_are_pygs(tmp_path, molecules, save):
    theirs = pyg().Batch.from_data_list(write(tmp_path, MOLECULES, molecules, save))
    ours = read_zinc(MOLECULES, tmp_path)
    edges, attr = sorted_edges(theirs)
    assert torch.equal(ours.graph.x, theirs.x)
    assert torch.equal(ours.graph.edge_index, edges)
    assert torch.equal(ours.graph.edge_attr, attr)
    assert torch.equal(ours.graph.batch, theirs.batch)
    assert torch.equal(ours.y[:, 0], theirs.y)
    assert [part.nonzero().flatten().tolist() for part in ours.folds[0]] == [[0, 1, 2, 3], [4, 5], [6, 7, 8]]
    assert (ours.undirected, ours.target_type, ours.num_classes) == (True, "values", 1)
    assert (ours.node_categories, ours.edge_categories) == ((28,), (4,))


def test_images_are_pygs(tmp_path, images):
    theirs = pyg().Batch.from_data_list(write(tmp_path, IMAGES, images))
    ours = read_superpixels(IMAGES, 1, tmp_path)
    edges, attr = sorted_edges(theirs)
    assert torch.equal(ours.graph.x, torch.cat([theirs.x, theirs.pos], 1))
    assert torch.equal(ours.graph.edge_index, edges)
    assert torch.equal(ours.graph.edge_attr, attr)
    assert torch.equal(ours.y, theirs.y)
    assert (ours.undirected, ours.node_categories, ours.graph.x.dtype) == (False, (), torch.float32)


def test_what_torch_may_load_is_the_same_before_and_after(tmp_path, molecules):
    with_object([molecules(0, 3), molecules(1, 3)], tmp_path / "a.pt")
    before = set(torch.serialization.get_safe_globals())
    read_stored(tmp_path / "a.pt")
    assert set(torch.serialization.get_safe_globals()) == before


class Runs:
    """Pickles as a call."""

    def __init__(self, path) -> None:
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("where", ["x", "slices", "alone"])
def test_a_pickle_that_runs_code_is_refused_and_runs_nothing(tmp_path, molecules, where):
    write(tmp_path, MOLECULES, molecules)
    path, made = tmp_path / MOLECULES.places[0] / "val.pt", tmp_path / "it ran"
    hostile = {"x": ({"x": Runs(made)}, {}), "slices": ({}, {"x": Runs(made)}), "alone": Runs(made)}[where]
    torch.save(hostile, path)
    with pytest.raises(MissingDataError) as caught:
        read_zinc(MOLECULES, tmp_path)
    line = str(caught.value)
    assert f"{path} is refused: it would run more than such files do" in line
    assert "open" in line
    assert "\n" not in line
    assert not made.exists()


def test_a_bare_pickle_is_refused(tmp_path):
    path = tmp_path / "train.pt"
    path.write_bytes(pickle.dumps(Runs(tmp_path / "it ran")))
    with pytest.raises(MissingDataError, match=r"is no whole file of torch\.save"):
        read_stored(path)
    assert not (tmp_path / "it ran").exists()


def test_a_compressed_file_is_refused(tmp_path, molecules):
    """A bomb is compressed, and torch.save never compresses."""
    newest([molecules(0, 3), molecules(1, 3)], tmp_path / "a.pt")
    with zipfile.ZipFile(tmp_path / "a.pt") as plain, zipfile.ZipFile(tmp_path / "b.pt", "w") as packed:
        for entry in plain.infolist():
            packed.writestr(entry.filename, plain.read(entry.filename), zipfile.ZIP_DEFLATED)
    with pytest.raises(MissingDataError, match=r"b\.pt is compressed"):
        read_stored(tmp_path / "b.pt")


@pytest.mark.parametrize("share", [0.0, 0.4, 0.95])
def test_a_file_that_is_cut_off(tmp_path, molecules, share):
    path = tmp_path / "a.pt"
    newest([molecules(0, 3), molecules(1, 3)], path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(MissingDataError, match=r"a\.pt is no whole file of torch\.save"):
        read_stored(path)


def huge():
    """Return a tensor that claims 2 ** 40 numbers and holds one."""
    return torch.zeros(1).expand(2**40)


def bad(content, **changes):
    data, slices = {**content[0]}, {**content[1]}
    for name, value in changes.items():
        (slices if name.startswith("slices_") else data)[name.removeprefix("slices_")] = value
    return data, slices


BAD = [
    ({"edge_attr": huge()}, "has edge_attr in no plain form"),
    ({"edge_index": torch.zeros(2, 8)}, "no edge_index of [2, edges] int64"),
    ({"edge_index": torch.full((2, 8), 9)}, "has an edge to a node that its graph has not"),
    ({"edge_index": torch.full((2, 8), -1)}, "has an edge to a node that its graph has not"),
    ({"slices_x": torch.tensor([0, 3, 7])}, "has slices of x that do not fit it"),
    ({"slices_x": torch.tensor([0, 9, 6])}, "has slices of x that do not fit it"),
    ({"slices_x": "here"}, "has slices of x that do not fit it"),
    ({"slices_x": torch.tensor([0, 0, 6])}, "has graphs without nodes"),
    ({"slices_edge_index": torch.tensor([0, 8])}, "another number of edge lists than graphs"),
    ({"y": torch.zeros(5)}, "has y of [5] float32 in place of [2, 1]"),
    ({"y": torch.tensor([0.0, float("nan")])}, "has y that is not finite"),
    ({"y": None}, "has no y"),
    ({"x": torch.zeros(6, 1)}, "has x of [6, 1] float32 in place of [6, 1]"),
    ({"x": torch.full((6, 1), 28)}, "has x outside 0 to 27"),
    ({"edge_attr": torch.full((8,), 4)}, "has edge_attr outside 0 to 3"),
]


@pytest.mark.parametrize(("changes", "said"), BAD)
def test_content_that_does_not_fit(tmp_path, molecules, changes, said):
    write(tmp_path, MOLECULES, molecules)
    path = tmp_path / MOLECULES.places[0] / "val.pt"
    data, slices = pyg().InMemoryDataset.collate([molecules(4, 3), molecules(5, 3)])
    torch.save(bad((data.to_dict(), slices), **changes), path)
    with pytest.raises(MissingDataError) as caught:
        read_zinc(MOLECULES, tmp_path)
    assert f"{path} has" in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize("content", [{"model": torch.zeros(3)}, [1, 2], (1, 2), ({}, None)])
def test_another_kind_of_file(tmp_path, content):
    torch.save(content, tmp_path / "a.pt")
    with pytest.raises(MissingDataError, match=r"a\.pt holds no graphs of an InMemoryDataset"):
        read_stored(tmp_path / "a.pt")


def test_a_duplicate_and_a_self_loop_are_dropped(tmp_path, molecules):
    graphs = [molecules(0, 3), molecules(1, 2)]
    graphs[0].edge_index = torch.tensor([[1, 0, 1, 2], [0, 1, 0, 2]])
    graphs[0].edge_attr = torch.tensor([1, 2, 3, 1])
    facts = Facts("two", ("a",), ZINC.files, (2, 2, 2), "")
    (tmp_path / "a").mkdir()
    for name in facts.files:
        newest(graphs, tmp_path / "a" / name)
    graph = read_zinc(facts, tmp_path).graph
    assert graph.edge_index[:, :2].tolist() == [[1, 0], [0, 1]]
    assert graph.edge_attr[:2].tolist() == [[1], [2]]


def test_the_real_sets_say_how_many_graphs_are_missing(tmp_path, molecules, images):
    write(tmp_path / "one", Facts("", ZINC.places, ZINC.files, (4, 2, 3), ""), molecules)
    with pytest.raises(MissingDataError, match=r"train\.pt has 4 graphs in place of 10,000"):
        zinc(tmp_path / "one")
    write(tmp_path / "two", Facts("", MNIST.places, MNIST.files, (4, 2, 3), ""), images)
    with pytest.raises(MissingDataError, match=r"train_data\.pt has 4 graphs in place of 55,000"):
        mnist_superpixels(tmp_path / "two")


def test_absent_files(tmp_path, molecules):
    with pytest.raises(MissingDataError, match=r"BENCHSUITE_DATA is not set\. Set it to a folder\. Let PyTorch Geom"):
        zinc(None)
    with pytest.raises(MissingDataError, match="has no ZINC/subset/processed with its files"):
        zinc(tmp_path)
    write(tmp_path, MOLECULES, molecules)
    (tmp_path / MOLECULES.places[0] / "val.pt").unlink()
    with pytest.raises(MissingDataError, match=r"ZINC/subset/processed lacks val\.pt"):
        zinc(tmp_path)


def test_the_layout_is_the_one_that_pygs_own_classes_read(tmp_path, molecules, images, monkeypatch):
    """PyTorch Geometric's classes find the same files in the same folders: the three of a tiny set."""
    from torch_geometric.datasets import ZINC as theirs_zinc
    from torch_geometric.datasets import GNNBenchmarkDataset

    write(tmp_path, Facts("", ZINC.places, ZINC.files, (4, 2, 3), ""), molecules)
    write(tmp_path, Facts("", MNIST.places, MNIST.files, (4, 2, 3), ""), images)
    for cls in (theirs_zinc, GNNBenchmarkDataset):
        monkeypatch.setattr(cls, "_download", lambda self: None)
        monkeypatch.setattr(cls, "_process", lambda self: None)
    assert [len(theirs_zinc(str(tmp_path / "ZINC"), True, part)) for part in ("train", "val", "test")] == [4, 2, 3]
    parent = tmp_path / MNIST.places[0].partition("/")[0]
    assert [len(GNNBenchmarkDataset(str(parent), "MNIST", p)) for p in ("train", "val", "test")] == [4, 2, 3]


def test_each_has_a_card():
    names = {card.name for card in DATASETS}
    assert {ZINC.name, MNIST.name, CIFAR10.name} <= names
