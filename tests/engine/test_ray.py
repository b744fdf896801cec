"""Cells on a Ray cluster of several nodes, simulated on this machine, all of it on loopback."""

from __future__ import annotations

import contextlib
import gc
import threading
import warnings
from importlib.util import find_spec

import psutil
import pytest

from benchsuite.engine.executors import make_executor
from benchsuite.engine.processes import alive
from benchsuite.engine.reporter import Silent
from benchsuite.errors import UsageError
from benchsuite.host import HostOptions, load_catalogue

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="the extra 'ray' is not installed")

STORE = 80 * 1024**2


@pytest.fixture(scope="module")
def cluster():
    """A head that runs no cell, and a driver attached to it; tests add the nodes that they need."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # loopback alone; read when ray is imported
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        import ray
        from ray._private import ray_constants
        from ray.cluster_utils import Cluster

        patch.setattr(ray_constants, "ENABLE_RAY_CLUSTER", False)  # where ray was imported before
        head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE, "node_ip_address": "127.0.0.1"}
        made = Cluster(initialize_head=True, head_node_args=head)
        ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
        yield made
        ray.shutdown()
        made.shutdown()
        with warnings.catch_warnings():  # Ray does not wait for all that it starts: not to be laid to a later test
            warnings.simplefilter("ignore", ResourceWarning)
            del made
            gc.collect()


@pytest.fixture
def nodes(cluster):
    """Return a function that adds nodes of one CPU; they are gone after the test."""
    added = []

    def add(count):
        added.extend(cluster.add_node(num_cpus=1, object_store_memory=STORE) for _ in range(count))
        return added

    yield add
    for node in added:
        if node in cluster.worker_nodes:
            cluster.remove_node(node, allow_graceful=False)


@pytest.fixture
def on_ray(engine):
    def make(options="", jobs=2, timeout=30):
        engine.executor = make_executor(f"ray[{options}]", load_catalogue(HostOptions()), jobs=jobs, timeout=timeout)
        return engine

    return make


def cells_on(node):
    """Worker processes of the suite that run below a node; what ends while it is looked at is not among them."""
    with contextlib.suppress(psutil.NoSuchProcess):
        raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
        return [each for each in raylet.children(recursive=True) if "spawn_main" in command(each)]
    return []


def command(process):
    with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        return " ".join(process.cmdline())
    return ""


class Sabotage(Silent):
    """Kills the node on which the first slow cell runs: the quick ones, of the reference, are let through.

    A quick cell's process is gone when its record is there, so what is found after the last of them is a slow cell's.
    """

    def __init__(self, cluster, nodes, quick):
        self.thread = threading.Thread(target=self.act, args=(cluster, nodes))
        self.over = threading.Event()
        self.quick = quick
        self.cells = []

    def finished(self, cell, record):
        self.quick -= 1
        if self.quick == 0:
            self.thread.start()

    def act(self, cluster, nodes):
        while not self.over.wait(0.05):
            for node in nodes:
                if cells := cells_on(node):
                    self.over.wait(0.5)
                    self.cells = cells
                    cluster.remove_node(node, allow_graceful=False)
                    return

    def done(self):
        """Wait for the thread, and see that it found what it was after."""
        self.over.set()
        self.thread.join(60)
        assert self.cells, "no node was killed while a slow cell ran on it"


@pytest.mark.slow
def test_every_way_to_end_is_a_record(nodes, on_ray):
    """One run on two nodes, so that each has the chance to hurt another."""
    nodes(2)
    engine = on_ray(timeout=3)
    bad = "toy-bad[how=exit|raise|loop|kill-parent]"
    summary = engine.run(bad, "toy-good[bits=4]", tasks=("toy-one",), seeds=1)
    assert summary.counts == {"crashed": 2, "failed": 1, "ok": 2, "timeout": 1}
    assert engine.record("toy-bad", how="exit").error.message == "its process ended with exit code 3"
    assert engine.record("toy-bad", how="raise").error.message == "this method cannot count"
    assert engine.record("toy-bad", how="loop").error.message == "it ran longer than 3 s"
    assert engine.record("toy-bad", how="kill-parent").error.type == "WorkerCrashedError"
    assert engine.record("toy-good").metrics == {"accuracy": 50.0}
    assert not any(record.alone for record in engine.records())


@pytest.mark.slow
def test_the_cells_of_a_node_that_is_killed_are_done_again(cluster, nodes, on_ray, caplog):
    sabotage = Sabotage(cluster, nodes(2), quick=2)
    engine = on_ray()
    summary = engine.run("toy-slow[seconds=4]", tasks=("toy-one",), seeds=2, reporter=sabotage)
    sabotage.done()
    assert summary.counts == {"ok": 4}
    assert len({record.cell for record in engine.records()}) == len(engine.records()) == 4
    assert "a node was lost: cell" in caplog.text
    # The method's process went with its node: a lost cell does not go on computing beside its second attempt.
    _, left = psutil.wait_procs(sabotage.cells, timeout=5)
    assert left == []


@pytest.mark.slow
def test_a_node_that_is_lost_too_often_is_a_crash(cluster, nodes, on_ray):
    sabotage = Sabotage(cluster, nodes(2), quick=2)
    engine = on_ray("retries=0")
    summary = engine.run("toy-slow[seconds=4]", tasks=("toy-one",), seeds=2, reporter=sabotage)
    sabotage.done()
    assert summary.counts == {"crashed": 1, "ok": 3}
    [error] = [record.error for record in engine.records() if record.error]
    assert (error.type, error.message) == ("NodeLost", "its node was lost, in each of 1 attempts")


@pytest.mark.slow
def test_ctrl_c_stops_the_cells_on_the_nodes(nodes, on_ray):
    class Enough(Silent):
        def finished(self, cell, record):
            raise KeyboardInterrupt

    [node] = nodes(1)
    engine = on_ray(jobs=3)
    summary = engine.run("toy-slow[seconds=60]", tasks=("toy-one",), seeds=1, reporter=Enough())
    assert summary.status == "interrupted"
    _, left = psutil.wait_procs(cells_on(node), timeout=5)
    assert not any(alive(each.pid) for each in left)


def test_a_cluster_that_is_not_there_is_one_line_at_once():
    session = pytest.importorskip("benchsuite_ray.session")
    with pytest.raises(UsageError, match=r"nothing listens at '127\.0\.0\.1:1': .*ray start --head"):
        session._answers("127.0.0.1:1")
    session._answers("auto")  # Ray knows


def test_a_cell_that_no_machine_could_run_is_refused_and_does_not_wait_for_ever():
    session = pytest.importorskip("benchsuite_ray.session")

    class Ray:
        @staticmethod
        def nodes():
            return [{"Alive": True, "Resources": {"CPU": 2.0}}, {"Alive": False, "Resources": {"CPU": 2.0, "GPU": 8.0}}]

    session._feasible(Ray, {"CPU": 2.0, "GPU": 0.0}, own=True)
    with pytest.raises(UsageError, match="this machine cannot give a cell what it reserves: CPU=1, GPU=1"):
        session._feasible(Ray, {"CPU": 1.0, "GPU": 1.0}, own=True)
