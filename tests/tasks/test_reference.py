"""The cache of reference models: trained once, by one process, and never half."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchsuite.errors import StoreError
from benchsuite.tasks.reference import Reference, load_or_train
from benchsuite.tasks.training import Selection

KEY = {"task": "toy", "seed": 0}
TRAINED = Reference({"weight": torch.arange(6.0).view(2, 3), "steps": torch.tensor(4)}, Selection(7, 81.5))


class Trainer:
    """Counts how often it trains."""

    def __init__(self):
        self.runs = 0

    def __call__(self):
        self.runs += 1
        return TRAINED


@pytest.fixture
def trainer():
    return Trainer()


def only_file(cache):
    (path,) = (cache / "models").glob("*.safetensors")
    return path


def same(reference):
    return reference.selection == TRAINED.selection and all(
        torch.equal(reference.state[name], tensor) for name, tensor in TRAINED.state.items()
    )


def test_it_is_trained_once_and_read_after_that(tmp_path, trainer):
    assert same(load_or_train(tmp_path, KEY, trainer))
    assert same(load_or_train(tmp_path, dict(reversed(KEY.items())), trainer))
    assert trainer.runs == 1


@pytest.mark.parametrize("change", [{"seed": 1}, {"torch": "9"}, {"task": "other"}])
def test_another_key_is_another_model(tmp_path, trainer, change):
    load_or_train(tmp_path, KEY, trainer)
    load_or_train(tmp_path, {**KEY, **change}, trainer)
    assert trainer.runs == 2


def _truncated(payload):
    return payload[: len(payload) // 2]


def _flipped_weight(payload):
    return payload[:-1] + bytes([payload[-1] ^ 1])


def _other_accuracy(payload):
    assert payload.count(b"81.5") == 1
    return payload.replace(b"81.5", b"99.5")


def _garbage(payload):
    return b"\x00garbage"


def _empty(payload):
    return b""


def _foreign(payload):
    import safetensors.torch

    return safetensors.torch.save({"weight": torch.zeros(1)})


@pytest.mark.parametrize("damage", [_truncated, _flipped_weight, _other_accuracy, _garbage, _empty, _foreign])
def test_a_damaged_file_is_trained_anew(tmp_path, trainer, damage):
    load_or_train(tmp_path, KEY, trainer)
    path = only_file(tmp_path)
    good = path.read_bytes()
    path.write_bytes(damage(good))
    assert same(load_or_train(tmp_path, KEY, trainer))
    assert trainer.runs == 2
    assert path.read_bytes() == good


def test_the_file_of_another_key_is_not_taken(tmp_path, trainer):
    load_or_train(tmp_path, KEY, trainer)
    path = only_file(tmp_path)
    load_or_train(tmp_path / "other", {**KEY, "seed": 1}, trainer)
    path.write_bytes(only_file(tmp_path / "other").read_bytes())
    load_or_train(tmp_path, KEY, trainer)
    assert trainer.runs == 3


def test_a_training_that_fails_leaves_nothing_and_frees_the_lock(tmp_path, trainer):
    def fail():
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        load_or_train(tmp_path, KEY, fail)
    assert not list((tmp_path / "models").glob("*.safetensors"))
    assert same(load_or_train(tmp_path, KEY, trainer))


def test_a_full_disk_leaves_no_half_file(tmp_path, trainer, monkeypatch):
    def full(path, payload):
        with path.open("wb") as file:
            file.write(payload[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(StoreError, match=r"No space left on device.*BENCHSUITE_CACHE"):
        load_or_train(tmp_path, KEY, trainer)
    assert [p.suffix for p in (tmp_path / "models").iterdir()] in ([], [".lock"])


def test_a_cache_that_cannot_be_written_is_one_line(tmp_path, trainer):
    (tmp_path / "models").write_text("a file where the folder should be")
    with pytest.raises(StoreError, match=r"the cache folder .*models cannot be written"):
        load_or_train(tmp_path, KEY, trainer)


_PROCESS = """
import sys, time
from pathlib import Path
import torch
from benchsuite.tasks.reference import Reference, load_or_train
from benchsuite.tasks.training import Selection

def train():
    with (cache / "trained").open("a") as log:
        log.write("once\\n")
    time.sleep(1.0)
    return Reference({"weight": torch.rand(3)}, Selection(1, 50.0))

cache = Path(sys.argv[1])
(cache / sys.argv[2]).touch()
while not all((cache / name).exists() for name in "ab"):
    time.sleep(0.01)
print(load_or_train(cache, {"seed": 0}, train).state["weight"].tolist())
"""


def test_two_processes_train_once_and_agree(tmp_path):
    started = [
        subprocess.Popen([sys.executable, "-c", _PROCESS, str(tmp_path), name], stdout=subprocess.PIPE, text=True)
        for name in "ab"
    ]
    printed = [process.communicate(timeout=120)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert printed[0] == printed[1] != ""
    assert (tmp_path / "trained").read_text() == "once\n"
