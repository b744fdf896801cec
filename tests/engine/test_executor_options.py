"""What stands in the brackets of --executor, and what is said where it is wrong."""

from __future__ import annotations

import importlib.util
import shutil

import pytest

from benchsuite.engine.executors import ExecutorOptions, InlineExecutor, make_executor
from benchsuite.errors import UsageError
from benchsuite.host import HostOptions, load_catalogue


class Options(ExecutorOptions):
    partition: str = "all"
    gpus: int = 0


class Offers:
    """A catalogue whose plugin offers an executor, and remembers what it was asked."""

    def __init__(self, executor):
        self.executor = executor

    def call(self, hook, *, name, options):
        self.asked = (name, options)
        return [("somebody", self.executor)]


@pytest.fixture(scope="module")
def first_party():
    return load_catalogue(HostOptions())


def make(spec, catalogue, jobs=1, timeout=None):
    return make_executor(spec, catalogue, jobs=jobs, timeout=timeout)


def test_what_stands_in_the_brackets_reaches_the_plugin():
    offers = Offers(InlineExecutor())
    make("cloud[partition=long, gpus=2]", offers, jobs=3, timeout=5)
    assert offers.asked == ("cloud", {"partition": "long", "gpus": "2", "jobs": 3, "timeout": 5})
    options = Options.read("cloud", offers.asked[1])
    assert options == Options(jobs=3, timeout=5, partition="long", gpus=2)


def test_an_executor_is_asked_at_once_whether_it_can_run():
    class Broke(InlineExecutor):
        def check(self):
            raise UsageError("no money")

    with pytest.raises(UsageError, match="no money"):
        make("cloud", Offers(Broke()))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("cloud[gpus]", "'gpus' cannot be read"),
        ("cloud[gpus=1,gpus=2]", "'gpus=2' cannot be read"),
        ("cloud[jobs=2]", "--jobs and --timeout are options of the run"),
        ("cloud[gpus=1", "Write NAME or NAME"),
        ("inline[gpus=1]", "executor 'inline' has no options"),
        ("local[gpus=1]", "executor 'local' has no option 'gpus'"),
    ],
)
def test_a_spec_that_cannot_be_read_says_how_to_write_it(spec, message):
    with pytest.raises(UsageError, match=message):
        make(spec, Offers(InlineExecutor()))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"partitoin": "a"}, "executor 'cloud' has no option 'partitoin'. Did you mean 'partition'?"),
        ({"gpus": "many"}, r"executor 'cloud' cannot have gpus='many': .*Its options: partition, gpus"),
    ],
)
def test_a_wrong_option_is_one_line(given, message):
    with pytest.raises(UsageError, match=message):
        Options.read("cloud", given)


@pytest.mark.parametrize(
    ("name", "needs"), [("ray", r"pip install 'benchsuite\[ray\]'"), ("slurm", r"pip install 'benchsuite\[slurm\]'")]
)
def test_without_the_extra_one_line_says_what_to_install(first_party, monkeypatch, name, needs):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n, *a: None if n in ("ray", "submitit") else find(n, *a))
    with pytest.raises(UsageError, match=needs):
        make(name, first_party)


def test_without_slurm_one_line_says_so(first_party, monkeypatch):
    pytest.importorskip("submitit")
    monkeypatch.setattr(shutil, "which", lambda command: None)
    with pytest.raises(UsageError, match="there is no command sbatch"):
        make("slurm", first_party)


@pytest.mark.parametrize("spec", ["ray[cpus=0]", "ray[memory=-1]", "ray[retries=-1]", "slurm[chunk=0,cluster=local]"])
def test_numbers_that_make_no_sense_are_refused(first_party, spec):
    with pytest.raises(UsageError, match="cannot have"):
        make(spec, first_party)
