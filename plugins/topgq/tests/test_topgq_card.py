"""The card: what it offers, what it imports, and the paper's figures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import benchsuite_topgq
import pytest

from benchsuite.plugin import MethodSpec

CARD = benchsuite_topgq.CARD


def test_the_hook_offers_the_card():
    assert benchsuite_topgq.benchsuite_methods() == [CARD]


def test_the_card_imports_nothing_heavy():
    heavy = "{'torch', 'numpy', 'scipy', 'pandas', 'torch_geometric'}"
    code = f"import sys, benchsuite_topgq; sys.exit(', '.join({heavy} & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_target_takes_the_cards_parameters():
    spec = MethodSpec(CARD.name, CARD.target, CARD.resolve({"bits": 4, "grouping": "degree"}))
    method = spec.make()
    assert (method.bits, method.neighbours, method.selection, method.grouping) == (4, 3, "activation", "degree")


def test_defaults_of_card_and_class_agree():
    assert vars(MethodSpec(CARD.name, CARD.target, CARD.resolve({})).make()) == vars(
        MethodSpec(CARD.name, CARD.target, {}).make()
    )


@pytest.mark.parametrize(
    ("task", "bits", "value", "reference"),
    [("cora-gcn", 8, 79.96, 80.14), ("citeseer-sage", 4, 75.76, 76.34), ("cora-gat", 8, 80.63, 80.36)],
)
def test_figures_of_the_paper(task, bits, value, reference):
    found = [r for r in CARD.reported if r.task == task and r.params == {"bits": bits}]
    assert [(r.value, r.reference) for r in found] == [(value, reference)]


def test_nine_rows_in_two_widths_are_reported():
    rows = {(row.task, row.params["bits"]): row for row in CARD.reported}
    assert len(rows) == len(CARD.reported) == 18
    assert (rows["imdb-binary-gin", 4].value, rows["imdb-binary-gin", 4].reference) == (76.0, 79.72)
