"""A task of two factors from the command line: what is assumed is said, and a dry run says what it would take."""

from __future__ import annotations

import pytest

from benchsuite.cli.main import main


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command in an empty folder; return exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHSUITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BENCHSUITE_DATA", raising=False)

    def call(*words):
        code = main(["run", "--dry-run", *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def rows(out, start):
    return [line.split()[len(start.split()) :] for line in out.splitlines() if line.startswith(start)]


def test_a_curriculum_alone_takes_the_tasks_own_placement_and_says_so(run):
    code, out, err = run("--task", "distill-quick", "--plugin", "grow", "--seeds", "3")
    assert code == 0
    assert "benchsuite: distill-quick: no norm placement is named; it takes its own, pre" in err.splitlines()
    assert rows(out, "distill-quick  pre x joint") == [["3", "0", "3", "0", "0"]]
    assert rows(out, "distill-quick  pre x grow") == [["3", "0", "3", "0", "0"]]
    assert "post" not in out


def test_a_placement_alone_takes_the_tasks_own_curriculum_and_says_so(run):
    _, out, err = run("--task", "distill-quick", "--plugin", "post", "--seeds", "1")
    assert "benchsuite: distill-quick: no curriculum is named; it takes its own, joint" in err.splitlines()
    assert len(rows(out, "distill-quick  p")) == 2


def test_both_factors_are_crossed_and_nothing_is_assumed(run):
    methods = [word for name in ("pre", "post", "joint", "grow") for word in ("--plugin", name)]
    _, out, err = run("--task", "distill-quick", *methods)
    assert "is named" not in err
    assert len(rows(out, "distill-quick  p")) == 4


def test_a_dry_run_tells_what_the_published_setting_takes_though_its_data_is_not_here(run):
    code, out, err = run("--task", "distill-qwen3-8b", "--plugin", "post", "--plugin", "grow")
    assert code == 2
    assert "there is no folder fineweb-edu-10bt" in err
    lines = {line[:21].strip(): line[21:].strip() for line in out.splitlines()}
    assert lines["tokens of a phase"] == "3.11 B (50,000 steps)"
    assert lines["memory of weights"].endswith("GiB with gradients and moments")
    assert lines["cells"] == "4 (4 arms, 1 seed)"
