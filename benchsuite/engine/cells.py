"""The cell: the unit of work, of resuming and of recording."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import Field

from benchsuite.contracts.cards import Frozen, Kind, Scalar
from benchsuite.store.records import digest

if TYPE_CHECKING:
    from benchsuite.contracts.cards import MethodCard, TaskCard


class MethodRef(Frozen):
    """A method with every one of its parameters."""

    name: str
    version: str
    params: Mapping[str, Scalar]
    short: str = Field(default="", exclude=True)
    """The method with the parameters worth saying; for people, no part of the key."""

    @property
    def label(self) -> str:
        """The method as people write it: ``topgq[bits=4]``."""
        inside = ",".join(f"{name}={_spell(value)}" for name, value in sorted(self.params.items()))
        return f"{self.name}[{inside}]" if inside else self.name


class Cell(Frozen):
    """One (task, method per factor, parameters, seed).

    The key holds what may change the result and nothing else: no path, no executor, no number of jobs.
    """

    task: str
    task_version: str
    config: str
    """Hash of the task card's ``config``."""
    data: str
    """Hash of the whole data set."""
    protocol: str
    methods: Mapping[Kind, MethodRef]
    seed: int
    device: str = "cpu"

    def key(self) -> dict[str, Any]:
        """Return the canonical key as plain JSON values."""
        return self.model_dump(mode="json")

    @cached_property
    def id(self) -> str:
        """First 16 hex digits of the SHA-256 of the key's canonical JSON."""
        return digest(self.key())

    @property
    def label(self) -> str:
        """The methods as people write them, one per factor, joined by `` x ``."""
        return " x ".join(method.short or method.label for method in self.methods.values())


def method_ref(card: MethodCard, params: Mapping[str, Scalar]) -> MethodRef:
    """Return ``card``'s method with ``params``, the parameters not named at their defaults.

    Raises:
        UsageError: an unknown parameter, or a value outside its domain.
    """
    resolved = card.resolve(params)
    return MethodRef(name=card.name, version=card.version, params=resolved, short=_short(card, resolved))


def _short(card: MethodCard, params: Mapping[str, Scalar]) -> str:
    """Name the method with the parameters that a run varies by itself or that are not at their defaults."""
    said = {p.name: params[p.name] for p in card.parameters if p.grid or params[p.name] != p.default}
    return MethodRef(name=card.name, version=card.version, params=said).label


def make_cell(
    card: TaskCard, data_hash: str, methods: Mapping[Kind, MethodRef], seed: int, device: str = "cpu"
) -> Cell:
    """Return the cell of ``card`` on data with ``data_hash``; ``methods`` has one entry per factor."""
    return Cell(
        task=card.name,
        task_version=card.version,
        config=digest(dict(card.config)),
        data=data_hash,
        protocol=card.protocol,
        methods={kind: methods[kind] for kind in card.factors},
        seed=seed,
        device=device,
    )


def _spell(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
