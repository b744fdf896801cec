"""From what the user asked for to the cells that are wanted, before any data is read."""

from __future__ import annotations

import fnmatch
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchsuite.engine.cells import MethodRef, make_cell, method_ref
from benchsuite.engine.specs import Choice, choose
from benchsuite.errors import UsageError, near

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchsuite.contracts.cards import Kind, MethodCard, TaskCard
    from benchsuite.engine.cells import Cell
    from benchsuite.host import Catalogue

DEFAULT_SUITE = "quick"

_WILD = frozenset("*?[")


@dataclass(frozen=True)
class Request:
    """What a run was asked to do."""

    plugins: tuple[str, ...]
    """Specifications, see :mod:`benchsuite.engine.specs`; none takes each task's own line-up."""
    tasks: tuple[str, ...] = ()
    """Names or globs; within the suite where one is named, within all tasks otherwise."""
    suite: str | None = None
    seeds: int | None = None
    """Seeds 0 to n-1; None takes each task's own number."""


@dataclass(frozen=True)
class Selected:
    """One task with the combinations of methods that it is to run."""

    card: TaskCard
    combinations: tuple[Mapping[Kind, MethodRef], ...]
    """Each has one method per factor. The reference on every factor comes first."""
    seeds: tuple[int, ...]
    explicit: bool
    """True where the user wrote the task's own name: then missing data is an error, not a task left out."""
    assumed: Mapping[Kind, str] = field(default_factory=dict)
    """Factors of which the user named no method, and the task's reference that stands in for it."""

    def cells(self, data_hash: str) -> list[Cell]:
        """Return the cells on data with ``data_hash``, all seeds of a combination together.

        Combination by combination, so that the reference fills the cache of trained models first and parallel workers
        do not wait for one another's training.
        """
        pairs = itertools.product(self.combinations, self.seeds)
        return [make_cell(self.card, data_hash, methods, seed) for methods, seed in pairs]


def select(catalogue: Catalogue, request: Request) -> list[Selected]:
    """Return the tasks to run, in order of name, with methods and seeds.

    Raises:
        UsageError: a name, parameter or value that does not exist; a glob that matches nothing; a method that fits
            none of the tasks.
        PluginError: a plugin that is needed is broken.
    """
    if request.seeds is not None and request.seeds < 1:
        raise UsageError(f"--seeds {request.seeds} leaves nothing to run", "Give a number from 1 on")
    cards = select_tasks(catalogue, request.tasks, request.suite)
    if not request.plugins:
        return [_selected(catalogue, card, _line_up(catalogue, card), request) for card in cards]
    choices = choose(catalogue, request.plugins)
    _require_use_for_each(choices, cards)
    fitting = [card for card in cards if any(card.takes(choice.card) for choice in choices)]
    return [_selected(catalogue, card, choices, request) for card in fitting]


def _selected(catalogue: Catalogue, card: TaskCard, choices: Sequence[Choice], request: Request) -> Selected:
    return Selected(
        card,
        _combinations(catalogue, card, choices),
        _seeds(card, request.seeds),
        card.name in request.tasks,
        _assumed(card, choices),
    )


def _line_up(catalogue: Catalogue, card: TaskCard) -> list[Choice]:
    """Return the methods that the task proposes, as far as there are plugins that offer them."""
    # Not by name alone: a plugin may bear the name of one of its methods, and would stand for all of them.
    here = [name for name in card.line_up if name in catalogue.methods]
    choices = choose(catalogue, [f"{catalogue.plugin_of(name).name}/{name}" for name in here])
    if not choices:
        raise UsageError(
            f"no method is named, and task {card.name!r} proposes none that is here",
            "Name one with --plugin; benchsuite list methods shows all",
        )
    return choices


def select_tasks(catalogue: Catalogue, patterns: Sequence[str], suite: str | None) -> list[TaskCard]:
    """Return the tasks that globs name within a suite, or within all tasks; without globs the whole suite.

    Raises:
        UsageError: an unknown suite, or a pattern that matches nothing.
    """
    if suite is None and patterns:
        pool = dict(catalogue.tasks)
    else:
        pool = {card.name: card for card in catalogue.suite(suite or DEFAULT_SUITE)}
    if not patterns:
        return [pool[name] for name in sorted(pool)]
    names = {name for pattern in patterns for name in _matches(catalogue, pattern, pool, suite)}
    return [pool[name] for name in sorted(names)]


def _matches(catalogue: Catalogue, pattern: str, pool: Iterable[str], suite: str | None) -> list[str]:
    found = fnmatch.filter(pool, pattern)
    if found:
        return found
    if suite is not None:
        raise UsageError(f"suite {suite!r} has no task {pattern!r}", near(pattern, pool))
    if _WILD & set(pattern):
        raise UsageError(f"no task matches {pattern!r}", near(pattern, pool))
    # The catalogue knows more: the name may be one that a broken plugin was to give.
    return [catalogue.task(pattern).name]


def _require_use_for_each(choices: Iterable[Choice], cards: Sequence[TaskCard]) -> None:
    for choice in choices:
        if not any(card.takes(choice.card) for card in cards):
            names = ", ".join(card.name for card in cards)
            raise UsageError(
                f"method {choice.card.name!r} is {_what(choice.card)}, which none of the selected tasks takes: {names}",
                "Name other tasks with --task or --suite; benchsuite list tasks shows what each takes",
            )


def _what(card: MethodCard) -> str:
    return f"a {card.kind}" + (f" for {' and '.join(card.protocols)}" if card.protocols else "")


def _combinations(
    catalogue: Catalogue, card: TaskCard, choices: Iterable[Choice]
) -> tuple[Mapping[Kind, MethodRef], ...]:
    """Return the cross product over the factors of the reference and the chosen methods of that kind."""
    chosen = list(choices)
    per_factor = [_levels(catalogue, card, kind, chosen) for kind in card.factors]
    return tuple(dict(zip(card.factors, levels, strict=True)) for levels in itertools.product(*per_factor))


def _levels(catalogue: Catalogue, card: TaskCard, kind: Kind, choices: Iterable[Choice]) -> list[MethodRef]:
    levels: dict[str, MethodRef] = {}
    reference = card.reference.get(kind)
    if reference is not None:
        ref = method_ref(catalogue.method(reference), {})
        levels[ref.label] = ref
    for choice in choices:
        if choice.card.kind == kind and card.takes(choice.card):
            levels.setdefault(choice.ref.label, choice.ref)
    if not levels:
        raise UsageError(
            f"task {card.name!r} needs a {kind} too", f"Name one with --plugin: it has no reference {kind}"
        )
    return list(levels.values())


def _assumed(card: TaskCard, choices: Iterable[Choice]) -> Mapping[Kind, str]:
    named = {choice.card.kind for choice in choices if card.takes(choice.card)}
    return {kind: name for kind, name in card.reference.items() if kind not in named}


def _seeds(card: TaskCard, wanted: int | None) -> tuple[int, ...]:
    return tuple(range(card.seeds if wanted is None else wanted))
