"""Data sets from archives: the right one is recognised, read before it gets its place, and whole or not there."""

from __future__ import annotations

import random
import shutil
import tarfile
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchsuite.archives import open_source
from benchsuite.contracts.cards import DatasetCard, Download
from benchsuite.data.cards import DATASETS
from benchsuite.data.importing import bring, lacking, recognise
from benchsuite.data.planetoid import read_planetoid
from benchsuite.data.presence import find, marks
from benchsuite.errors import MissingDataError, StoreError, UsageError


def pack(folder, path, inside="tiny/"):
    """Write an archive of the form that the name says."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folder.rglob("*")):
                archive.write(file, inside + file.relative_to(folder).as_posix())
    else:
        with tarfile.open(path, f"w:{path.suffix[1:].replace('tar', '')}") as tape:
            for file in sorted(folder.rglob("*")):
                tape.add(file, inside + file.relative_to(folder).as_posix(), recursive=False)
    return path


@pytest.fixture
def files(tiny, tmp_path):
    """Return a folder with TINY's files alone."""
    return tiny.write("files").rename(tmp_path / "files")


@pytest.fixture
def root(tmp_path):
    return tmp_path / "root"


def brought(path, root, *cards, member=None, force=False):
    """Recognise and bring what is in ``path``; None where it is nothing."""
    with open_source(path) as source:
        found = recognise(source, cards, member)
        return None if found is None else bring(source, found, root, force)


def everything(root):
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*")) if root.exists() else []


# What comes in


@pytest.mark.parametrize("inside", ["", "tiny/", "./", "deep/er/tiny/"])
@pytest.mark.parametrize("form", ["zip", "tar", "tar.gz"])
def test_an_archive_is_read_where_it_went(files, root, tmp_path, tiny_card, form, inside):
    target = brought(pack(files, tmp_path / f"x.{form}", inside), root, tiny_card)
    assert target == root / "Planetoid" / "Tiny" / "raw"
    assert {file.name: file.read_bytes() for file in target.iterdir()} == {
        file.name: file.read_bytes() for file in files.iterdir()
    }
    assert sorted(entry.name for entry in root.iterdir()) == ["Planetoid"]


def test_a_folder_is_copied(files, root, tiny_card, tiny):
    brought(files, root, tiny_card)
    assert read_planetoid(tiny.facts, root).test.sum() == 4
    assert len(list(files.iterdir())) == 8


def test_litter_stays_behind(files, root, tmp_path, tiny_card):
    for name in ("__MACOSX/ind.tiny.x", "processed/data.pt", ".DS_Store", "sub/.git/config", "LICENSE", "sub/more.txt"):
        (files / name).parent.mkdir(parents=True, exist_ok=True)
        (files / name).write_text("litter, or not")
    target = brought(pack(files, tmp_path / "x.zip"), root, tiny_card)
    assert [name for name in everything(target) if "ind." not in name] == ["LICENSE", "sub", "sub/more.txt"]


def test_a_folder_called_processed_may_be_the_data_set(files, root, tmp_path, tiny_card):
    assert len(list(brought(pack(files, tmp_path / "x.zip", "processed/"), root, tiny_card).iterdir())) == 8


def test_presence_finds_what_was_brought(files, root, tiny_card):
    assert find(tiny_card, root) is None
    brought(files, root, tiny_card)
    found = find(tiny_card, root)
    assert found.place == root / "Planetoid" / "Tiny" / "raw"
    assert found.size == sum(file.stat().st_size for file in files.iterdir())


# Which one it is


def card(name, *files, url=None, folder=None):
    folder = folder or name.replace("-", "_")
    downloads = (Download(url=url),) if url else ()
    marked = tuple(f"{folder}/{file}" for file in files)
    common = {"target": "m:f", "summary": "S", "licence": "L", "source": "S"}
    return DatasetCard(name=name, files=marked, folder=folder, downloads=downloads, **common)


MOLECULES = [
    card(f"ogbg-mol{name}", "raw/edge.csv.gz", "split/scaffold/train.csv.gz", url=f"http://x/{name}.zip")
    for name in ("hiv", "bace")
]
ARXIV = card("ogbn-arxiv", "raw/edge.csv.gz", "split/time/train.csv.gz", url="http://x/arxiv.zip")
SUITE = [*MOLECULES, ARXIV, card("mutag", "MUTAG_A.txt", folder="TUDataset/MUTAG/raw")]


def named(tmp_path, path, *names):
    """Return what an archive of empty files of these names is taken for, as (name, folder inside)."""
    with zipfile.ZipFile(tmp_path / path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    with open_source(tmp_path / path) as source:
        found = recognise(source, SUITE)
        return found and (found.card.name, found.inside)


MOLECULE = ("raw/edge.csv.gz", "split/scaffold/train.csv.gz")


@pytest.mark.parametrize(
    ("path", "inside", "name"),
    [
        ("x.zip", "hiv/", "ogbg-molhiv"),  # as OGB's archive has it
        ("x.zip", "data/ogbg_molbace/", "ogbg-molbace"),  # as OGB's library renames it
        ("x.zip", "ogbg-molbace/", "ogbg-molbace"),
        ("HIV.zip", "", "ogbg-molhiv"),
        ("bace.zip", "dataset/", "ogbg-molbace"),
    ],
)
def test_sets_of_one_layout_are_told_apart_by_what_they_are_called(tmp_path, path, inside, name):
    found = named(tmp_path, path, *(inside + file for file in MOLECULE))
    assert found == (name, inside.removesuffix("/"))


def test_sets_of_another_layout_need_no_name(tmp_path):
    assert named(tmp_path, "x.zip", "y/raw/edge.csv.gz", "y/split/time/train.csv.gz") == ("ogbn-arxiv", "y")
    assert named(tmp_path, "x.zip", "MUTAG/MUTAG_A.txt", "MUTAG/README") == ("mutag", "MUTAG")


def test_a_star_stands_for_no_folder(tmp_path):
    stars = card("imdb", "IMDB*BINARY.txt")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("IMDBBINARY/IMDBBINARY.txt", "")
    with open_source(tmp_path / "x.zip") as source:
        assert recognise(source, [stars]).inside == "IMDBBINARY"


def test_what_may_be_several_is_asked_for(tmp_path):
    with pytest.raises(UsageError, match=r"may be any of ogbg-molhiv, ogbg-molbace\. Choose one with --name"):
        named(tmp_path, "x.zip", *MOLECULE)


def test_the_folder_that_lies_least_deep_is_taken(tmp_path):
    assert named(tmp_path, "x.zip", "backup/MUTAG_A.txt", "MUTAG_A.txt") == ("mutag", "")


def test_one_that_is_there_twice_is_asked_for(files, root, tmp_path, tiny_card):
    (tmp_path / "two").mkdir()
    for name in ("a", "b"):
        shutil.copytree(files, tmp_path / "two" / name)
    (tmp_path / "two" / "b" / "extra").touch()
    with pytest.raises(UsageError, match=r"holds tiny at a, b\. Choose one with --member"):
        brought(tmp_path / "two", root, tiny_card)
    assert (brought(tmp_path / "two", root, tiny_card, member="b/") / "extra").exists()
    assert brought(tmp_path / "two", tmp_path / "other", tiny_card, member="c") is None


@pytest.mark.parametrize(
    "names", [(), ("readme.txt",), ("raw/node-feat.csv.gz",), ("x/raw/edge.csv",), ("MUTAG_A.txt/x",)]
)
def test_a_stranger_is_none_of_them(tmp_path, names):
    assert named(tmp_path, "x.zip", *names) is None


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (("q/raw/edge.csv.gz",), "x.zip looks like ogbg-molhiv, and lacks split/scaffold/train.csv.gz"),
        (("raw/train.csv.gz", "edge.csv.gz"), "x.zip looks like ogbg-molhiv, and lacks its folders"),
        (("readme.txt",), None),
    ],
)
def test_a_part_of_one_is_told(tmp_path, names, says):
    named(tmp_path, "x.zip", *names)
    with open_source(tmp_path / "x.zip") as source:
        problem = lacking(source, SUITE)
    assert (None if problem is None else problem.message) == (says and f"{tmp_path}/{says}")


def test_every_card_with_a_download_or_a_folder_can_be_recognised():
    for each in DATASETS:
        if each.downloads or each.folder:
            assert marks(each), f"{each.name}: none of its files and layouts lies in {each.folder!r}"


# Whole, or not at all


def test_one_that_is_there_is_left_alone(files, root, tiny_card):
    target = brought(files, root, tiny_card)
    (target / "mine").write_text("mine")
    with pytest.raises(UsageError, match=r"raw is there already\. Replace it with --force"):
        brought(files, root, tiny_card)
    assert (target / "mine").exists()
    brought(files, root, tiny_card, force=True)
    assert not (target / "mine").exists()


def test_a_bad_one_does_not_replace_a_good_one(files, root, tmp_path, tiny_card, tiny):
    brought(files, root, tiny_card)
    before = everything(root)
    (files / "ind.tiny.graph").write_bytes(b"damaged")
    with pytest.raises(MissingDataError):
        brought(files, root, tiny_card, force=True)
    assert everything(root) == before
    assert read_planetoid(tiny.facts, root).test.sum() == 4


def test_what_its_reader_refuses_is_not_kept(files, root, tmp_path, tiny_card):
    (files / "ind.tiny.test.index").write_text("12\n9\n13\n")
    path = pack(files, tmp_path / "short.zip")
    with pytest.raises(MissingDataError) as caught:
        brought(path, root, tiny_card)
    said = "Planetoid/Tiny/raw/ind.tiny.test.index has 3 different ids in place of 4: damaged, or another data set"
    assert caught.value.message == f"{path} holds no sound tiny: {said} than 'tiny'"
    assert everything(root) == []


def test_the_wrong_data_set_under_a_right_name_is_refused(tiny, files, root, tmp_path, tiny_card):
    for file in files.iterdir():
        file.write_bytes(random.Random(0).randbytes(500))
    with pytest.raises(MissingDataError, match="holds no sound tiny: "):
        brought(pack(files, tmp_path / "x.zip"), root, tiny_card)
    assert everything(root) == []


def test_a_disk_without_room(files, root, tiny_card, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(10, 10, 10))
    with pytest.raises(StoreError, match=r"data set 'tiny' needs [\d,]+ bytes, and the disk of .* has room for 10\."):
        brought(files, root, tiny_card)
    assert everything(root) == []


def test_an_encrypted_zip_is_one_line(files, root, tmp_path, tiny_card):
    path = pack(files, tmp_path / "secret.zip")
    data = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        place = -1
        while (place := data.find(mark, place + 1)) >= 0:
            data[place + offset] |= 1
    path.write_bytes(data)
    with pytest.raises(MissingDataError, match=r"secret\.zip cannot be unpacked: File .* is encrypted"):
        brought(path, root, tiny_card)
    assert everything(root) == []


@pytest.mark.parametrize("form", ["zip", "tar", "tar.gz"])
@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_damage_leaves_anything_but_the_original(tiny, tmp_path, tiny_card, form, data):
    """Whatever is cut or flipped, the data set comes in as it was, or one line is said and nothing is there."""
    files, root = tmp_path / "whole", tmp_path / "data-root"
    if not files.exists():
        tiny.write("whole").rename(files)
    whole = bytearray(pack(files, tmp_path / f"x.{form}").read_bytes())
    if data.draw(st.booleans(), "cut"):
        del whole[data.draw(st.integers(0, len(whole) - 1), "length") :]
    else:
        for place in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=4), "places"):
            whole[place] ^= data.draw(st.integers(1, 255), "flip")
    path = tmp_path / f"damaged.{form}"
    path.write_bytes(whole)
    said = "it holds no data set"
    try:
        target = brought(path, root, tiny_card)
    except MissingDataError as error:
        target, said = None, str(error)
    if target is None:
        assert "\n" not in said
        assert everything(root) == []
        return
    # A tar has no checksums of contents, so there the reader is the judge.
    if form != "tar":
        for file in files.iterdir():
            assert (target / file.name).read_bytes() == file.read_bytes()
    read_planetoid(tiny.facts, root)
    shutil.rmtree(root)


# The real ones


@pytest.mark.data
@pytest.mark.parametrize("name", ["MUTAG", "IMDBBINARY", "PROTEINS"])
def test_the_archives_of_tu_are_recognised_and_read(data_root, root, name):
    path = data_root / "tu" / f"{name}.zip"
    if not path.exists():
        pytest.skip(f"BENCHSUITE_DATA has no tu/{name}.zip")
    target = brought(path, root, *DATASETS)
    assert list(target.glob(f"{name[:4]}*.txt"))


@pytest.mark.data
def test_planetoids_folder_holds_three(data_root, root):
    path = data_root / "planetoid"
    if not path.exists():
        pytest.skip("BENCHSUITE_DATA has no planetoid")
    with pytest.raises(UsageError, match="may be any of cora, citeseer, pubmed"):
        brought(path, root, *DATASETS)
    citeseer = next(each for each in DATASETS if each.name == "citeseer")
    assert brought(path, root, citeseer) == root / "Planetoid" / "CiteSeer" / "raw"
