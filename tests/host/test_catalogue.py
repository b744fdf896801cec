"""What a catalogue answers, and how it calls plugins."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchsuite.contracts.cards import MethodCard, Metric, TaskCard
from benchsuite.errors import PluginError, UsageError
from benchsuite.host import Catalogue, HostOptions, LoadedPlugin, PluginInfo, load_catalogue


def info(name: str) -> PluginInfo:
    return PluginInfo(name, "1", "path", f"plugin_{name}", None, None, "S")


def method(name: str) -> MethodCard:
    return MethodCard(name=name, kind="quantizer", target="plugin_x:M", summary="S")


def task(name: str, *suites: str) -> TaskCard:
    metrics = (Metric(name="accuracy", unit="%"),)
    fields = {"factors": ("quantizer",), "dataset": "d", "protocol": "p/1", "metrics": metrics, "suites": suites}
    return TaskCard(name=name, target="plugin_x:T", summary="S", **fields)


@pytest.fixture
def catalogue() -> Catalogue:
    first = LoadedPlugin(info("first"), methods=(method("b"), method("shared-name")), tasks=(task("t2", "s", "z"),))
    second = LoadedPlugin(info("second"), methods=(method("a"),), tasks=(task("t1", "s"), task("shared-name")))
    return Catalogue([first, second])


def test_cards_are_sorted_by_name(catalogue):
    assert list(catalogue.methods) == ["a", "b", "shared-name"]
    assert list(catalogue.tasks) == ["shared-name", "t1", "t2"]


def test_suites_are_sorted_and_hold_their_tasks(catalogue):
    suites = catalogue.suites()
    assert list(suites) == ["s", "z"]
    assert [t.name for t in suites["s"]] == ["t1", "t2"]
    assert [t.name for t in catalogue.suite("z")] == ["t2"]


def test_plugin_of_finds_methods_before_tasks(catalogue):
    assert catalogue.plugin_of("a").name == "second"
    assert catalogue.plugin_of("t2").name == "first"
    assert catalogue.plugin_of("shared-name").name == "first"


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda c: c.method("shared-nam"), "no method 'shared-nam'. Did you mean 'shared-name'?"),
        (lambda c: c.task("shared-nam"), "no task 'shared-nam'. Did you mean 'shared-name'?"),
        (lambda c: c.dataset("cora"), "no data set 'cora'. There are none"),
        (lambda c: c.suite("quick"), "no suite 'quick'. Known: s, z"),
        (lambda c: c.plugin("frist"), "no plugin 'frist'. Did you mean 'first'?"),
        (lambda c: c.methods_of("secnd"), "no plugin 'secnd'. Did you mean 'second'?"),
        (lambda c: c.plugin_of("zzz"), "no method or task 'zzz'. Known: a, b, shared-name, t1, t2"),
    ],
)
def test_a_wrong_name_offers_the_near_one(catalogue, ask, says):
    with pytest.raises(UsageError) as caught:
        ask(catalogue)
    assert says in str(caught.value)


def test_the_name_of_a_broken_plugin_says_phase_and_cause(workshop):
    workshop.folder("alpha", "import no_such_library")
    catalogue = load_catalogue(workshop.options())
    for ask in (catalogue.method, catalogue.methods_of, catalogue.plugin_of, catalogue.task):
        with pytest.raises(PluginError, match=r"broken in phase import: .*no_such_library") as caught:
            ask("alpha")
        assert "-p no:alpha" in caught.value.mend
    with pytest.raises(UsageError, match="not loaded, see benchsuite list plugins: alpha"):
        catalogue.method("alpha-of-another-name")


def test_strict_makes_a_broken_plugin_an_error(workshop):
    workshop.folder("alpha", "raise RuntimeError('boom')")
    workshop.folder("beta", "x = 1")
    with pytest.raises(PluginError, match=r"'alpha'.*phase import.*boom.*\(and 1 more\)"):
        load_catalogue(workshop.options(strict=True))
    assert load_catalogue(workshop.options(strict=True, disabled=("alpha", "beta"))).plugins == ()


def test_a_disabled_plugin_is_not_imported(workshop):
    workshop.folder("alpha", "raise RuntimeError('boom')")
    workshop.folder("beta")
    catalogue = load_catalogue(workshop.options(disabled=("alpha",)))
    assert catalogue.broken == ()
    assert list(catalogue.methods) == ["beta"]


def test_disabling_what_is_not_there_offers_the_near_name(workshop):
    workshop.folder("alpha")
    with pytest.raises(UsageError, match=r"no plugin 'alpa' to leave out\. Did you mean 'alpha'"):
        load_catalogue(workshop.options(disabled=("alpa",)))


def test_no_plugins_leaves_the_builtins(workshop):
    workshop.folder("alpha", "raise RuntimeError('boom')")
    (workshop.folder("beta") / "pyproject.toml").write_text("bad")
    options = workshop.options(builtins=("benchsuite.tasks.builtin",), no_plugins=True, disabled=("alpha",))
    catalogue = load_catalogue(options)
    assert [p.name for p in catalogue.plugins] == ["builtin"]
    assert catalogue.broken == ()
    assert not catalogue.methods
    assert "cora-gcn" in catalogue.tasks


OBSERVER = """
    from benchsuite.plugin import hookimpl

    heard = []

    @hookimpl
    def benchsuite_cell_finished(record):
        heard.append(dict(record))
        record["status"] = "changed"
        {end}

    @hookimpl
    def benchsuite_environment():
        return {lines!r}
"""


def test_call_goes_plugin_by_plugin_and_keeps_the_order(workshop):
    workshop.folder("beta", OBSERVER.format(end="", lines=["driver 1"]))
    workshop.folder("alpha", OBSERVER.format(end="", lines=["kernel 2"]))
    workshop.folder("gamma")
    catalogue = load_catalogue(workshop.options())
    assert catalogue.call("benchsuite_environment") == [("alpha", ["kernel 2"]), ("beta", ["driver 1"])]


@pytest.mark.parametrize("end", ["raise RuntimeError('boom')", "raise SystemExit(1)", "assert False, 'boom'"])
def test_what_an_observer_raises_is_one_warning(workshop, caplog, end):
    workshop.folder("alpha", OBSERVER.format(end=end, lines=[]))
    workshop.folder("beta", OBSERVER.format(end="", lines=[]))
    catalogue = load_catalogue(workshop.options())
    assert catalogue.call("benchsuite_cell_finished", record={"status": "ok"}) == []
    (line,) = caplog.messages
    assert "plugin 'alpha' failed in benchsuite_cell_finished: " in line
    assert "\n" not in line
    assert caplog.records[0].levelname == "WARNING"
    assert sys.modules[catalogue.plugin("beta").module].heard == [{"status": "ok"}]


def test_an_observer_cannot_change_the_record(workshop):
    workshop.folder("alpha", OBSERVER.format(end="", lines=[]))
    workshop.folder("beta", OBSERVER.format(end="", lines=[]))
    catalogue = load_catalogue(workshop.options())
    record = {"status": "ok"}
    catalogue.call("benchsuite_cell_finished", record=record)
    assert record == {"status": "ok"}
    assert sys.modules[catalogue.plugin("beta").module].heard == [{"status": "ok"}]


def test_ctrl_c_in_an_observer_is_the_users(workshop):
    workshop.folder("alpha", OBSERVER.format(end="raise KeyboardInterrupt", lines=[]))
    with pytest.raises(KeyboardInterrupt):
        load_catalogue(workshop.options()).call("benchsuite_cell_finished", record={})


@pytest.mark.parametrize(("hook", "arguments"), [("benchsuite_cell", {}), ("benchsuite_columns", {"bord": "x"})])
def test_a_call_that_no_plugin_could_answer_is_a_mistake_of_ours(workshop, hook, arguments):
    with pytest.raises(TypeError, match="there is no hook"):
        Catalogue().call(hook, **arguments)


def test_an_executor_is_asked_for_by_name(workshop):
    body = """
        from benchsuite.plugin import hookimpl

        @hookimpl
        def benchsuite_executor(name):
            return "executor" if name == "mine" else None
    """
    workshop.folder("alpha", body)
    catalogue = load_catalogue(workshop.options())
    assert catalogue.call("benchsuite_executor", name="mine", options={}) == [("alpha", "executor")]
    assert catalogue.call("benchsuite_executor", name="other", options={}) == []


def test_loading_twice_gives_the_same(workshop):
    workshop.folder("beta")
    workshop.folder("alpha", "raise RuntimeError('boom')")
    first, second = load_catalogue(workshop.options()), load_catalogue(workshop.options())
    assert (first.plugins, first.broken, first.methods) == (second.plugins, second.broken, second.methods)


def test_source_hash_follows_the_package_and_nothing_else(workshop):
    folder = workshop.folder("alpha")
    package = folder / workshop.packages[0]
    (plugin,) = load_catalogue(workshop.options()).plugins
    before = plugin.source_hash()
    (folder / "README.md").write_text("text")
    (folder / "tests").mkdir()
    (folder / "tests" / "test_x.py").write_text("x = 1")
    (package / "data.json").write_text("{}")
    assert plugin.source_hash() == before
    (package / "sub").mkdir()
    (package / "sub" / "method.py").write_text("x = 1")
    added = plugin.source_hash()
    (package / "sub" / "method.py").rename(package / "sub" / "other.py")
    renamed = plugin.source_hash()
    (package / "sub" / "other.py").write_text("x = 2")
    assert len({before, added, renamed, plugin.source_hash()}) == 4


def test_a_worker_imports_a_target_with_the_search_path_alone(workshop):
    folder = workshop.folder("alpha")
    (folder / workshop.packages[0] / "method.py").write_text("class M: pass")
    (plugin,) = load_catalogue(workshop.options()).plugins
    code = f"import sys; sys.path.insert(0, sys.argv[1]); from {plugin.module}.method import M; print(M.__module__)"
    command = [sys.executable, "-c", code, str(plugin.search_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{plugin.module}.method"


def test_the_suites_own_plugins_all_load():
    catalogue = load_catalogue(HostOptions(builtins=("benchsuite.tasks.builtin",)))
    assert [str(b) for b in catalogue.broken if b.origin in ("builtin", "bundled")] == []
    assert {"fp32", "topgq"} <= set(catalogue.methods)
    # Made by the task itself, or a checkpoint: neither is a file that a reader finds.
    without_card = {"random-graphs", "random-tokens", "stories260k", "fineweb-edu"}
    for card in catalogue.tasks.values():
        assert card.dataset in {*catalogue.datasets, *without_card}
        assert set(card.reference.values()) <= set(catalogue.methods)
    for plugin in catalogue.plugins:
        assert len(plugin.source_hash()) == 64
