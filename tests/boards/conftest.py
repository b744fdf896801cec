"""Cards and records to make boards from."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from benchsuite.contracts.cards import MethodCard, Metric, Parameter, TaskCard
from benchsuite.host import Catalogue, LoadedPlugin, PluginInfo
from benchsuite.plugin import bits_parameter, hookimpl
from benchsuite.store import CellRecord, ErrorInfo, Store
from benchsuite.store.records import EnvLine, digest

ENV = EnvLine(env={"cpu": "Xeon", "threads": 1, "packages": {"torch": "2.13.0"}}).sealed()
MEASURED = {
    "cost_ratio": 4.0,
    "quantization_seconds": 0.02,
    "drift": 1.0,
    "stored_bytes": 250.0,
    "reference_bytes": 1000.0,
    "agreement": 99.0,
}


class Desk:
    """Makes cards, records, stores and catalogues."""

    def method(self, name: str, bits: bool = True, **changes) -> MethodCard:
        base = {"name": name, "kind": "quantizer", "target": "m:C", "summary": f"About {name}."}
        return MethodCard(**{**base, "parameters": (bits_parameter(),) if bits else (), **changes})

    def task(self, name: str = "graph-gcn", **changes) -> TaskCard:
        base = {
            "name": name,
            "target": "t:T",
            "summary": f"About {name}",
            "factors": ("quantizer",),
            "dataset": "graph",
            "protocol": "node-quantization/1",
            "metrics": (Metric(name="accuracy", unit="%"),),
            "config": {"backbone": "gcn"},
            "reference": {"quantizer": "fp32"},
            "seeds": 3,
        }
        return TaskCard(**{**base, **changes})

    def catalogue(self, *cards, columns=None) -> Catalogue:
        info = PluginInfo("desk", "1", "path", "desk", None, None, "")
        methods = tuple(card for card in cards if isinstance(card, MethodCard))
        tasks = tuple(card for card in cards if isinstance(card, TaskCard))
        plugin = LoadedPlugin(info, methods=methods, tasks=tasks)
        if columns is not None:
            plugin.manager.register(SimpleNamespace(benchsuite_columns=hookimpl(lambda board: columns)))
        return Catalogue([plugin])

    def record(self, task: TaskCard, method: MethodCard, seed: int, value: float | None, **changes) -> CellRecord:
        """Return a record; ``value`` None makes it a failed one. ``params``, ``key`` and ``measured`` are merged."""
        params = method.resolve(changes.pop("params", {}))
        key = {
            "task": task.name,
            "task_version": task.version,
            "config": digest(dict(task.config)),
            "data": "d" * 16,
            "protocol": task.protocol,
            "methods": {method.kind: {"name": method.name, "version": method.version, "params": params}},
            "seed": seed,
            "device": "cpu",
        } | changes.pop("key", {})
        ok = value is not None
        fields = {
            "run": "run-1",
            "cell": digest(key),
            "key": key,
            "status": "ok" if ok else "failed",
            "metrics": {task.metrics[0].name: value} if ok else {},
            "measurements": MEASURED | changes.pop("measured", {}) if ok else {},
            "notes": {"execution": {"layer0.combination": "simulated"}} if ok else {},
            "error": None if ok else ErrorInfo(phase="run", type="ValueError", message="no"),
            "env": ENV.hash,
            "started": f"2026-01-02T03:04:{seed:02d}.000000+00:00",
            "seconds": 1.5,
            "alone": True,
        }
        return CellRecord(**{**fields, **changes}).sealed()

    def runs(self, task: TaskCard, method: MethodCard, values, **changes) -> list[CellRecord]:
        """Return one record for each value; their seeds count from 0."""
        return [self.record(task, method, seed, value, **dict(changes)) for seed, value in enumerate(values)]

    def store(self, *records) -> Store:
        flat = [r for item in records for r in (item if isinstance(item, list) else [item])]
        return Store(cells=flat, envs={ENV.hash: dict(ENV.env)})

    def knob(self, **changes) -> Parameter:
        return Parameter(**{"name": "clip", "default": "minmax", "doc": "Range.", **changes})


@pytest.fixture
def desk() -> Desk:
    return Desk()


class Scene:
    """Two methods and the reference on one task, three seeds each."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.task = desk.task()
        self.fp32 = desk.method("fp32", bits=False)
        self.fine = desk.method("fine")
        self.rough = desk.method("rough")
        self.cards = (self.task, self.fp32, self.fine, self.rough)
        self.records = [
            *desk.runs(self.task, self.fp32, [80.0, 81.0, 82.0], measured={"stored_bytes": 1000.0}),
            *desk.runs(self.task, self.fine, [79.9, 81.1, 81.8]),
            *desk.runs(self.task, self.fine, [79.0, 80.2, 80.9], params={"bits": 4}),
            *desk.runs(self.task, self.rough, [78.0, 79.1, 79.9], measured={"cost_ratio": 900.0}),
        ]

    @property
    def catalogue(self) -> Catalogue:
        return self.desk.catalogue(*self.cards)

    @property
    def store(self) -> Store:
        return self.desk.store(self.records)


@pytest.fixture
def scene(desk) -> Scene:
    return Scene(desk)


@pytest.fixture
def results():
    """Return a function that writes records as run files below ``out``."""

    def write(out, records, name="run-1") -> None:
        path = out / "results" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ENV.text() + "".join(record.text() for record in records))

    return write
