"""The node-selection tasks that come with the suite, and which methods a run plans for them."""

from __future__ import annotations

import pytest

from benchsuite.contracts.cards import Metric, TaskCard
from benchsuite.engine.selection import Request, select
from benchsuite.errors import UsageError
from benchsuite.host import Catalogue, HostOptions, LoadedPlugin, PluginInfo, load_catalogue
from benchsuite.plugin import MethodCard
from benchsuite.tasks.config import read_config
from benchsuite.tasks.selection.recipe import SelectionRecipe
from benchsuite.tasks.selection_cards import TASKS

GOALS = ("influence-maximisation", "maximum-independent-set", "network-dismantling")


@pytest.fixture(scope="module")
def catalogue():
    return load_catalogue(HostOptions(builtins=("benchsuite.tasks.builtin",)))


def test_every_config_is_a_recipe_with_the_reference_and_two_metrics():
    for card in TASKS:
        recipe = read_config(card.name, card.config, SelectionRecipe)
        assert recipe.model_dump(mode="json") == card.config
        assert card.reference == {"norm_placement": "layernorm"}
        assert len(card.metrics) == 2
        assert card.metrics[0].name == f"relative_{card.metrics[1].name}"
        assert all(metric.higher_is_better == (recipe.goal != "dismantling") for metric in card.metrics)


def test_suites_and_seeds():
    by_suite = {s: {card.name for card in TASKS if s in card.suites} for s in ("quick", "standard", "full")}
    assert by_suite["standard"] == set(GOALS)
    assert by_suite["quick"] == {"network-dismantling-small"}
    assert by_suite["full"] == {f"{goal}{variant}" for goal in GOALS for variant in ("", "-blind", "-gcn")}
    assert all(card.seeds >= 10 for card in TASKS if "full" in card.suites)


def test_variants_differ_in_one_thing():
    cards = {card.name: read_config(card.name, card.config, SelectionRecipe) for card in TASKS}
    for goal in GOALS:
        plain, blind, gcn = (cards[f"{goal}{variant}"] for variant in ("", "-blind", "-gcn"))
        assert blind.graphs.inputs == "random"
        assert blind.model_copy(update={"graphs": plain.graphs}) == plain
        assert gcn.model["convolution"] == "gcn"
        assert gcn.model_copy(update={"model": plain.model}) == plain


def test_a_run_plans_all_rows_of_the_plugin(catalogue):
    [selected] = select(catalogue, Request(("postdeg",), ("network-dismantling",)))
    names = [methods["norm_placement"].name for methods in selected.combinations]
    assert names[0] == "layernorm"
    assert set(names) == {card.name for card in catalogue.methods_of("postdeg")}
    assert selected.seeds == tuple(range(10))


def small_catalogue():
    """Return two placements, one for GNNs and one for all, and a task of another protocol that takes both kinds."""
    base = {"kind": "norm_placement", "target": "m:C", "summary": "About."}
    metric = Metric(name="loss", unit="nats")
    shared = {"target": "m:T", "dataset": "d", "metrics": (metric,), "factors": ("norm_placement",)}
    methods = (MethodCard(name="node", protocols=("node-selection",), **base), MethodCard(name="any", **base))
    tasks = (
        TaskCard(name="nodes", summary="A", protocol="node-selection/7", **shared),
        TaskCard(name="words", summary="B", protocol="distillation/1", **shared),
    )
    info = PluginInfo("small", "1", "path", "m", None, None, "")
    return Catalogue([LoadedPlugin(info, methods=methods, tasks=tasks)])


def test_a_method_is_planned_for_the_protocols_that_it_can_serve():
    chosen = {
        each.card.name: [methods["norm_placement"].name for methods in each.combinations]
        for each in select(small_catalogue(), Request(("node", "any"), ("nodes", "words")))
    }
    assert chosen == {"nodes": ["node", "any"], "words": ["any"]}
    [selected] = select(small_catalogue(), Request(("node",), ("nodes", "words")))
    assert selected.card.name == "nodes"


def test_a_method_that_serves_none_of_the_tasks_is_refused():
    with pytest.raises(UsageError, match=r"'node' is a norm_placement for node-selection, which none of .* words"):
        select(small_catalogue(), Request(("node",), ("words",)))
