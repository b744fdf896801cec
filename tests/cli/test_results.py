"""``benchsuite results``, from the command line."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from benchsuite.cli.main import main
from benchsuite.store import CellRecord, read_store
from benchsuite.store.filed import FiledRecord
from benchsuite.store.records import EnvLine, digest

ENV = EnvLine(env={"python": "3.11"}).sealed()


def record(seed: int) -> CellRecord:
    key = {"task": "t", "task_version": "1", "config": "c", "data": "d", "protocol": "p/1", "device": "cpu"}
    key |= {"seed": seed, "methods": {"probe": {"name": "m", "version": "1", "params": {}}}}
    fields = {
        "run": "r",
        "cell": digest(key),
        "key": key,
        "status": "ok",
        "env": ENV.hash,
        "metrics": {"auc": seed / 3},
    }
    return CellRecord.model_validate({**fields, "started": "2026", "seconds": 1.0, "alone": True}).sealed()


@pytest.fixture
def out(tmp_path):
    path = tmp_path / "out" / "results" / "r.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(ENV.text() + "".join(record(seed).text() for seed in range(3)))
    return tmp_path / "out"


@pytest.fixture
def command(out, capsys):
    """Return a function that runs a command on the folder; it returns exit code, stdout and stderr."""

    def run(*words) -> tuple[int, str, str]:
        code = main(["results", *map(str, words), "--out", str(out)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_a_sound_store_is_verified(command):
    assert command("verify") == (
        0,
        "1 file, 3 records: 3 usable, 0 withdrawn, 0 copied or contradicted; 0 lines dropped, 0 remarks\n",
        "",
    )


def test_what_is_dropped_is_said_and_is_exit_code_1(command, out):
    with (out / "results" / "r.jsonl").open("ab") as file:
        file.write(b'{"torn \x1b[31m')
    code, said, _ = command("verify")
    assert code == 1
    assert "1 line dropped" in said
    assert re.search(r"^dropped: r\.jsonl:5: it is no record", said, re.MULTILINE)
    assert "\x1b" not in said


def test_remarks_alone_are_exit_code_0(command, out):
    (out / "results" / "r.jsonl").write_text(record(0).text())
    code, said, _ = command("verify")
    assert code == 0
    assert f"remark: r.jsonl: 1 cell refers to environment {ENV.hash}, which no line has" in said


def test_an_empty_folder_verifies(tmp_path, capsys):
    assert main(["results", "verify", "--out", str(tmp_path)]) == 0
    assert "0 files, 0 records" in capsys.readouterr().out


def test_merge_says_what_came(command, out, tmp_path):
    other = tmp_path / "other"
    (other / "results").mkdir(parents=True)
    (other / "results" / "x.jsonl").write_text(record(7).text())
    assert command("merge", other) == (0, f"new: x.jsonl\n1 file merged into {out / 'results'}, 0 here already\n", "")
    assert len(read_store(out).cells) == 4


def test_a_refused_merge_is_one_line_and_exit_code_2(command, tmp_path):
    (tmp_path / "r.jsonl").write_text(record(7).text())
    code, said, error = command("merge", tmp_path)
    assert (code, said, error.count("\n")) == (2, "", 1)
    assert "differ. Two runs never share a name" in error


def test_void_withdraws_once(command, out):
    mark = record(1).hash
    code, said, _ = command("void", mark, "--reason", "wrong data", "--author", "somebody")
    assert code == 0
    assert said.startswith("1 record withdrawn in ")
    assert mark not in {each.hash for each in read_store(out).cells}
    for word, message in ((mark, "withdrawn already: wrong data"), ("nothing", "there is no record 'nothing'")):
        code, _, error = command("void", word, "--reason", "again")
        assert (code, error.count("\n")) == (2, 1)
        assert message in error


def test_void_needs_a_reason(command):
    code, _, error = command("void", record(1).hash)
    assert code == 2
    assert "--reason" in error


def test_the_author_is_who_is_logged_in(command, out, monkeypatch):
    monkeypatch.setenv("LOGNAME", "somebody")
    command("void", record(1).hash, "--reason", "wrong data")
    (new,) = (path for path in (out / "results").iterdir() if path.name != "r.jsonl")
    assert json.loads(new.read_text())["author"] == "somebody"


@pytest.mark.parametrize("form", ["csv", "json"])
def test_export_writes_rows_to_a_file_or_to_stdout(command, tmp_path, form):
    path = tmp_path / f"table.{form}"
    assert command("export", path) == (0, "", "3 rows written\n")
    text = path.read_text()
    assert command("export", "-", "--format", form) == (0, text, "3 rows written\n")
    if form == "json":
        assert [(row["probe"], row["seed"], row["metric.auc"]) for row in json.loads(text)] == [
            ("m", seed, seed / 3) for seed in range(3)
        ]
    else:
        assert text.startswith("run,cell,status,")
        assert text.count("\n") == 4


def test_export_to_nowhere_is_one_line(command, tmp_path):
    code, _, error = command("export", tmp_path / "no" / "table.csv")
    assert (code, error.count("\n")) == (2, 1)
    assert "cannot be written: No such file or directory" in error


def test_the_index_is_made_and_used(command, out):
    code, said, _ = command("index")
    assert (code, said) == (0, f"3 records in {out / 'results' / '.index'}\n")
    assert type(read_store(out).cells[0]) is FiledRecord
    assert command("verify")[0] == 0


def test_where_no_index_can_be_made_it_is_one_line(command, out):
    (out / "results" / ".index").write_text("in the way")
    code, _, error = command("index")
    assert (code, error.count("\n")) == (2, 1)
    assert "Nothing needs it" in error
    assert os.path.lexists(Path(out) / "results" / ".index")
