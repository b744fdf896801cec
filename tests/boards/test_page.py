"""The text of a page."""

from __future__ import annotations

import pytest

from benchsuite.boards.board import make_board
from benchsuite.boards.page import page_text
from benchsuite.boards.provenance import spans
from benchsuite.contracts.cards import Paper, Reported


def page(store, catalogue) -> str:
    return page_text(make_board(store, catalogue, "quantizer"), store, catalogue)


def cells(text: str, section: str) -> dict[str, dict[str, str]]:
    """Return a section's table: for each method its cells by heading."""
    lines = text.split(f"## {section}\n")[1].split("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    head, _, *body = rows
    return {row[0]: dict(zip(head, row, strict=True)) for row in body}


def test_summary_has_a_line_for_each_method_and_a_column_for_each_task(scene):
    other = scene.desk.task("other-gcn")
    catalogue = scene.desk.catalogue(*scene.cards, other)
    records = [*scene.records, *scene.desk.runs(other, scene.fine, [50.0])]
    assert cells(page(scene.desk.store(records), catalogue), "Summary") == {
        "fp32": {"Method": "fp32", "graph-gcn": "81.00", "other-gcn": "-"},
        "fine INT8": {"Method": "fine INT8", "graph-gcn": "80.93 (-0.07)", "other-gcn": "50.00 1/3"},
        "rough INT8": {"Method": "rough INT8", "graph-gcn": "79.00 (-2.00)", "other-gcn": "-"},
        "fine INT4": {"Method": "fine INT4", "graph-gcn": "80.03 (-0.97)", "other-gcn": "-"},
    }


def test_a_tasks_table(scene):
    found = cells(page(scene.store, scene.catalogue), "graph-gcn")
    assert found["fine INT8"] == {
        "Method": "fine INT8",
        "Accuracy (%)": "80.93 ± 2.39 (3)",
        "Difference to fp32": "-0.07 ± 0.38 (3)",
        "Rank": "1",
        "Cost (forwards)": "4.00",
        "Seconds<sup>1</sup>": "0.0200",
        "Size ratio": "0.250",
        "Agreement (%)": "99.00",
        "Ran as": "simulated",
        "Seeds": "3/3",
        "Failures": "-",
    }
    assert found["fp32"]["Difference to fp32"] == "-"


def test_published_figures_stand_beside_ours_with_source_and_note(scene):
    figure = Reported(
        task="graph-gcn", metric="accuracy", value=79.0, reference=80.0, source="Table 1", note="Another *split*."
    )
    card = scene.desk.method("fine", reported=(figure,))
    text = page(scene.store, scene.desk.catalogue(scene.task, scene.fp32, card, scene.rough))
    row = cells(text, "graph-gcn")["fine INT8"]
    assert (row["Published"], row["Gap"]) == ("79.00 (-1.00)<sup>2</sup>", "+0.93")
    assert "\n2. Published: Table 1. Another \\*split\\*.\n" in text


def test_marks_of_a_shared_machine_and_of_fewer_measurements(desk):
    task, method = desk.task(), desk.method("m")
    records = [
        desk.record(task, method, seed, 1.0, measured={"cost_ratio": None if seed else 7.0}, alone=False)
        for seed in range(3)
    ]
    text = page(desk.store(records), desk.catalogue(task, method))
    assert cells(text, "graph-gcn")["m INT8"]["Cost (forwards)"] == "7.00 (1)<sup>1</sup>"
    assert "\n1. No record was measured alone" in text


def test_failures_and_coverage_are_columns(scene):
    records = [*scene.records, *scene.desk.runs(scene.task, scene.rough, [70.0, None], params={"bits": 4})]
    row = cells(page(scene.desk.store(records), scene.catalogue), "graph-gcn")["rough INT4"]
    assert (row["Accuracy (%)"], row["Seeds"], row["Failures"]) == ("70.00 (1)", "1/3", "1 failed")


def test_shams_are_marked_and_methods_without_a_card_too(scene):
    sham = scene.desk.method("rough", sham=True)
    text = page(scene.store, scene.desk.catalogue(scene.task, scene.fp32, sham))
    assert {"rough INT8 (sham)", "fine INT8 (card not found)"} <= set(cells(text, "graph-gcn"))
    assert "### fine\n\nCard not found" in text


def test_a_task_without_a_card_keeps_its_records(scene):
    text = page(scene.store, scene.desk.catalogue(scene.fp32, scene.fine, scene.rough))
    assert "graph-gcn (card not found)" in text
    assert cells(text, "graph-gcn")["fp32"]["Accuracy"] == "81.00 ± 2.48 (3)"


def test_departures_and_paper_stand_at_the_bottom(scene):
    paper = Paper(title="A | B", url="https://arxiv.org/abs/1", year=2021, venue="ICLR")
    card = scene.desk.method("fine", paper=paper, departures=("Range: <min> to `max`.",))
    text = page(scene.store, scene.desk.catalogue(scene.task, scene.fp32, card, scene.rough))
    about = text.split("### fine\n")[1].split("###")[0]
    assert "[A \\| B](https://arxiv.org/abs/1), ICLR 2021." in about
    assert "Departures from the paper:\n\n- Range: &lt;min&gt; to \\`max\\`.\n" in about


def test_provenance(scene):
    stale = scene.desk.record(scene.task, scene.fine, 0, 1.0, key={"task_version": "0"})
    lost = scene.desk.record(scene.task, scene.fine, 5, 80.0, env="unknown")
    store = scene.desk.store(scene.records, stale, lost)
    store.problems.append("run-1.jsonl:3: torn")
    footer = page(store, scene.catalogue).split("## Provenance\n\n")[1].splitlines()
    fingerprint = make_board(store, scene.catalogue, "quantizer").counted.fingerprint
    assert footer == [
        f"- Records: 13 counted (hash `{fingerprint}`), 1 stale and left out; 1 problems in the store.",
        "- Newest record: 2026-01-02 03:04:05 UTC.",
        "- Protocol: node-quantization/1.",
        "- Seeds: 0-2, 5.",
        "- Hardware of 12 records: Xeon, threads per cell: 1, torch 2.13.0.",
        "- Hardware of 1 records: not known (their environment line is missing).",
    ]


def test_spans():
    assert spans([3, 1, 2, 7, 9, 10, 2]) == "1-3, 7, 9-10"
    assert spans([]) == ""


HOSTILE = "x|y\n## Owned <!-- END benchsuite board --> <img src=a> `z`"


def test_what_a_record_says_cannot_break_the_page(desk):
    task = desk.task()
    method = desk.method("m")
    key = {
        "methods": {"quantizer": {"name": HOSTILE, "version": HOSTILE, "params": {HOSTILE: HOSTILE, "bits": 8}}},
        "task": HOSTILE,
        "protocol": HOSTILE,
    }
    record = desk.record(
        task, method, 0, 1.0, key=key, metrics={HOSTILE: 1.0}, notes={"execution": {"a": HOSTILE}}, env=HOSTILE
    )
    text = page(desk.store(record), desk.catalogue())
    assert "\n## Owned" not in text
    assert "<!--" not in text
    assert "<img" not in text
    tables = [block for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables) == 2
    for table in tables:
        assert len({line.replace("\\|", "").count("|") for line in table.splitlines()}) == 1


def test_a_column_of_a_plugin_comes_last(scene):
    def spread(records):
        values = [record.metrics["accuracy"] for record in records]
        return f"{max(values) - min(values):.1f} | points"

    catalogue = scene.desk.catalogue(*scene.cards, columns={"Spread": spread})
    row = cells(page(scene.store, catalogue).replace("\\|", "!"), "graph-gcn")["fine INT8"]
    assert list(row)[-1] == "Spread (desk)"
    assert row["Spread (desk)"] == "1.9 ! points"


@pytest.mark.parametrize(
    ("function", "cause"),
    [
        (lambda records: 1 / 0, "ZeroDivisionError"),
        (lambda records: 5, "TypeError: it returned int, not text"),
        (lambda: "", "TypeError"),
    ],
)
def test_a_column_that_fails_is_left_out_with_one_warning(scene, caplog, function, cause):
    columns = {"Bad": function, "Good": lambda records: str(len(records))}
    found = cells(page(scene.store, scene.desk.catalogue(*scene.cards, columns=columns)), "graph-gcn")["fine INT8"]
    assert found["Good (desk)"] == "3"
    assert "Bad (desk)" not in found
    (line,) = caplog.messages
    assert line.startswith(f"plugin 'desk': the column 'Bad' is left out: {cause}")


def test_columns_that_are_no_mapping_are_left_out(scene, caplog):
    plain = page(scene.store, scene.catalogue)
    assert page(scene.store, scene.desk.catalogue(*scene.cards, columns=["Bad"])) == plain
    assert "no mapping" in caplog.text


def test_a_column_cannot_change_the_records(scene):
    def forge(records):
        for record in records:
            record.metrics["accuracy"] = 100.0
        return "done"

    honest = cells(page(scene.store, scene.catalogue), "graph-gcn")
    forged = page(scene.store, scene.desk.catalogue(*scene.cards, columns={"A": forge, "B": forge}))
    assert cells(forged, "graph-gcn")["fine INT8"]["Accuracy (%)"] == honest["fine INT8"]["Accuracy (%)"]
    assert all(record.metrics["accuracy"] < 90 for record in scene.records)
