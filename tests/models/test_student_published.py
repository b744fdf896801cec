"""The published figures of one arm stand on two cards, its placement's and its curriculum's: they must agree."""

from __future__ import annotations

from benchsuite.host import HostOptions, load_catalogue

KINDS = ("norm_placement", "curriculum")


def figures(catalogue, kind):
    """Return (task, placement, curriculum) -> value for the arms at default parameters that cards of ``kind`` name."""
    other = KINDS[1 - KINDS.index(kind)]
    found = {}
    for card in catalogue.methods.values():
        for reported in card.reported:
            if card.kind == kind and other in reported.partners and not reported.params:
                arm = {kind: card.name, other: reported.partners[other]}
                found[reported.task, arm["norm_placement"], arm["curriculum"]] = reported.value
    return found


def test_placements_and_curricula_say_the_same_of_each_arm():
    catalogue = load_catalogue(HostOptions(builtins=("benchsuite.tasks.builtin",)))
    placements, curricula = (figures(catalogue, kind) for kind in KINDS)
    assert len(placements) >= 6
    shared = placements.keys() & curricula.keys()
    assert shared == placements.keys()
    assert {arm: placements[arm] for arm in shared} == {arm: curricula[arm] for arm in shared}
    assert {task for task, *_ in placements} <= catalogue.tasks.keys()
