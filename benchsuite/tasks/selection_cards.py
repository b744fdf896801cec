"""The node-selection tasks that come with the suite. Imports no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from benchsuite.contracts.cards import Metric, TaskCard
from benchsuite.tasks.selection.recipe import GraphRecipe, SelectionRecipe

if TYPE_CHECKING:
    from benchsuite.contracts.norm_placement import Goal

PROTOCOL = "node-selection/1"


class _Kind(NamedTuple):
    goal: Goal
    summary: str
    metric: str
    """What is measured; the metric that ranks is its ratio to the greedy degree rule."""
    higher_is_better: bool


_KINDS: dict[str, _Kind] = {
    "influence-maximisation": _Kind("influence", "Seeds of an independent cascade", "spread", True),
    "network-dismantling": _Kind("dismantling", "An order of removal that breaks graphs up early", "area", False),
    "maximum-independent-set": _Kind("independence", "A large set of nodes without an edge between them", "size", True),
}

#: A quarter of the training: to see in seconds that everything works, not to rank.
_SMALL = SelectionRecipe(
    goal="dismantling",
    graphs=GraphRecipe(counts={"train": 8, "val": 2, "test": 4}, test_nodes=(60, 120)),
    epochs=20,
)


def _task(name: str, of: _Kind, recipe: SelectionRecipe, suites: tuple[str, ...], seeds: int = 10) -> TaskCard:
    told = "the degree" if recipe.graphs.inputs == "degree" else "nothing of the degree"
    scorer = f"a residual {str(recipe.model['convolution']).upper()} whose input says {told}"
    return TaskCard(
        name=name,
        target="benchsuite.tasks.selection.task:NodeSelection",
        summary=f"{of.summary} in unseen BA, ER and WS graphs, by {scorer}",
        factors=("norm_placement",),
        dataset="random-graphs",
        protocol=PROTOCOL,
        metrics=(
            Metric(name=f"relative_{of.metric}", unit="%", higher_is_better=of.higher_is_better),
            Metric(name=of.metric, unit="% of nodes", higher_is_better=of.higher_is_better),
        ),
        config=recipe.model_dump(mode="json"),
        reference={"norm_placement": "layernorm"},
        line_up=("postdeg", "postdeg-erased", "greedy-degree"),
        suites=suites,
        seeds=seeds,
    )


def _tasks() -> list[TaskCard]:
    found = []
    for name, of in _KINDS.items():
        recipe = SelectionRecipe(goal=of.goal)
        blind = recipe.model_copy(update={"graphs": GraphRecipe(inputs="random")})
        other = recipe.model_copy(update={"model": {**recipe.model, "convolution": "gcn"}})
        found.append(_task(name, of, recipe, ("standard", "full")))
        found += [_task(f"{name}-blind", of, blind, ("full",)), _task(f"{name}-gcn", of, other, ("full",))]
    small = "network-dismantling"
    return [*found, _task(f"{small}-small", _KINDS[small], _SMALL, ("quick",), seeds=3)]


TASKS: tuple[TaskCard, ...] = tuple(_tasks())
