"""Boards on a screen."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from benchsuite.boards import render_screen


def shown(store, catalogue, tasks=None, **console) -> list[str]:
    file = io.StringIO()
    render_screen(store, catalogue, Console(file=file, **console), tasks)
    return file.getvalue().splitlines()


def test_where_no_terminal_reads_it_is_plain_aligned_text(scene):
    lines = shown(scene.store, scene.catalogue)
    assert lines[0] == "graph-gcn: About graph-gcn"
    assert " ".join(lines[1].split()) == "Method Accuracy (%) - fp32 Rank Forwards Seconds Size Seeds"
    assert " ".join(lines[3].split()) == "fine INT8 80.93 ± 2.39 -0.07 ± 0.38 1 4.00 0.0200 0.25 3/3"
    assert "".join(lines).isprintable()
    assert all(line == line.rstrip() and len(line) <= 100 for line in lines)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_a_terminal_gets_a_table_that_fits_and_whole_numbers(scene, width):
    lines = shown(scene.store, scene.catalogue, force_terminal=True, color_system=None, width=width)
    assert max(map(len, lines)) <= min(width, 100)
    text = "\n".join(lines)
    assert "…" not in text or width < 60
    assert ("Size" in text) == (width >= 80)


def test_tasks_can_be_chosen(scene):
    other = scene.desk.task("other-gcn")
    store = scene.desk.store(scene.records, scene.desk.runs(other, scene.fine, [1.0]))
    catalogue = scene.desk.catalogue(*scene.cards, other)
    text = "\n".join(shown(store, catalogue, {"other-gcn"}))
    assert "other-gcn" in text
    assert "graph-gcn" not in text
    assert shown(store, catalogue, set()) == []


def test_failures_remarks_and_shared_machines_are_told_below(scene):
    records = [
        *scene.records[3:],
        *scene.desk.runs(scene.task, scene.rough, [70.0, None], params={"bits": 4}, alone=False),
    ]
    lines = shown(scene.desk.store(records), scene.catalogue)
    assert "No record of the reference fp32: no differences." in lines
    assert "rough INT4: 1 failed" in lines
    assert "* measured while other cells ran" in lines
    assert any(line.startswith("rough INT4") and "4.00*" in line for line in lines)


def test_markup_and_control_characters_of_a_record_are_text(scene):
    name = "[bold red]x[/] \x1b[2J\x07"
    key = {"methods": {"quantizer": {"name": name, "version": "1", "params": {}}}}
    store = scene.desk.store(scene.records, scene.desk.record(scene.task, scene.fine, 0, 1.0, key=key))
    text = "\n".join(shown(store, scene.catalogue))
    assert "[bold red]x[/]" in text
    assert "\x1b" not in text
    assert "\x07" not in text
