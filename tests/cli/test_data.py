"""``benchsuite data``: what is printed, and how it ends."""

from __future__ import annotations

import re
import shutil
import zipfile
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from benchsuite.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def data(capsys, monkeypatch):
    """Run ``benchsuite data ...``; return exit code, lines of stdout, lines of stderr."""

    def run(*words: str, root: Path | None = None, plugin: Path | None = None) -> tuple[int, list[str], list[str]]:
        monkeypatch.delenv("BENCHSUITE_DATA", raising=False)
        if root is not None:
            monkeypatch.setenv("BENCHSUITE_DATA", str(root))
        options = ["--no-plugins"] if plugin is None else ["--plugin-path", str(plugin)]
        code = main(["data", *words, *options])
        printed = capsys.readouterr()
        return code, printed.out.splitlines(), printed.err.splitlines()

    return run


@pytest.fixture(scope="module")
def plugin(tmp_path_factory) -> Path:
    """Write a plugin with a graph that breaks two invariants, a corpus that breaks two, and no download."""
    folder = tmp_path_factory.mktemp("odd")
    package = folder / "benchsuite_odd_data"
    package.mkdir()
    (folder / "pyproject.toml").write_text(
        dedent("""
        [project]
        name = "benchsuite-odd-data"
        version = "1"
        [project.entry-points.benchsuite]
        odd-data = "benchsuite_odd_data"
        """)
    )
    (package / "__init__.py").write_text(
        dedent("""
        from benchsuite.plugin import DatasetCard, hookimpl

        @hookimpl
        def benchsuite_datasets():
            common = {"summary": "Odd.", "licence": "MIT", "source": "here"}
            return [
                DatasetCard(name="odd", target=__name__ + ".reader:odd", files=("odd/a.csv", "odd/b.csv"), **common),
                DatasetCard(name="gone", target=__name__ + ".nowhere:odd", **common),
                DatasetCard(name="leaky", target=__name__ + ".reader:leaky", **common),
            ]
        """)
    )
    (package / "reader.py").write_text(
        dedent("""
        import dataclasses, torch
        from benchsuite.data.digits import digits_knn
        from benchsuite.data.text import Corpus

        def odd(root):
            good = digits_knn()
            good.graph.x[7, 3] = float("nan")
            return dataclasses.replace(good, name="odd", test=torch.ones_like(good.test))

        def leaky(root):
            return Corpus("leaky", ("one", "", "two"), ("two",), "0" * 64)
        """)
    )
    return folder


class TestCheck:
    def test_prints_the_figures_of_a_bundled_data_set(self, data):
        code, out, err = data("check", "digits-knn")
        assert (code, err) == (0, [])
        lines = {line.split()[0]: line for line in out}
        assert lines["nodes"] == "nodes      1,797"
        assert lines["edges"] == "edges      24,678 directed, each with its reverse"
        assert lines["features"] == "features   64, in 0 to 1"
        assert lines["classes"] == "classes    10 (20 training nodes each)"
        assert lines["split"] == "split      train 200, val 500, test 1,097"
        assert lines["degrees"].startswith("degrees    10 to ")
        assert len(lines["hash"].split()[1]) == 64
        assert out[-1] == "digits-knn is valid"

    def test_prints_the_figures_of_a_corpus(self, data):
        code, out, err = data("check", "cpython-docs")
        assert (code, err) == (0, [])
        assert [line.split("  ")[0] for line in out[:4]] == ["training", "held out", "hash", "licence"]
        assert out[-1] == "cpython-docs is valid"
        assert re.search(r"training   \d+ documents, \d{3},\d{3} bytes; characters \d+ to \d+, median \d+", out[0])

    def test_prints_one_line_for_each_problem(self, data, plugin):
        code, out, err = data("check", "odd", plugin=plugin)
        assert (code, out) == (2, [])
        mine = [line for line in err if line.startswith("odd: ")]
        assert mine[0] == "odd: x[7, 3] is nan (1 such values)"
        assert [line.split(" in ", 1)[1] for line in mine[1:]] == [
            "train and in test: labels leak (200 such nodes)",
            "val and in test: labels leak (500 such nodes)",
        ]

    def test_prints_one_line_for_each_problem_of_a_corpus(self, data, plugin):
        code, out, err = data("check", "leaky", plugin=plugin)
        assert (code, out) == (2, [])
        assert [line for line in err if line.startswith("leaky: ")] == [
            "leaky: 1 training documents are empty",
            "leaky: 1 documents are both trained on and held out",
        ]

    def test_a_corpus_whose_files_lack(self, data, tmp_path):
        code, out, err = data("check", "gutenberg", root=tmp_path)
        assert (code, out, len(err)) == (2, [], 1)
        assert err[0].startswith(f"benchsuite: corpus 'gutenberg': there is no folder {tmp_path}/text/gutenberg. ")

    def test_a_target_that_cannot_be_imported(self, data, plugin):
        code, out, err = data("check", "gone", plugin=plugin)
        assert (code, out) == (2, [])
        assert err[-1].startswith("benchsuite: data set 'gone': its target benchsuite_odd_data.nowhere:odd cannot be")

    def test_an_unknown_name(self, data):
        code, _, err = data("check", "digit-knn")
        assert code == 2
        assert err == ["benchsuite: there is no data set 'digit-knn'. Did you mean 'digits-knn'?"]

    def test_no_variable(self, data):
        code, out, err = data("check", "cora")
        assert (code, out, len(err)) == (2, [], 1)
        assert err[0].startswith("benchsuite: data set 'cora' needs files, and BENCHSUITE_DATA is not set. Set ")

    def test_an_empty_folder(self, data, tmp_path):
        code, out, err = data("check", "pubmed", root=tmp_path)
        assert (code, out) == (2, [])
        assert err == [
            f"benchsuite: data set 'pubmed': {tmp_path} is empty. Run: benchsuite data fetch pubmed (needs a network), "
            f"or put the original ind.pubmed.* into {tmp_path / 'planetoid'}"
        ]

    @pytest.mark.data
    def test_real_files_are_told_from_changed_ones(self, data, data_root, tmp_path):
        code, out, _ = data("check", "cora", root=data_root)
        assert code == 0
        assert out[0].endswith("(the originals, by sha256)")
        from benchsuite.data.planetoid import FACTS, file_names, find

        for file in file_names(FACTS["cora"]):
            shutil.copyfile(find(FACTS["cora"], data_root) / file, tmp_path / file)
        index = tmp_path / "ind.cora.test.index"
        index.write_text(index.read_text().replace("\n", " \n"))
        code, out, _ = data("check", "cora", root=tmp_path)
        assert code == 0
        assert out[0] == f"files      {tmp_path} (not the originals: ind.cora.test.index)"


class TestFetch:
    def test_bundled_data_needs_no_download(self, data):
        code, out, err = data("fetch", "powerlaw-sbm")
        assert (code, err) == (0, [])
        assert out == ["powerlaw-sbm needs no download: it is generated, or comes with a dependency"]

    def test_a_data_set_without_download_says_where_its_files_belong(self, data, plugin, tmp_path):
        said = "benchsuite: data set 'odd' has no download. Put its files into"
        code, _, err = data("fetch", "odd", plugin=plugin)
        assert code == 2
        assert err[-1] == f"{said} the folder that BENCHSUITE_DATA names as odd/a.csv, odd/b.csv"
        code, _, err = data("fetch", "odd", plugin=plugin, root=tmp_path)
        assert code == 2
        assert err[-1] == f"{said} {tmp_path} (BENCHSUITE_DATA) as odd/a.csv, odd/b.csv"

    def test_a_corpus_says_where_its_files_belong(self, data):
        code, out, err = data("fetch", "wikitext-2")
        assert (code, out) == (2, [])
        assert err == [
            "benchsuite: data set 'wikitext-2' has no download. Put its files into the folder that BENCHSUITE_DATA "
            "names as text/wikitext-2/valid.txt*, text/wikitext-2/test.txt* (* is any letters, or none)"
        ]

    def test_no_variable(self, data):
        code, out, err = data("fetch", "cora")
        assert (code, out) == (2, [])
        assert err == [
            "benchsuite: data set 'cora' cannot be fetched: BENCHSUITE_DATA is not set. "
            "Set it to the folder that the files should go to"
        ]

    def test_no_network(self, data, tmp_path, monkeypatch):
        from torch_geometric.datasets import Planetoid

        monkeypatch.setattr(Planetoid, "url", "http://127.0.0.1:9")  # the discard port: nobody listens
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.setenv(name, "127.0.0.1")
        code, out, err = data("fetch", "citeseer", root=tmp_path / "new")
        assert (code, out, len(err)) == (2, [], 1)
        assert "ind.citeseer.x is out of reach" in err[0]
        assert f"Put ind.citeseer.* into {tmp_path / 'new' / 'Planetoid' / 'CiteSeer' / 'raw'} by hand" in err[0]
        assert "BENCHSUITE_DATA" in err[0]

    @pytest.mark.data
    def test_progress_is_one_line_a_file_on_stderr(self, data, data_root):
        code, out, err = data("fetch", "cora", root=data_root)
        assert (code, out) == (0, [])
        assert len(err) == 1
        assert err[0].startswith("cora: all files are in ")


class TestImport:
    @pytest.fixture
    def imported(self, tmp_path, monkeypatch, capsys):
        def run(*words):
            monkeypatch.setenv("BENCHSUITE_DATA", str(tmp_path / "data"))
            code = main(["data", "import", *map(str, words)])
            printed = capsys.readouterr()
            return code, printed.out.splitlines(), printed.err.splitlines()

        return run

    @pytest.fixture
    def wheel(self, tmp_path):
        import numpy as np
        from safetensors.numpy import save

        path = tmp_path / "My_Model-1.0.2-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("my_model/config.json", "{}")
            archive.writestr("my_model/model.safetensors", save({"weight": np.ones(3, "float32")}))
        return path

    def test_a_wheel_becomes_a_task(self, imported, wheel, tmp_path, capsys):
        code, out, err = imported(wheel)
        assert (code, err) == (0, [])
        assert out == [
            f"{tmp_path / 'data' / 'models' / 'my-model'} is there, and its task is trained-my-model:",
            "benchsuite run --plugin dead-direction --plugin probe-controls --task trained-my-model",
        ]
        main(["list", "tasks"])
        assert "trained-my-model" in capsys.readouterr().out

    def test_a_large_file_is_a_line_of_progress(self, imported, wheel, monkeypatch):
        monkeypatch.setattr("benchsuite.archives._LONG", 50)
        code, _, err = imported(wheel)
        assert (code, err) == (0, ["my_model/model.safetensors: 0 MB"])

    def test_what_cannot_be_is_one_line_and_exit_code_2(self, imported, wheel, tmp_path):
        imported(wheel)
        for words, says in [
            ((wheel,), "is there already. Choose another --name, or replace it with --force"),
            ((wheel, "--name", "..."), "'...' makes no name. Choose one with --name: letters and digits"),
            ((tmp_path / "gone.whl",), "is not there. Name an archive or a folder"),
            ((wheel, "--member", "x", "--name", "b"), "has no checkpoint 'x'. It has my_model"),
        ]:
            code, out, err = imported(*words)
            assert (code, out, len(err)) == (2, [], 1)
            assert err[0].endswith(says)
        assert [folder.name for folder in (tmp_path / "data" / "models").iterdir()] == ["my-model"]

    def test_a_name_whose_task_reads_another_folder_is_refused(self, imported, wheel, tmp_path):
        """Its task would be said to be there, and would run the other model."""
        by_hand = tmp_path / "data" / "models" / "My.Model"
        by_hand.mkdir(parents=True)
        (by_hand / "config.json").write_text("{}")
        for words, says in [
            ((wheel,), "the task trained-my-model reads models/My.Model already. Choose another --name"),
            ((wheel, "--force"), "the task trained-my-model reads models/My.Model already. Choose another --name"),
            (
                (wheel, "--name", "Stories260K"),
                "the task trained-stories260k reads stories260K already",
            ),
        ]:
            code, out, err = imported(*words)
            assert (code, out, len(err)) == (2, [], 1)
            assert says in err[0]
        assert [folder.name for folder in by_hand.parent.iterdir()] == ["My.Model"]

    def test_without_a_data_folder_there_is_nowhere_to_put_it(self, wheel, monkeypatch, capsys):
        monkeypatch.delenv("BENCHSUITE_DATA", raising=False)
        assert main(["data", "import", str(wheel)]) == 2
        assert "Set BENCHSUITE_DATA to one" in capsys.readouterr().err
