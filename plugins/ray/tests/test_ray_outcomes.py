"""How a task of Ray's may end without an answer, with Ray's own exceptions; no cluster is needed."""

from __future__ import annotations

from importlib.util import find_spec

import benchsuite_ray
import pytest

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="the extra 'ray' is not installed")


class Ray:
    """Hands out what ``get`` is to raise; the exceptions are Ray's."""

    def __init__(self, raised):
        import ray.exceptions

        self.exceptions = ray.exceptions
        self.raised = raised

    def get(self, reference):
        raise self.raised

    def remote(self, **options):
        return lambda function: function


def landed(raised, attempt=0, retries=3):
    from benchsuite_ray.executor import Options, _Flight, _Flights

    flight = _Flight(payload=type("Payload", (), {"cell": "c0ffee"})(), attempt=attempt)
    return _Flights(Ray(raised), Options(retries=retries))._land(None, flight)


def errors():
    import ray.exceptions

    return ray.exceptions


def test_it_answers_to_its_name_alone():
    assert benchsuite_ray.benchsuite_executor("local", {}) is None
    assert benchsuite_ray.benchsuite_executor("ray", {"jobs": 1, "timeout": None}) is not None


def test_a_lost_node_is_tried_again_until_it_was_too_often():
    lost = errors().NodeDiedError("gone")
    assert landed(lost) is None
    assert landed(lost, attempt=2) is None
    outcome = landed(lost, attempt=3)
    assert (outcome.status, outcome.error.message) == ("crashed", "its node was lost, in each of 4 attempts")


def test_an_answer_that_was_lost_with_its_node_is_made_again():
    assert landed(errors().ObjectLostError("ab" * 28, None, "")) is None


def test_memory_and_death_of_ray_s_process_are_told_apart():
    assert landed(errors().OutOfMemoryError("too much")).status == "oom"
    crash = landed(errors().WorkerCrashedError())
    assert (crash.status, crash.error.phase, crash.error.type) == ("crashed", "worker", "WorkerCrashedError")


def test_a_node_without_the_suite_is_a_failure_to_load():
    cause = ModuleNotFoundError("No module named 'benchsuite'")
    outcome = landed(errors().RayTaskError("cell", "traceback", cause))
    assert (outcome.status, outcome.error.phase, outcome.error.type) == ("failed", "load", "ModuleNotFoundError")
    assert outcome.error.message == "No module named 'benchsuite'"
