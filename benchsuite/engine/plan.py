"""What of the wanted cells is done, what is to do, and what was done under other conditions and why that is stale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from benchsuite.store.order import moment
from benchsuite.store.records import canonical

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from benchsuite.engine.cells import Cell
    from benchsuite.store.records import CellKey, CellRecord

State = Literal["done", "todo", "stale", "left"]


@dataclass(frozen=True)
class Planned:
    """One wanted cell and where it stands."""

    cell: Cell
    state: State
    """``stale`` cells are to do as well: there is an ok record of them, made under other conditions. ``left`` cells
    have failed before and are not tried again."""
    reason: str = ""
    """What changed, how the last attempt ended, or what to know about a cell that is done."""

    @property
    def runs(self) -> bool:
        """Whether the cell is to be run."""
        return self.state in ("todo", "stale")


def make_plan(
    cells: Iterable[Cell],
    latest: Mapping[str, CellRecord],
    sources: Mapping[str, str] | None = None,
    force: bool = False,
    retry: Collection[str] | None = None,
) -> list[Planned]:
    """Say for each cell whether it is to be run.

    A cell is done when it has an ok record under its very key. One whose attempts all failed is to do again: the cause
    may have been the machine's, and each attempt leaves its own record.

    Args:
        cells: the wanted cells; one that is there twice counts once.
        latest: by cell id, as :meth:`benchsuite.store.Store.latest` returns it.
        sources: by method, the hash of its plugin's code today. A done cell whose code has changed since under one
            version stays done, and its reason says so.
        force: run the cells that are done too.
        retry: statuses; of the cells without a result those whose last attempt ended so are tried again, the others are
            left. None tries all of them.
    """
    others = _by_identity(latest.values())
    unique = {cell.id: cell for cell in cells}
    plan = [_place(cell, latest.get(cell.id), others, retry) for cell in unique.values()]
    if force:
        return [replace(each, state="todo", reason="forced") if each.state == "done" else each for each in plan]
    return [_remark(each, latest, sources or {}) for each in plan]


def _remark(planned: Planned, latest: Mapping[str, CellRecord], sources: Mapping[str, str]) -> Planned:
    if planned.state != "done":
        return planned
    recorded = latest[planned.cell.id].plugins
    changed = [
        ref.name
        for kind, ref in planned.cell.methods.items()
        if kind in recorded and sources.get(ref.name, recorded[kind].source) != recorded[kind].source
    ]
    if not changed:
        return planned
    return replace(planned, reason=f"the code of {', '.join(changed)} changed since, its version did not")


def _place(
    cell: Cell, record: CellRecord | None, others: Mapping[str, list[CellRecord]], retry: Collection[str] | None
) -> Planned:
    if record is not None and record.status == "ok":
        return Planned(cell, "done")
    if record is not None:
        again = retry is None or record.status in retry
        return Planned(cell, "todo" if again else "left", _last_attempt(record))
    rivals = others.get(_identity(cell.key()), [])
    if rivals:
        newest = max(rivals, key=moment)
        return Planned(cell, "stale", "; ".join(changes(newest.key, cell.key())))
    return Planned(cell, "todo")


def _last_attempt(record: CellRecord) -> str:
    cause = "" if record.error is None else f": {record.error.message}"
    return f"{record.status} before{cause}"


def _by_identity(records: Iterable[CellRecord]) -> dict[str, list[CellRecord]]:
    found: dict[str, list[CellRecord]] = {}
    for record in records:
        if record.status == "ok":
            found.setdefault(_identity(record.key), []).append(record)
    return found


def _identity(key: CellKey | Mapping[str, Any]) -> str:
    """Return what makes two cells the same to a user: task, methods with parameters, seed, device."""
    methods = {kind: (method["name"], dict(method["params"])) for kind, method in key["methods"].items()}
    return canonical([key["task"], methods, key["seed"], key["device"]])


def changes(old: CellKey | Mapping[str, Any], new: CellKey | Mapping[str, Any]) -> list[str]:
    """Say in words what differs between two keys of one identity."""
    found = []
    for kind, method in new["methods"].items():
        before = old["methods"][kind]["version"]
        if before != method["version"]:
            found.append(f"method {method['name']} is version {method['version']}, was {before}")
    if old["task_version"] != new["task_version"]:
        found.append(f"task is version {new['task_version']}, was {old['task_version']}")
    if old["protocol"] != new["protocol"]:
        found.append(f"protocol is {new['protocol']}, was {old['protocol']}")
    if old["config"] != new["config"]:
        found.append("task config changed")
    if old["data"] != new["data"]:
        found.append("data changed")
    return found
