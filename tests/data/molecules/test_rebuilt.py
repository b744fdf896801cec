"""Data sets rebuilt from tables of SMILES: what is in them, what is left out, and what a bad table costs."""

from __future__ import annotations

import gzip
import logging

import numpy as np
import pytest
import torch

from benchsuite.data.cards import DATASETS
from benchsuite.data.molecules import moleculenet
from benchsuite.data.molecules.facts import FACTS, Facts
from benchsuite.data.molecules.moleculenet import notes, rebuild
from benchsuite.data.molecules.scaffold import murcko, scaffold_split
from benchsuite.data.molecules.tables import read_smiles
from benchsuite.errors import MissingDataError

REFUSED = "CC(C)(C)(C)(C)C"  # a carbon with six bonds
SMILES = ["c1ccccc1", "Cc1ccccc1", "CCO", REFUSED, "C1CCNCC1", "CC", "c1ccncc1", "O=C1CCCCC1", "C", "CCN"]
TINY = Facts("tiny", 10, 2, "binary", "nothing", 10)


def table(smiles=SMILES, header="smiles,a,b", value="1,") -> str:
    return "\n".join([header, *(f"{each},{value}" for each in smiles)]) + "\n"


@pytest.fixture
def write_tiny(tmp_path, write_gz):
    def write(text: str):
        return write_gz(tmp_path / "data" / TINY.file, text).parent.parent

    return write


def test_what_is_in_a_data_set(write_tiny, rdkit, caplog):
    with caplog.at_level(logging.INFO):
        dataset = rebuild(TINY, write_tiny(table()))
    assert dataset.name == "moltiny-rebuilt"
    assert dataset.num_graphs == 9
    assert dataset.graph.batch.bincount().tolist() == [6, 7, 3, 6, 2, 6, 7, 1, 3]
    assert dataset.graph.num_edges == 2 * (6 + 7 + 2 + 6 + 1 + 6 + 7 + 0 + 2)
    assert dataset.y[:, 0].tolist() == [1.0] * 9
    assert dataset.y[:, 1].isnan().all()
    source, target = dataset.graph.edge_index
    assert (torch.diff(target * dataset.graph.num_nodes + source) > 0).all()
    # Benzene's first bond, and the bond from toluene's methyl group.
    assert dataset.graph.edge_attr[0].tolist() == [3, 0, 1]
    assert dataset.graph.edge_attr[target == 6].tolist() == [[0, 0, 0]]
    assert (dataset.target_type, dataset.num_classes, len(dataset.folds)) == ("binary", 2, 1)
    assert sum(int(part.sum()) for part in dataset.folds[0]) == 9
    assert f"1 of 10 SMILES are left out: RDKit {moleculenet.version()} refuses them" in caplog.text


def test_notes_say_what_is_left_out(write_tiny, rdkit):
    lines = dict(notes(TINY, write_tiny(table())))
    assert lines["left out"] == "1 (rows 3)"
    assert "moleculenet/tiny.csv.gz" in lines["rebuilt"]


def test_the_second_time_nothing_is_rebuilt(write_tiny, rdkit, monkeypatch):
    root = write_tiny(table([*SMILES[:9], "CCCCl"]))
    first = rebuild(TINY, root)
    monkeypatch.setattr(moleculenet, "small_graph", None)
    assert rebuild(TINY, root).content_hash() == first.content_hash()


def test_another_table_or_damage_in_the_cache_is_noticed(write_tiny, rdkit, monkeypatch, tmp_path):
    monkeypatch.setenv("BENCHSUITE_CACHE", str(tmp_path / "cache"))
    first = rebuild(TINY, write_tiny(table()))
    [kept] = (tmp_path / "cache" / "graphs").glob("*.safetensors")
    payload = bytearray(kept.read_bytes())
    payload[-3] ^= 1
    kept.write_bytes(payload)
    assert rebuild(TINY, write_tiny(table())).content_hash() == first.content_hash()
    kept.write_bytes(payload[:50])
    assert rebuild(TINY, write_tiny(table())).content_hash() == first.content_hash()
    other = rebuild(TINY, write_tiny(table(value="0,1")))
    assert other.y.tolist() == [[0.0, 1.0]] * 9


BAD = [
    (table(header="smiles,a"), "has columns smiles, a in place of smiles and 2 targets"),
    (table(header="id,a,b"), "has columns id, a, b in place of smiles and 2 targets"),
    ("", "has nothing in place of smiles and 2 targets"),
    (table(SMILES[:9]), "has 9 rows in place of 10: another table than 'tiny'"),
    (table(value="1,2"), "line 2 has '2' where 0 or 1 should be"),
    (table(value="1,nan"), "line 2 has 'nan' where 0 or 1 should be"),
    (table(value="1,yes"), "line 2 has 'yes' where 0 or 1 should be"),
    (table(value="1"), "line 2 has 2 columns or no SMILES"),
    (table(["", *SMILES[1:]]), "line 2 has 3 columns or no SMILES"),
    ('smiles,a,b\n"CC,1,1\n', "holds no table: unexpected end of data"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_bad_tables(write_tiny, rdkit, text, said):
    with pytest.raises(MissingDataError) as caught:
        rebuild(TINY, write_tiny(text))
    assert said in str(caught.value)
    assert "tiny.csv.gz" in str(caught.value)


@pytest.mark.parametrize(
    "payload", [b"", b"no gzip at all", gzip.compress(table().encode())[:40]], ids=["empty", "foreign", "cut"]
)
def test_a_damaged_file(write_tiny, rdkit, payload):
    root = write_tiny("")
    (root / TINY.file).write_bytes(payload)
    with pytest.raises(MissingDataError, match=r"tiny\.csv\.gz (cannot be read|has nothing)"):
        rebuild(TINY, root)


def test_a_bomb(write_tiny, rdkit, monkeypatch):
    monkeypatch.setattr("benchsuite.data.molecules.tables.LIMIT", 50)
    with pytest.raises(MissingDataError, match=r"tiny\.csv\.gz unpacks to more than 50 bytes\. Do not trust"):
        rebuild(TINY, write_tiny(table(value="0,0")))


def test_absent_files(tmp_path):
    with pytest.raises(MissingDataError, match=r"needs moleculenet/tiny\.csv\.gz, and BENCHSUITE_DATA is not set"):
        rebuild(TINY, None)
    with pytest.raises(MissingDataError, match=r"has no moleculenet/tiny\.csv\.gz\. Put it there as"):
        rebuild(TINY, tmp_path)


def test_without_rdkit(write_tiny, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "rdkit.Chem", None)
    with pytest.raises(
        MissingDataError, match=r"by RDKit, which is missing\. Install it: pip install 'benchsuite\[mol"
    ):
        rebuild(TINY, write_tiny(table()))


def test_lines_that_are_no_smiles(tmp_path, write_gz):
    path = write_gz(tmp_path / "a.smi.gz", "CC\nC C\n")
    with pytest.raises(MissingDataError, match=r"a\.smi\.gz, line 2 is no SMILES: 'C C'"):
        read_smiles(path)


def test_scaffolds(rdkit):
    smiles = ["Cc1ccccc1CCO", "c1ccccc1", "CCO", "O=C1CC[C@H](c2ccccc2)C1"]
    assert [murcko(rdkit.MolFromSmiles(each)) for each in smiles] == ["c1ccccc1", "c1ccccc1", "", "O=C1CCC(c2ccccc2)C1"]


def test_the_split_by_hand():
    """Sets by size, then by first index, both descending: b (4), a (3), then e, d, c of one each; 10 molecules."""
    scaffolds = ["a", "b", "b", "c", "a", "b", "d", "a", "b", "e"]
    train, val, test = scaffold_split(scaffolds)
    assert train.tolist() == [0, 1, 2, 4, 5, 7, 8, 9]
    assert val.tolist() == [6]
    assert test.tolist() == [3]


SIZES = {
    "molbace-rebuilt": (1210, 151, 152),
    "molbbbp-rebuilt": (1631, 204, 204),
    "molesol-rebuilt": (902, 113, 113),
    "molfreesolv-rebuilt": (513, 64, 65),
    "mollipo-rebuilt": (3360, 420, 420),
    "molsider-rebuilt": (1141, 143, 143),
}
#: Mean atoms and bonds, as OGB's table of its data sets prints them.
MEANS = {
    "molbace-rebuilt": (34.1, 36.9),
    "molbbbp-rebuilt": (24.1, 26.0),
    "molclintox-rebuilt": (26.2, 27.9),
    "molesol-rebuilt": (13.3, 13.7),
    "molfreesolv-rebuilt": (8.7, 8.4),
    "mollipo-rebuilt": (27.0, 29.5),
    "molsider-rebuilt": (33.6, 35.4),
    "moltox21-rebuilt": (18.6, 19.3),
}


def real(name, data_root, rdkit):
    if not (data_root / FACTS[name].file).is_file():
        pytest.skip(f"{FACTS[name].file} is not below BENCHSUITE_DATA")
    return rebuild(FACTS[name], data_root)


QUICK = ("molesol-rebuilt", "molfreesolv-rebuilt")


@pytest.mark.data
@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in QUICK else pytest.mark.slow) for n in FACTS])
def test_real_tables(name, data_root, rdkit):
    facts, dataset = FACTS[name], real(name, data_root, rdkit)
    graph = dataset.graph
    means = graph.num_nodes / dataset.num_graphs, graph.num_edges / 2 / dataset.num_graphs
    assert means == pytest.approx(MEANS[name], abs=0.0501)
    assert dataset.y.shape == (dataset.num_graphs, facts.targets)
    sizes = tuple(int(part.sum()) for part in dataset.folds[0])
    assert sum(sizes) == dataset.num_graphs
    if name in SIZES:
        assert (dataset.num_graphs, sizes) == (facts.ogb_rows, SIZES[name])
    assert facts.rows - dataset.num_graphs <= 8
    assert bool(dataset.y.isnan().any()) == (name == "moltox21-rebuilt")


@pytest.mark.data
@pytest.mark.slow
def test_the_split_is_ogbs_on_molhiv(data_root, rdkit):
    """OGB's own index files, byte-identical to the published ones, against ours from the SMILES alone."""
    import csv

    from benchsuite.data.molecules.chemistry import molecule, quiet

    folder = data_root / "ogbg_molhiv"
    if not (folder / "mapping" / "mol.csv.gz").is_file():
        pytest.skip("ogbg_molhiv/mapping/mol.csv.gz is not below BENCHSUITE_DATA")
    with gzip.open(folder / "mapping" / "mol.csv.gz", "rt") as file:
        smiles = [row["smiles"] for row in csv.DictReader(file)]
    with quiet():
        molecules = [molecule(rdkit, each) for each in smiles]
        scaffolds = [index if made is None else murcko(made) for index, made in enumerate(molecules)]
    for part, ours in zip(("train", "valid", "test"), scaffold_split(scaffolds), strict=True):
        with gzip.open(folder / "split" / "scaffold" / f"{part}.csv.gz", "rt") as file:
            assert np.array_equal(np.loadtxt(file, np.int64), ours)


def test_each_table_has_a_card_that_says_rebuilt():
    cards = {card.name: card for card in DATASETS}
    for name in FACTS:
        assert "rebuilt from SMILES" in cards[name].summary
