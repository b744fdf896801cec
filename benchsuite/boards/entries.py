"""What competes on a board: a method with its parameters, and how it is called there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchsuite.boards.markdown import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchsuite.contracts.cards import Kind, MethodCard, Scalar
    from benchsuite.host import Catalogue
    from benchsuite.store.records import CellRecord


@dataclass(frozen=True)
class Entry:
    """One line of a board."""

    id: str
    """Canonical JSON of methods, parameters and device: the same for the same competitor, on every machine."""
    method: str
    params: Mapping[str, Scalar]
    card: MethodCard | None
    """None where no plugin offers the method any more."""
    partners: tuple[str, ...] = ()
    """Names of the methods of the other kinds, on a task with several factors."""
    device: str = "cpu"

    @property
    def bits(self) -> int | None:
        """The bit-width that the method was given; None where it has no such parameter."""
        bits = self.params.get("bits")
        return bits if isinstance(bits, int) and not isinstance(bits, bool) else None

    @property
    def sham(self) -> bool:
        """Whether the method is a control that must not win."""
        return self.card is not None and self.card.sham

    @property
    def family(self) -> str:
        """The label without bit-width: entries that differ in width alone share it."""
        return ", ".join([self.method, *self._details()])

    @property
    def label(self) -> str:
        """Name, bit-width and the parameters that are not at their defaults, as plain text."""
        width = "" if self.bits is None else f" INT{self.bits}"
        return ", ".join([self.method + width, *self._details()])

    def _details(self) -> list[str]:
        defaults = {} if self.card is None else self.card.resolve({})
        skip = "bits" if self.bits is not None else None
        shown = {k: v for k, v in sorted(self.params.items()) if k != skip and not _same(v, defaults.get(k))}
        details = [f"{plain(name)}={_text(value)}" for name, value in shown.items()]
        details += [f"with {partner}" for partner in self.partners]
        return details if self.device == "cpu" else [*details, f"on {plain(self.device)}"]


def entry_of(record: CellRecord, kind: Kind, catalogue: Catalogue) -> Entry:
    """Return what ``record`` is a run of, on the board of ``kind``."""
    methods: Mapping[str, Mapping[str, Any]] = record.key["methods"]
    own = methods[kind]
    device = str(record.key.get("device", "cpu"))
    return Entry(
        id=json.dumps([methods, device], sort_keys=True),
        method=plain(str(own["name"])),
        params=own.get("params", {}),
        card=catalogue.methods.get(own["name"]),
        partners=tuple(plain(str(methods[other]["name"])) for other in sorted(methods) if other != kind),
        device=device,
    )


def _same(value: Scalar, default: Scalar | None) -> bool:
    return type(value) is type(default) and value == default


def _text(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else plain(str(value))
