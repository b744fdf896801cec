"""read() imports a card's target, calls it, and lets nothing invalid through."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchsuite.contracts.cards import DatasetCard
from benchsuite.data import NodeDataset, load, read
from benchsuite.data.cards import DATASETS
from benchsuite.errors import MissingDataError, PluginError


def card(target: str, name: str = "mine") -> DatasetCard:
    return DatasetCard(name=name, target=target, summary="A data set.", licence="MIT", source="Here")


TEXT = [c for c in DATASETS if ".text." in c.target]
GRAPHS = [c for c in DATASETS if c not in TEXT]


@pytest.mark.parametrize("known", [c for c in GRAPHS if c.bundled], ids=lambda c: c.name)
def test_bundled_data_sets_need_no_root(known):
    dataset = read(known, None)
    assert isinstance(dataset, NodeDataset)
    assert dataset.name == known.name
    assert dataset.content_hash() == read(known, None).content_hash()


@pytest.mark.parametrize("known", [c for c in DATASETS if not c.bundled], ids=lambda c: c.name)
def test_the_others_say_what_they_need(known):
    with pytest.raises(MissingDataError, match="BENCHSUITE_DATA is not set") as caught:
        load(known, None)
    folder = f"text/{known.name}" if known in TEXT else known.files[0].partition("/")[0]
    has_download = known.fetch or known.downloads
    assert (f"benchsuite data fetch {known.name}" if has_download else folder) in caught.value.mend


def test_text_is_loaded_and_is_no_graph():
    corpus = load(next(c for c in TEXT if c.bundled), None)
    assert len(corpus.documents) > len(corpus.held_out) > 0
    with pytest.raises(PluginError, match="'cpython-docs' is a Corpus, and a task wants"):
        read(next(c for c in TEXT if c.bundled), None)


@pytest.mark.parametrize("target", ["no.such.module:f", "benchsuite.data:no_such_function"])
def test_a_target_that_is_not_there(target):
    with pytest.raises(PluginError, match=r"'mine': its target .* cannot be imported"):
        read(card(target), None)


def test_a_target_that_returns_something_else():
    with pytest.raises(PluginError, match="returned bool, no NodeDataset, GraphDataset or Corpus"):
        read(card("os.path:isabs"), "/")


def test_read_validates_and_load_does_not(monkeypatch):
    import dataclasses

    from benchsuite.data import digits

    good = digits.digits_knn()
    leaky = dataclasses.replace(good, test=good.test | good.train)
    monkeypatch.setattr(digits, "digits_knn", lambda root: leaky)
    target = card("benchsuite.data.digits:digits_knn", "digits-knn")
    assert load(target, None) is leaky
    with pytest.raises(MissingDataError, match="is in train and in test: labels leak"):
        read(target, None)


def test_cards_and_package_import_nothing_heavy():
    heavy = "{'torch', 'numpy', 'scipy', 'sklearn', 'pandas', 'torch_geometric'}"
    code = f"import sys, benchsuite.data, benchsuite.data.cards; print(sorted({heavy} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
