"""A run of the engine in one process: what is recorded, what is told, what is resumed."""

from __future__ import annotations

import logging

import pytest

from benchsuite.engine.executors import InlineExecutor, LocalExecutor, make_executor
from benchsuite.errors import MissingDataError, StoreError, UsageError
from benchsuite.store import read_store
from benchsuite.store.records import CellRecord, EndLine, EnvLine, PlanLine, parse_line


class Told:
    """A reporter that remembers."""

    def __init__(self, interrupt_after=None):
        self.events = []
        self.interrupt_after = interrupt_after

    def preparing(self, task):
        self.events.append(("preparing", task))

    def skipped(self, task, reason):
        self.events.append(("skipped", task, reason))

    def planned(self, plan):
        self.events.append(("planned", len(plan)))

    def started(self, cell):
        self.events.append(("started", cell.label, cell.seed))

    def finished(self, cell, record):
        self.events.append(("finished", cell.label, cell.seed, record.status))
        if self.interrupt_after == sum(event[0] == "finished" for event in self.events):
            raise KeyboardInterrupt


def lines(engine):
    [path] = (engine.out / "results").glob("*.jsonl")
    return [parse_line(text) for text in path.read_text().splitlines()]


def test_a_run_leaves_env_plan_cells_and_end_in_this_order(engine):
    summary = engine.run("toy-good[bits=4]", tasks=("toy-one",), seeds=2)
    env, plan, *cells, end = lines(engine)
    assert isinstance(env, EnvLine)
    assert isinstance(plan, PlanLine)
    assert isinstance(end, EndLine)
    assert all(isinstance(cell, CellRecord) for cell in cells)
    assert plan.done == []
    assert plan.todo == [cell.cell for cell in cells]
    assert (end.status, end.counts) == ("finished", {"ok": 4})
    assert {cell.env for cell in cells} == {env.hash}
    assert {line.run for line in [plan, *cells, end]} == {summary.run}
    assert summary.complete


def test_a_record_holds_score_measurements_and_provenance(engine, catalogue):
    engine.run("toy-good[bits=4,share=0.3]", tasks=("toy-one",), seeds=1)
    record = engine.record("toy-good")
    assert record.status == "ok"
    assert record.metrics == {"accuracy": 30.0}
    assert record.measurements["seconds"] == record.samples["seconds"][0] > 0
    assert record.key["methods"] == {
        "quantizer": {"name": "toy-good", "version": "1", "params": {"bits": 4, "share": 0.3}}
    }
    plugin = catalogue.plugin_of("toy-good")
    assert record.plugins["quantizer"].model_dump() == {
        "plugin": "toy",
        "version": plugin.version,
        "source": plugin.source_hash(),
    }
    assert engine.record("toy-reference").metrics == {"accuracy": 100.0}


def test_what_has_an_ok_record_is_not_run_again(engine):
    first = engine.run("toy-good", tasks=("toy-one",))
    again = engine.run("toy-good", tasks=("toy-one",))
    assert (first.counts, again.counts, again.run) == ({"ok": 9}, {}, None)
    assert again.complete
    more = engine.run("toy-good[bits=2]", tasks=("toy-one",), seeds=4)
    assert more.counts == {"ok": 5}  # four of the new method, one new seed of the reference
    assert len(engine.records()) == 14


def test_force_runs_all_again_and_the_latest_counts(engine):
    engine.run("toy-good[bits=4]", tasks=("toy-one",), seeds=1)
    before = engine.record("toy-good")
    engine.force = True
    assert engine.run("toy-good[bits=4]", tasks=("toy-one",), seeds=1).counts == {"ok": 2}
    after = engine.record("toy-good")
    assert before.cell == after.cell
    assert before.started < after.started


def test_a_failed_cell_is_run_again_and_each_attempt_has_its_record(engine):
    for _ in range(2):
        summary = engine.run("toy-bad", tasks=("toy-one",), seeds=1)
        assert not summary.complete
    assert [r.status for r in engine.records() if "toy-bad" in str(r.key)] == ["failed", "failed"]


def test_two_factors_are_run_and_recorded_with_both_methods(engine):
    engine.run("toy-stages", "toy-prenorm", tasks=("toy-two",))
    methods = [r.key["methods"] for r in engine.records()]
    pairs = {(each["norm_placement"]["name"], each["curriculum"]["name"]) for each in methods}
    assert pairs == {(n, c) for n in ("toy-norm", "toy-prenorm") for c in ("toy-joint", "toy-stages")}
    assert set(engine.records()[0].plugins) == {"norm_placement", "curriculum"}


@pytest.mark.parametrize(
    ("how", "phase", "kind", "message"),
    [
        ("raise", "run", "ValueError", "this method cannot count"),
        ("nan", "score", "ProtocolError", "metric 'accuracy' is nan"),
        ("shape", "score", "ProtocolError", "predictions have shape (9,), wanted (10,)"),
        ("objects", "run", "ProtocolError", "prediction 'test' is an array of objects. Return numbers"),
        ("exit-python", "run", "SystemExit", "the method called sys.exit('enough')"),
        ("nothing", "run", "ProtocolError", "the task returned NoneType instead of a CellOutput"),
        ("notes", "run", "ProtocolError", "the notes are no JSON: Object of type object is not JSON serializable"),
        ("surrogate", "run", "ValueError", "half a character: ?"),
    ],
)
def test_what_a_method_does_wrong_is_a_failed_record(engine, how, phase, kind, message):
    summary = engine.run(f"toy-bad[how={how}]", tasks=("toy-one",), seeds=1)
    assert summary.counts == {"failed": 1, "ok": 1}
    record = engine.record("toy-bad")
    assert (record.status, record.error.phase, record.error.type) == ("failed", phase, kind)
    assert record.error.message == message
    assert record.metrics == {}


def test_running_out_of_memory_has_its_own_status(engine):
    engine.run("toy-bad[how=memory]", tasks=("toy-one",), seeds=1)
    assert engine.record("toy-bad").status == "oom"


def test_a_method_whose_code_cannot_be_imported_fails_when_it_is_loaded(engine):
    engine.run("toy-broken", tasks=("toy-one",), seeds=1)
    error = engine.record("toy-broken").error
    assert (error.phase, error.type) == ("load", "ModuleNotFoundError")


def test_numbers_that_are_not_finite_are_null_and_named(engine):
    engine.run("toy-bad[how=infinite]", tasks=("toy-one",), seeds=1)
    record = engine.record("toy-bad")
    assert record.status == "ok"
    assert {name: record.measurements[name] for name in ("ratio", "gap", "none")} == dict.fromkeys(
        ("ratio", "gap", "none")
    )
    assert record.nonfinite == {"measurements.ratio": "inf", "measurements.gap": "nan"}


def test_a_record_names_no_folder_of_this_machine(engine, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    engine.run("toy-bad", tasks=("toy-one",), seeds=1)
    text = "\n".join(engine.record("toy-bad").error.tail)
    assert "engine/worker.py" in text
    assert str(tmp_path) not in text
    assert 'File "/' not in text


def test_the_reporter_is_told_in_order(engine):
    told = Told()
    engine.run("toy-good[bits=4]", tasks=("toy-one",), seeds=1, reporter=told)
    good = "toy-good[bits=4]"
    assert told.events == [
        ("planned", 2),
        ("started", "toy-reference", 0),
        ("finished", "toy-reference", 0, "ok"),
        ("started", good, 0),
        ("finished", good, 0, "ok"),
    ]


def test_ctrl_c_loses_nothing_and_the_same_request_goes_on(engine):
    summary = engine.run("toy-good", tasks=("toy-one",), reporter=Told(interrupt_after=4))
    assert summary.status == "interrupted"
    assert not summary.complete
    assert (lines(engine)[-1].status, lines(engine)[-1].counts) == ("interrupted", {"ok": 4})
    assert engine.run("toy-good", tasks=("toy-one",)).counts == {"ok": 5}
    assert len(engine.records()) == len({record.cell for record in engine.records()}) == 9


def test_an_error_of_the_suite_is_raised_and_the_end_line_says_stopped(engine):
    class Breaks(InlineExecutor):
        def run(self, payloads):
            yield from list(super().run(payloads))[:1]
            raise OSError("the machine is on fire")

    engine.executor = Breaks()
    with pytest.raises(OSError, match="on fire"):
        engine.run("toy-good[bits=4]", tasks=("toy-one",), seeds=1)
    assert lines(engine)[-1].status == "stopped"


def test_missing_data_is_an_error_where_the_task_was_named(engine):
    with pytest.raises(MissingDataError, match=r"'toy' is not here\. Put it there"):
        engine.run("toy-good", tasks=("toy-absent",))


def test_missing_data_leaves_a_task_out_where_a_glob_brought_it_in(engine):
    told = Told()
    ready, skipped = engine.ready("toy-good", tasks=("toy-[ao]*",), reporter=told)
    assert [each.selected.card.name for each in ready] == ["toy-one"]
    assert skipped == {"toy-absent": "data set 'toy' is not here. Put it there"}
    assert told.events[1] == ("skipped", "toy-absent", skipped["toy-absent"])
    summary = engine.run("toy-good", tasks=("toy-[ao]*",))
    assert summary.counts == {"ok": 9}
    assert not summary.complete
    assert lines(engine)[1].skipped == skipped


def test_missing_data_is_an_error_where_nothing_is_left(engine):
    with pytest.raises(MissingDataError):
        engine.run("toy-good", suite="gone")


def test_observers_are_told_and_what_they_raise_costs_a_warning(engine, monkeypatch, caplog):
    calls = []

    def call(hook, **arguments):
        calls.append((hook, arguments))
        return [("watcher", ["a driver 1.2"])] if hook == "benchsuite_environment" else []

    monkeypatch.setattr(engine.catalogue, "call", call)
    with caplog.at_level(logging.WARNING):
        engine.run("toy-reference", tasks=("toy-one",), seeds=1)
    assert [hook.removeprefix("benchsuite_") for hook, _ in calls] == [
        "environment",
        "cell_started",
        "cell_finished",
        "run_finished",
    ]
    record = engine.records()[0]
    assert calls[1][1]["cell"] == record.key
    assert calls[2][1]["record"]["hash"] == record.hash
    assert calls[3][1]["summary"]["counts"] == {"ok": 1}
    assert read_store(engine.out).envs[record.env]["plugins"] == {"watcher": ["a driver 1.2"]}


def test_results_that_cannot_be_written_stop_the_run_before_it_starts(engine):
    engine.out.mkdir()
    (engine.out / "results").write_text("a file where the folder should be")
    told = Told()
    with pytest.raises(StoreError, match="cannot be written"):
        engine.run("toy-good", tasks=("toy-one",), reporter=told)
    assert not any(event[0] == "started" for event in told.events)


def test_executors_are_found_by_name_and_a_plugins_is_asked_for(catalogue, monkeypatch):
    local = make_executor("local", catalogue, jobs=3, timeout=5)
    assert isinstance(local, LocalExecutor)
    assert (local.jobs, local.timeout) == (3, 5)
    assert isinstance(make_executor("inline", catalogue, jobs=1, timeout=None), InlineExecutor)
    with pytest.raises(UsageError, match=r"there is no executor 'lcoal'\. Did you mean 'local'"):
        make_executor("lcoal", catalogue, jobs=1, timeout=None)
    offers = [("a", InlineExecutor())]
    monkeypatch.setattr(
        catalogue, "call", lambda hook, name, options: offers if options == {"jobs": 2, "timeout": 9} else []
    )
    assert make_executor("cloud", catalogue, jobs=2, timeout=9) is offers[0][1]
    offers.append(("b", InlineExecutor()))
    with pytest.raises(UsageError, match="plugins a and b both offer executor 'cloud'"):
        make_executor("cloud", catalogue, jobs=2, timeout=9)
    offers[:] = [("a", object())]
    with pytest.raises(UsageError, match=r"has no method run\(\)"):
        make_executor("cloud", catalogue, jobs=2, timeout=9)
