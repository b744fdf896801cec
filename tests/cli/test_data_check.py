"""``benchsuite data check`` of many graphs: what is printed, and how it ends."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from benchsuite.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def plugin(tmp_path_factory) -> Path:
    """Write a plugin with four molecules that are sound, and the same with two faults."""
    folder = tmp_path_factory.mktemp("many")
    package = folder / "benchsuite_many_graphs"
    package.mkdir()
    (folder / "pyproject.toml").write_text(
        dedent("""
        [project]
        name = "benchsuite-many-graphs"
        version = "1"
        [project.entry-points.benchsuite]
        many-graphs = "benchsuite_many_graphs"
        """)
    )
    (package / "__init__.py").write_text(
        dedent("""
        from benchsuite.plugin import DatasetCard, hookimpl

        @hookimpl
        def benchsuite_datasets():
            common = {"summary": "Four.", "licence": "MIT", "source": "here", "files": ("four.txt",)}
            return [
                DatasetCard(name=name, target=f"{__name__}.reader:{name}", **common)
                for name in ("sound", "unsound", "classes")
            ]
        """)
    )
    (package / "reader.py").write_text(
        dedent("""
        import dataclasses, torch
        from benchsuite.plugin import Graph, GraphDataset, Split

        def sound(root):
            batch = torch.tensor([0, 0, 1, 1, 2, 3, 3])
            edges = torch.tensor([[1, 0, 3, 2, 6, 5], [0, 1, 2, 3, 5, 6]])
            codes = torch.tensor([[0], [1], [0], [2], [1], [1], [0]])
            bonds = torch.tensor([[0], [0], [1], [1], [0], [0]])
            y = torch.tensor([[0, float("nan")], [1, 1], [1, 0], [1, 0]])
            part = torch.tensor([0, 0, 1, 2])
            return GraphDataset(
                "sound", Graph(codes, edges, batch, bonds), y, (Split(part == 0, part == 1, part == 2),), 2,
                target_type="binary", node_categories=(3,), edge_categories=(2,),
            )

        def unsound(root):
            good = sound(root)
            graph = dataclasses.replace(good.graph, x=good.graph.x + 1)
            return dataclasses.replace(good, name="unsound", graph=graph, y=good.y * 2)

        def classes(root):
            good = sound(root)
            graph = dataclasses.replace(good.graph, x=good.graph.x / 2, edge_attr=None)
            fold = good.folds[0]
            return dataclasses.replace(
                good, name="classes", graph=graph, y=torch.tensor([0, 1, 1, 1]), target_type="classes",
                node_categories=(), edge_categories=(), folds=(fold, fold._replace(val=fold.test, test=fold.val)),
            )
        """)
    )
    return folder


@pytest.fixture
def check(capsys, monkeypatch, plugin, tmp_path):
    (tmp_path / "four.txt").write_text("")
    monkeypatch.setenv("BENCHSUITE_DATA", str(tmp_path))

    def run(name: str) -> tuple[int, list[str], list[str]]:
        code = main(["data", "check", name, "--plugin-path", str(plugin)])
        printed = capsys.readouterr()
        return code, printed.out.splitlines(), [line for line in printed.err.splitlines() if line.startswith(name)]

    return run


def test_figures_and_remarks_of_molecules(check, tmp_path):
    code, out, err = check("sound")
    assert (code, err) == (0, [])
    assert len(out[9].split()[1]) == 64
    assert out[:9] + out[10:] == [
        f"files      {tmp_path}/four.txt",
        "graphs     4, with 1.8 nodes and 1.5 edges each on average",
        "nodes      7",
        "edges      6 directed, each with its reverse",
        "features   codes of 3 categories",
        "edges have codes of 2 categories",
        "targets    2 of yes or no, yes to 57.1%; 1 of 8 labels missing",
        "split      train 2, val 1, test 1",
        "degrees    0 to 1, median 1, mean 0.86, 1 without edges",
        "remark     1 node without an edge, first 4",
        "remark     1 graph without an edge, first 2",
        "remark     target 0 (and 1 more) lacks labels of both kinds in val: it cannot be scored there",
        "remark     target 0 (and 1 more) lacks labels of both kinds in test: it cannot be scored there",
        "remark     1 of 1 test graph with the look of a training graph",
        "licence    MIT",
        "sound is valid",
    ]


def test_figures_of_classes_and_folds(check):
    code, out, _ = check("classes")
    assert code == 0
    assert out[4:7] == [
        "features   1, in 0 to 1",
        "classes    2 (1 to 3 graphs each)",
        "folds      2: train 2, val 1, test 1",
    ]


def test_one_line_for_each_problem(check):
    code, out, err = check("unsound")
    assert (code, out) == (2, [])
    assert err == [
        "unsound: x[3, 0] is 3, but the categories are 0 to 2 (1 such codes)",
        "unsound: y[1, 0] is 2, not 0, 1 or missing (4 such targets)",
    ]
