"""One name has one owner."""

from __future__ import annotations

import pytest

from benchsuite.errors import PluginError, UsageError
from benchsuite.host import load_catalogue

TASKS = """
    from benchsuite.plugin import DatasetCard, Metric, TaskCard, hookimpl

    @hookimpl
    def benchsuite_tasks():
        metric = Metric(name="accuracy", unit="%")
        return [TaskCard(name="shared-task", target=__name__ + ":T", summary="S", factors=("quantizer",),
                         dataset="shared-data", protocol="p/1", metrics=(metric,))]

    @hookimpl
    def benchsuite_datasets():
        return [DatasetCard(name="shared-data", target=__name__ + ":f", summary="S", licence="L", source="S")]
"""

SHARED = """
    from benchsuite.plugin import MethodCard, hookimpl

    @hookimpl
    def benchsuite_methods():
        make = lambda name: MethodCard(name=name, kind="quantizer", target=__name__ + ":M", summary="S")
        return [make("shared"), make({own!r})]
"""


def test_one_name_in_two_places_is_refused_and_both_are_named(workshop):
    ours, theirs = workshop.folder("alpha", parent="bundled"), workshop.folder("alpha")
    workshop.folder("beta")
    catalogue = load_catalogue(workshop.options())
    assert list(catalogue.methods) == ["beta"]
    (broken,) = catalogue.broken
    assert (broken.name, broken.phase) == ("alpha", "conflict")
    assert str(ours) in broken.cause
    assert str(theirs) in broken.cause
    assert "--prefer alpha=bundled|path" in broken.cause


@pytest.mark.parametrize("origin", ["bundled", "path"])
def test_prefer_takes_one_of_them(workshop, origin):
    workshop.folder("alpha", parent="bundled")
    workshop.folder("alpha")
    catalogue = load_catalogue(workshop.options(prefer={"alpha": origin}))
    assert catalogue.broken == ()
    assert [(p.name, p.origin) for p in catalogue.plugins] == [("alpha", origin)]


def test_two_places_of_one_origin_cannot_be_told_apart_by_prefer(workshop):
    workshop.folder("alpha")
    workshop.folder("alpha", parent="more")
    paths = (workshop.root / "path", workshop.root / "more")
    (broken,) = load_catalogue(workshop.options(plugin_paths=paths)).broken
    assert "remove one of them" in broken.cause


@pytest.mark.parametrize(
    ("prefer", "says"),
    [
        ({"alpa": "path"}, "no plugin 'alpa' to prefer. Did you mean 'alpha'"),
        ({"alpha": "bundeld"}, "no origin 'bundeld'. Did you mean 'bundled'"),
        ({"alpha": "installed"}, "It is here as: path"),
    ],
)
def test_prefer_names_what_is_there(workshop, prefer, says):
    workshop.folder("alpha")
    with pytest.raises(UsageError) as caught:
        load_catalogue(workshop.options(prefer=prefer))
    assert says in str(caught.value)


def test_the_same_folder_bundled_and_installed_in_editable_mode_is_one_plugin(workshop, monkeypatch):
    folder = workshop.folder("alpha", parent="bundled")
    monkeypatch.syspath_prepend(workshop.distribution("alpha", workshop.packages[0]))
    monkeypatch.syspath_prepend(folder)  # as an editable install's .pth file does
    catalogue = load_catalogue(workshop.options(plugin_paths=()))
    assert catalogue.broken == ()
    assert [(p.origin, p.search_path) for p in catalogue.plugins] == [("bundled", folder)]


def test_the_same_folder_through_a_link_is_one_plugin(workshop):
    workshop.folder("alpha", parent="bundled")
    (workshop.root / "link").symlink_to(workshop.root / "bundled")
    catalogue = load_catalogue(workshop.options(plugin_paths=(workshop.root / "link",)))
    assert [(p.name, p.origin) for p in catalogue.plugins] == [("alpha", "bundled")]


def test_a_copy_that_is_installed_is_a_conflict(workshop, monkeypatch):
    workshop.folder("alpha", parent="bundled")
    package = workshop.packages[0]
    site = workshop.distribution("alpha", package)
    (site / package).mkdir()
    (site / package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(site)
    (broken,) = load_catalogue(workshop.options(plugin_paths=())).broken
    assert broken.phase == "conflict"
    assert "--prefer alpha=bundled|installed" in broken.cause


def test_a_method_of_two_plugins_is_nobodys(workshop):
    workshop.folder("alpha", SHARED.format(own="a"))
    workshop.folder("beta", SHARED.format(own="b"))
    catalogue = load_catalogue(workshop.options())
    assert [p.name for p in catalogue.plugins] == ["alpha", "beta"]
    assert list(catalogue.methods) == ["a", "b"]
    assert [card.name for card in catalogue.methods_of("alpha")] == ["a"]
    (broken,) = catalogue.broken
    assert (broken.name, broken.phase) == ("shared", "conflict")
    assert "'alpha' (path) and 'beta' (path)" in broken.cause
    with pytest.raises(PluginError, match="offered by the plugins"):
        catalogue.method("shared")


def test_leaving_one_out_gives_the_name_to_the_other(workshop):
    workshop.folder("alpha", SHARED.format(own="a"))
    workshop.folder("beta", SHARED.format(own="b"))
    catalogue = load_catalogue(workshop.options(disabled=("beta",)))
    assert catalogue.broken == ()
    assert catalogue.plugin_of("shared").name == "alpha"


def test_tasks_and_data_sets_have_one_owner_too(workshop):
    workshop.folder("alpha", TASKS)
    workshop.folder("beta", TASKS)
    catalogue = load_catalogue(workshop.options())
    assert not catalogue.tasks
    assert not catalogue.datasets
    assert [(b.name, b.phase) for b in catalogue.broken] == [("shared-data", "conflict"), ("shared-task", "conflict")]
    assert [b.cause.partition(" is offered")[0] for b in catalogue.broken] == [
        "data set 'shared-data'",
        "task 'shared-task'",
    ]
