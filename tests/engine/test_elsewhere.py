"""A cell on a machine that has nothing of the host's but the letter."""

from __future__ import annotations

import dataclasses
import shutil
import sys

import pytest

from benchsuite.engine.elsewhere import ANSWER, LETTER, VIEWS, Post, carry_out, carry_out_filed
from benchsuite.engine.executors import InlineExecutor
from benchsuite.engine.payload import unpack
from benchsuite.engine.wire import read_answer, write_letter
from benchsuite.store import read_store
from benchsuite.store.env import environment


@pytest.fixture
def node(tmp_path, monkeypatch):
    """A machine with a cache of its own."""
    monkeypatch.setenv("BENCHSUITE_CACHE", str(tmp_path / "node"))
    monkeypatch.delenv("BENCHSUITE_PLUGIN_PATH", raising=False)
    return tmp_path / "node"


def never():
    pytest.fail("the view is here already")


def answered(payload, fetch=never, digest=None):
    digest = digest or Post().digest(payload.input.view)
    return read_answer(carry_out(write_letter(payload, digest), fetch, 30))


def test_where_the_file_system_is_shared_nothing_is_fetched(payloads, node):
    [_, payload] = payloads("toy-good[bits=4,share=0.5]")
    outcome = answered(payload)
    assert outcome.status == "ok"
    assert unpack(outcome.output).predictions["test"].tolist() == [0, 1, 2, 3, 4, -1, -1, -1, -1, -1]
    assert outcome.env.hash == environment().hash
    assert not node.exists()


def test_elsewhere_the_view_is_fetched_once_and_the_node_has_its_own_cache(payloads, node):
    [_, payload] = payloads("toy-good[bits=4,share=0.5]")
    digest, content = Post().digest(payload.input.view), payload.input.view.read_bytes()
    payload.input.view.unlink()
    fetched = []
    for _ in range(2):
        outcome = answered(payload, lambda: fetched.append(1) or content, digest)
        assert outcome.status == "ok"
    assert fetched == [1]
    assert (node / "views" / payload.input.view.name).read_bytes() == content


def test_another_file_at_the_host_s_path_is_not_taken_for_the_view(payloads, node):
    [_, payload] = payloads("toy-good[bits=4,share=0.5]")
    digest, content = Post().digest(payload.input.view), payload.input.view.read_bytes()
    payload.input.view.write_bytes(b"another run's file of that name")
    assert answered(payload, lambda: content, digest).status == "ok"


def test_a_view_that_was_damaged_on_its_way_is_a_record(payloads, node):
    [_, payload] = payloads("toy-good[bits=4,share=0.5]")
    outcome = answered(payload, lambda: b"half", "0" * 64)
    assert (outcome.status, outcome.error.phase) == ("failed", "load")
    assert "damaged on its way" in outcome.error.message


def test_a_plugin_that_is_missing_there_is_a_record_that_names_it(payloads, node):
    [_, payload] = payloads("toy-good[bits=4,share=0.5]")
    outcome = answered(dataclasses.replace(payload, packages={"benchsuite_toy": "/no/such/folder"}))
    assert (outcome.status, outcome.error.phase, outcome.error.type) == ("failed", "load", "PluginError")
    assert "plugin 'toy' (package 'benchsuite_toy') is not on the node" in outcome.error.message
    assert "Install toy 0.1 there" in outcome.error.message


def test_a_plugin_with_other_code_there_is_not_run(payloads, node, toy_folder, tmp_path):
    """Its record would name the code that the host has."""
    [_, payload] = payloads("toy-good[bits=4,share=0.5]")
    other = tmp_path / "other"
    shutil.copytree(toy_folder, other)
    with (other / "benchsuite_toy" / "methods.py").open("a") as file:
        file.write("\n# a little different\n")
    outcome = answered(dataclasses.replace(payload, packages={"benchsuite_toy": str(other)}))
    assert (outcome.status, outcome.error.phase) == ("failed", "load")
    assert "is not the one that the host has" in outcome.error.message


def test_a_plugin_in_another_folder_there_is_found(payloads, node, toy_folder, tmp_path, monkeypatch):
    [_, payload] = payloads("toy-good[bits=4,share=0.5]")
    shutil.copytree(toy_folder, tmp_path / "theirs" / "toy")
    monkeypatch.setenv("BENCHSUITE_PLUGIN_PATH", str(tmp_path / "theirs"))
    assert answered(dataclasses.replace(payload, packages={"benchsuite_toy": "/no/such/folder"})).status == "ok"


@pytest.mark.parametrize(("how", "status"), [("exit", "crashed"), ("kill", "crashed"), ("raise", "failed")])
def test_what_a_method_does_to_its_process_is_an_outcome_there_too(payloads, node, how, status):
    main = sys.modules["__main__"]
    assert answered(payloads(f"toy-bad[how={how}]")[-1]).status == status
    assert sys.modules["__main__"] is main


def test_a_record_refers_to_the_machine_that_its_cell_ran_on(engine):
    class Mixed(InlineExecutor):
        """One cell ran here, and two on another machine."""

        def run(self, payloads):
            for number, (payload, outcome) in enumerate(super().run(payloads)):
                env = environment({"toy": ["another machine"]}) if number else None
                yield payload, dataclasses.replace(outcome, env=env)

    engine.executor = Mixed()
    engine.run("toy-reference", tasks=("toy-one",), seeds=3)
    store = read_store(engine.out)
    here, there, too = (store.envs[record.env]["plugins"] for record in store.cells)
    assert (here, there, too) == ({}, {"toy": ["another machine"]}, {"toy": ["another machine"]})
    assert len(store.envs) == 2
    [path] = (engine.out / "results").glob("*.jsonl")
    assert path.read_text().count("another machine") == 1
    assert store.problems == []


def test_letters_and_answers_may_go_through_a_folder(payloads, node, tmp_path):
    [_, payload] = payloads("toy-good[bits=4,share=0.5]")
    post, folder = Post(), tmp_path / "shared"
    (folder / VIEWS).mkdir(parents=True)
    (folder / f"{payload.cell}{LETTER}").write_bytes(post.letter(payload))
    shutil.move(payload.input.view, folder / VIEWS / post.digest(payload.input.view))
    carry_out_filed(str(folder), payload.cell, 30)
    assert read_answer((folder / f"{payload.cell}{ANSWER}").read_bytes()).status == "ok"
