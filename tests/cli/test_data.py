"""``benchsuite data``: what is printed, and how it ends."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from benchsuite.cli.main import main
from benchsuite.cli.transfer import megabytes

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


class TestList:
    def test_it_says_what_is_there_what_it_costs_and_what_needs_it(self, data, tmp_path, capsys):
        folder = tmp_path / "tu"
        folder.mkdir()
        (folder / "MUTAG.zip").write_bytes(b"x" * 12_363)
        code, out, err = data("list", "--json", root=tmp_path)
        assert (code, err) == (0, [])
        sets = {entry["name"]: entry for entry in json.loads("".join(out))}
        mutag, cora, digits = sets["mutag"], sets["cora"], sets["digits-knn"]
        assert (mutag["state"], mutag["place"], mutag["bytes"]) == ("present", str(folder / "MUTAG.zip"), 12_363)
        assert (cora["state"], cora["place"], cora["bytes"]) == ("absent", None, None)
        assert (digits["state"], digits["bytes"]) == ("bundled", None)
        assert "cora-gcn" in cora["tasks"]
        assert all(entry["licence"] for entry in sets.values())
        code, out, _ = data("list", root=tmp_path)
        rows = {line.split()[0]: re.split("  +", line) for line in out}
        assert rows["NAME"] == ["NAME", "STATE", "SIZE", "PLACE", "LICENCE", "TASKS"]
        assert rows["mutag"][1:4] == ["present", "12 kB", "tu/MUTAG.zip"]
        assert rows["cora"][1:4] == ["absent", "-", "benchsuite data fetch cora"]
        assert rows["cora"][5] == ", ".join(cora["tasks"])
        assert rows["digits-knn"][1:4] == ["bundled", "-", "-"]
        assert main(["list", "datasets", "--no-plugins"]) == 0
        assert capsys.readouterr().out.splitlines() == out

    def test_the_size_of_a_download_is_told_where_it_is_known(self):
        from benchsuite.cli.datasets import dataset_json, dataset_row
        from benchsuite.contracts.cards import DatasetCard, Download
        from benchsuite.host import HostOptions, load_catalogue

        catalogue = load_catalogue(HostOptions(no_plugins=True))
        known = (Download(url="http://x/a.zip", size=80_000_000), Download(url="http://x/b.zip", size=500_000))
        unknown = (*known, Download(url="http://x/c.zip"))
        common = {"target": "m:f", "summary": "S", "licence": "L", "source": "S", "folder": "f", "files": ("f/a",)}
        for downloads, size in ((known, "80.5 MB to fetch"), (unknown, "-"), ((), "-")):
            card = DatasetCard(name="one", downloads=downloads, **common)
            assert dataset_row(dataset_json(catalogue, card))[2] == size

    @pytest.mark.parametrize(
        ("size", "text"),
        [
            (0, "0 kB"),
            (1, "1 kB"),
            (12_363, "12 kB"),
            (999_499, "999 kB"),
            (999_500, "1.0 MB"),
            (1_380_000_000, "1,380 MB"),
        ],
    )
    def test_sizes_are_written_as_people_do(self, size, text):
        assert megabytes(size) == text


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


class TestImportOfADataSet:
    @pytest.fixture
    def archive(self, tmp_path):
        """Write TUDataset's raw form of a collection of the right name and the wrong size."""
        path = tmp_path / "anything.zip"
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("MUTAG/MUTAG_A.txt", "1, 2\n2, 1\n")
            packed.writestr("MUTAG/MUTAG_graph_indicator.txt", "1\n1\n")
            packed.writestr("MUTAG/MUTAG_graph_labels.txt", "1\n")
        return path

    def test_what_its_reader_refuses_is_one_line(self, data, archive, tmp_path):
        code, out, err = data("import", str(archive), root=tmp_path / "data")
        assert (code, out, len(err)) == (2, [], 1)
        assert err[0].startswith(f"benchsuite: {archive} holds no sound mutag: TUDataset/MUTAG/raw has 1 graphs")
        assert list((tmp_path / "data").rglob("*")) == []

    def test_a_part_of_one_is_one_line(self, data, tmp_path):
        path = tmp_path / "x.zip"
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("MUTAG/MUTAG_A.txt", "1, 2\n")
            packed.writestr("MUTAG/MUTAG_graph_labels.txt", "1\n")
        code, out, err = data("import", str(path), root=tmp_path / "data")
        assert (code, out) == (2, [])
        assert err == [f"benchsuite: {path} looks like mutag, and lacks MUTAG_graph_indicator.txt. Get it again, whole"]

    def test_a_stranger_is_one_line(self, data, tmp_path):
        zipfile.ZipFile(tmp_path / "empty.zip", "w").close()
        code, _, err = data("import", str(tmp_path / "empty.zip"), root=tmp_path / "data")
        assert (code, len(err)) == (2, 1)
        assert "holds no checkpoint" in err[0]
        code, _, err = data("import", str(tmp_path / "empty.zip"), "--name", "cora", root=tmp_path / "data")
        assert (code, err) == (
            2,
            [f"benchsuite: {tmp_path / 'empty.zip'} is not cora, nor a part of it. Name another FILE"],
        )

    def test_a_name_that_it_is_not_is_refused(self, data, archive, tmp_path):
        code, _, err = data("import", str(archive), "--name", "mine", root=tmp_path / "data")
        assert (code, err) == (
            2,
            [f"benchsuite: {archive} holds the data set mutag, not 'mine'. Leave out --name"],
        )

    @pytest.mark.data
    def test_it_says_where_it_went_and_what_needs_it(self, data, data_root, tmp_path):
        path = data_root / "tu" / "MUTAG.zip"
        if not path.exists():
            pytest.skip("BENCHSUITE_DATA has no tu/MUTAG.zip")
        root = tmp_path / "data"
        code, out, err = data("import", str(path), root=root)
        assert (code, err) == (0, [])
        assert out[0] == f"{root / 'TUDataset' / 'MUTAG' / 'raw'} is there: the data set mutag"
        assert len(out) == 2
        code, _, err = data("import", str(path), root=root)
        assert (code, len(err)) == (2, 1)
        assert err[0].endswith("is there already. Replace it with --force")
        assert data("import", str(path), "--force", root=root)[0] == 0
        assert data("check", "mutag", root=root)[0] == 0


def test_no_network_is_one_line_for_a_data_set_of_the_list(data, tmp_path, monkeypatch):
    """The proxy is the discard port of this machine: nobody listens."""
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    code, out, err = data("fetch", "mutag", root=tmp_path / "data")
    assert (code, out, len(err)) == (2, [], 1)
    assert "MUTAG.zip is out of reach (Connection refused)" in err[0]
    assert "benchsuite data import MUTAG.zip" in err[0]
    assert "BENCHSUITE_DATA" in err[0]
    assert list((tmp_path / "data").iterdir()) == []
