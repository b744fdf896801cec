"""What is kept of OGB's facts is what ogb 1.3.6 says, and needs no import of it."""

from __future__ import annotations

import ast
import csv
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from benchsuite.data.cards import DATASETS
from benchsuite.data.ogb import readers
from benchsuite.data.ogb.cards import DATASETS as OGB
from benchsuite.data.ogb.facts import FACTS
from benchsuite.data.ogb.official import SHA256

CARDS = {card.name: card for card in OGB}


def master() -> dict[str, dict[str, str]]:
    """Return OGB's master lists, data set to heading to entry; skip where ogb is not installed."""
    spec = importlib.util.find_spec("ogb")
    if spec is None or spec.origin is None:
        pytest.skip("ogb is not installed: pip install 'benchsuite[molecules]'")
    found: dict[str, dict[str, str]] = {}
    for part in ("nodeproppred", "graphproppred"):
        with (Path(spec.origin).parent / part / "master.csv").open(newline="") as file:
            (_, *names), *rows = csv.reader(file)
        found |= {name: {row[0]: row[place] for row in rows} for place, name in enumerate(names, 1)}
    return found


@pytest.mark.parametrize("facts", FACTS.values(), ids=list(FACTS))
def test_facts_are_the_master_lists(facts):
    entry = master()[facts.name]
    outputs = "num classes" if facts.target_type == "classes" else "num tasks"
    kinds = {"classes": "multiclass classification", "binary": "binary classification", "values": "regression"}
    wanted = {
        "url": facts.url,
        "download_name": facts.archive,
        "split": facts.split,
        "eval metric": facts.metric,
        "task type": kinds[facts.target_type],
        outputs: str(facts.outputs),
        "num tasks": str(facts.targets),
        "has_node_attr": str(bool(facts.node_columns)),
        "has_edge_attr": str(bool(facts.edge_columns)),
        # Both directions are made here of all of them; ogb leaves ogbn-arxiv's citations directed.
        "add_inverse_edge": str(facts.name != "ogbn-arxiv"),
        "binary": "False",
    }
    assert {heading: entry[heading] for heading in wanted} == wanted


def test_each_data_set_has_a_card_whose_reader_is_there():
    assert [*CARDS] == [*FACTS]
    assert {card.name for card in OGB} <= {card.name for card in DATASETS}
    for card in OGB:
        module, _, name = card.target.partition(":")
        assert module == readers.__name__
        assert callable(getattr(readers, name))


def test_each_reader_reads_the_data_set_that_it_is_called(monkeypatch):
    for kind in ("read_nodes", "read_graphs"):
        monkeypatch.setattr(readers, kind, lambda facts, root, kind=kind: (kind, facts.name))
    for name, facts in FACTS.items():
        wanted = "read_graphs" if facts.of_graphs else "read_nodes"
        assert getattr(readers, name.replace("-", "_"))(None) == (wanted, name)


def test_sums_are_of_files_that_are_read():
    for name, sums in SHA256.items():
        assert {file.removesuffix(".csv.gz") for file in sums} <= set(FACTS[name].tables)
        assert len(set(sums.values())) == len(sums)


def test_nothing_here_imports_ogb():
    sources = [*Path(readers.__file__).parent.glob("*.py")]
    assert len(sources) > 5
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert "ogb" not in {name.partition(".")[0] for name in names}, path


@pytest.mark.slow
def test_reading_imports_no_ogb_and_starts_no_thread(specimen, tmp_path):
    folder = specimen("ogbg-molesol").csv()
    code = (
        "import sys, threading; from dataclasses import replace; from pathlib import Path\n"
        "from benchsuite.data.ogb.facts import FACTS; from benchsuite.data.ogb.readers import read_graphs\n"
        "dataset = read_graphs(replace(FACTS['ogbg-molesol'], items=30), Path(sys.argv[1]))\n"
        "print(dataset.num_graphs, 'ogb' in sys.modules, threading.active_count())"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder.parent)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["30", "False", "1"]
