"""The toy plugin, and a run of the engine on it without a command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from benchsuite.contracts.task import Places
from benchsuite.engine.executors import InlineExecutor, LocalExecutor
from benchsuite.engine.handover import make_payload
from benchsuite.engine.plan import make_plan
from benchsuite.engine.prepare import prepare
from benchsuite.engine.reporter import Silent
from benchsuite.engine.run import Job, run
from benchsuite.engine.selection import Request, select
from benchsuite.host import HostOptions, load_catalogue
from benchsuite.store import read_store

TOY = Path(__file__).parent / "plugins" / "toy"


@pytest.fixture(scope="session")
def toy_folder():
    return TOY


@pytest.fixture(scope="session")
def catalogue():
    return load_catalogue(HostOptions(builtins=("benchsuite.tasks.builtin",), plugin_paths=(TOY,)))


@dataclass
class Engine:
    """Runs requests in one folder, one after another."""

    catalogue: object
    folder: Path
    executor: object = field(default_factory=InlineExecutor)
    force: bool = False

    @property
    def out(self):
        return self.folder / "out"

    def ready(self, *plugins, reporter=None, **request):
        selected = select(self.catalogue, Request(plugins, **request))
        return prepare(selected, Places(None, self.folder / "cache"), reporter or Silent())

    def plan(self, *plugins, **request):
        ready, skipped = self.ready(*plugins, **request)
        cells = [cell for each in ready for cell in each.cells]
        return ready, skipped, make_plan(cells, read_store(self.out).latest(), force=self.force)

    def run(self, *plugins, reporter=None, **request):
        ready, skipped, plan = self.plan(*plugins, **request)
        job = Job(ready, plan, self.executor, self.catalogue, self.out, self.folder / "cache", skipped)
        return run(job, reporter or Silent())

    def records(self):
        return read_store(self.out).cells

    def record(self, method, seed=0, **params):
        """The one latest record of a method."""
        found = [
            record
            for record in read_store(self.out).latest().values()
            if record.key["seed"] == seed
            and any(
                m["name"] == method and params.items() <= m["params"].items() for m in record.key["methods"].values()
            )
        ]
        [record] = found
        return record


@pytest.fixture
def engine(catalogue, tmp_path):
    return Engine(catalogue, tmp_path)


@pytest.fixture
def local(catalogue, tmp_path):
    return Engine(catalogue, tmp_path, LocalExecutor(jobs=1, timeout=60))


@pytest.fixture
def payloads(engine):
    """Payloads of a method's cells, and before them the reference's, of one seed of a toy task."""

    def make(*plugins):
        ready, _ = engine.ready(*plugins, tasks=("toy-one",), seeds=1)
        cache = engine.folder / "cache"
        return [make_payload(cell, each, engine.catalogue, cache) for each in ready for cell in each.cells]

    return make
