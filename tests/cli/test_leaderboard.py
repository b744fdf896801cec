"""``benchsuite leaderboard``, with the suite's own tasks and the plugins that lie beside it."""

from __future__ import annotations

import pytest

from benchsuite.boards.files import BEGIN
from benchsuite.cli.main import main
from benchsuite.engine.cells import make_cell, method_ref
from benchsuite.host import HostOptions, load_catalogue
from benchsuite.store import CellRecord

TASK = "digits-knn-gcn"


def records(values: dict[str, list[float]]) -> str:
    """Return lines of a run file: a record for each method and value, under the keys that a run would plan."""
    catalogue = load_catalogue(HostOptions(builtins=("benchsuite.tasks.builtin",)))
    lines = []
    for name, measured in values.items():
        for seed, value in enumerate(measured):
            cell = make_cell(catalogue.task(TASK), "data", {"quantizer": method_ref(catalogue.method(name), {})}, seed)
            record = CellRecord(
                run="r",
                cell=cell.id,
                key=cell.key(),
                status="ok",
                metrics={"accuracy": value},
                measurements={"cost_ratio": 2.0},
                env="e",
                started="2026-01-02T03:04:05.000000+00:00",
                seconds=1.0,
                alone=True,
            )
            lines.append(record.text())
    return "".join(lines)


@pytest.fixture
def out(tmp_path):
    """A folder with records of the reference and of one method."""
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "r.jsonl").write_text(records({"fp32": [95.0, 96.0], "ptq-minmax": [94.0, 95.5]}))
    return tmp_path


def test_makes_the_boards_and_names_the_files(out, capsys):
    assert main(["leaderboard", "--out", str(out)]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [str(out / name) for name in ("quantizer.md", "README.md", "quantizer.svg")]
    assert captured.err == ""
    assert "94.75 (-0.75) 2/3" in (out / "quantizer.md").read_text()


def test_check_passes_on_what_was_made_and_fails_on_a_hand_edit(out, capsys):
    main(["leaderboard", "--out", str(out)])
    assert main(["leaderboard", "--out", str(out), "--check"]) == 0
    page = out / "quantizer.md"
    page.write_text(page.read_text().replace("94.75", "99.75"))
    edited = page.read_bytes()
    capsys.readouterr()
    assert main(["leaderboard", "--out", str(out), "--check"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{page} is stale or was edited by hand",
        "Mend with: benchsuite leaderboard",
    ]
    assert page.read_bytes() == edited


def test_without_records_it_says_so_and_writes_nothing(tmp_path, capsys):
    assert main(["leaderboard", "--out", str(tmp_path / "none")]) == 0
    assert capsys.readouterr().out.startswith(f"No records that count below {tmp_path / 'none' / 'results'}")
    assert main(["leaderboard", "--out", str(tmp_path / "none"), "--check"]) == 0
    assert list(tmp_path.iterdir()) == []


def test_one_kind(out, capsys):
    assert main(["leaderboard", "--out", str(out), "--kind", "probe"]) == 0
    assert capsys.readouterr().out.splitlines() == [str(out / "README.md")]
    assert main(["leaderboard", "--out", str(out), "--kind", "sandwich"]) == 2
    assert "sandwich" in capsys.readouterr().err


def test_a_problem_in_the_store_is_one_line_and_no_end(out, capsys):
    with (out / "results" / "r.jsonl").open("a") as file:
        file.write('{"type": "cell", "torn')
    assert main(["leaderboard", "--out", str(out)]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("benchsuite: warning: r.jsonl:5: it is no record")
    assert "1 problems in the store" in (out / "quantizer.md").read_text()


def test_broken_markers_end_in_one_line(out, capsys):
    (out / "quantizer.md").write_text(BEGIN)
    assert main(["leaderboard", "--out", str(out)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"benchsuite: {out / 'quantizer.md'}: its BEGIN and END markers are no pair.")


def test_a_plugin_that_is_left_out_makes_the_board_say_so(out):
    assert main(["leaderboard", "--out", str(out), "-p", "no:ptq"]) == 0
    assert "ptq-minmax INT8 (card not found)" in (out / "quantizer.md").read_text()
