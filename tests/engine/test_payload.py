"""What crosses the border between worker and host, and what a record keeps of a failure."""

from __future__ import annotations

import pickle
import pickletools
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from benchsuite.contracts.task import CellOutput
from benchsuite.engine.failures import TAIL_LINES, describe, impersonal, printed, status_of
from benchsuite.engine.payload import LONGEST_NOTES, pack, unpack
from benchsuite.errors import ProtocolError

DTYPES = st.sampled_from([np.int64, np.float32, np.float64, np.bool_, np.uint8])


@given(st.dictionaries(st.text(), hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, min_side=0)), max_size=3))
def test_predictions_survive_bit_for_bit_under_any_name(predictions):
    back = unpack(pack(CellOutput(predictions))).predictions
    assert back.keys() == predictions.keys()
    for name, array in predictions.items():
        assert (back[name].dtype, back[name].shape) == (array.dtype, array.shape)
        assert back[name].tobytes() == array.tobytes()


def test_an_array_of_objects_is_refused_and_never_pickled():
    class Trap:
        def __reduce__(self):
            raise AssertionError("it was pickled")

    with pytest.raises(ProtocolError, match="array of objects"):
        pack(CellOutput({"test": np.array([Trap()], dtype=object)}))


def test_what_is_packed_is_plain_data():
    """Reading it in the host imports nothing but the suite's own class: neither numpy's nor a method's."""
    output = CellOutput({"test": np.arange(3)}, {"a": np.float32(0.5), "b": 1}, {"s": [np.float64(1), 2]}, {"n": [1]})
    packed = pack(output)
    imported = {word for op, word, _ in pickletools.genops(pickle.dumps(packed, 2)) if op.name == "GLOBAL"}
    helpers = {"copy_reg", "__builtin__", "_codecs"}  # how protocol 2 writes objects and bytes
    assert {word.split()[0] for word in imported} - helpers == {"benchsuite.engine.payload"}
    assert packed.measurements == {"a": 0.5, "b": 1.0}


def test_numbers_that_are_not_finite_are_named_by_their_place():
    output = pack(CellOutput({}, {"a": float("inf"), "b": None}, {"s": [1.0, float("nan"), float("-inf")]}))
    assert output.measurements == {"a": None, "b": None}
    assert output.samples == {"s": [1.0, None, None]}
    assert output.nonfinite == {"measurements.a": "inf", "samples.s.1": "nan", "samples.s.2": "-inf"}


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ({"test": 1}, "returned dict instead of a CellOutput"),
        (CellOutput({}, {"a": "fast"}), "a measurement is no number"),
        (CellOutput({}, {}, {"s": [None, "x"]}), "a measurement is no number"),
        (CellOutput({}, {}, {}, {"a": {1, 2}}), "the notes are no JSON"),
        (CellOutput({}, {}, {}, {"a": float("nan")}), "the notes are no JSON"),
        (CellOutput({}, {}, {}, {"a": "x" * LONGEST_NOTES}), f"at most {LONGEST_NOTES} fit"),
    ],
)
def test_what_cannot_be_recorded_is_refused(output, message):
    with pytest.raises(ProtocolError, match=message):
        pack(output)


def caught(function, *arguments):
    try:
        function(*arguments)
    except Exception as error:  # noqa: BLE001 - any exception is what is asked for
        return error
    raise AssertionError("it did not raise")


def test_a_failure_keeps_class_message_and_the_end_of_its_traceback():
    def deep(level):
        if level:
            deep(level - 1)
        raise ValueError("line one\n  line two " + "x" * 5000)

    info = describe(caught(deep, 100), "run")
    assert (info.phase, info.type) == ("run", "ValueError")
    assert info.message.startswith("line one line two xxx")
    assert len(info.message) == 1000
    assert len(info.tail) <= TAIL_LINES
    assert max(map(len, info.tail)) <= 400


def test_an_exception_that_cannot_even_say_its_message_is_described():
    class Broken(Exception):
        def __str__(self):
            raise RuntimeError

    assert "cannot be read" in describe(caught(lambda: (_ for _ in ()).throw(Broken())), "run").message


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (MemoryError(), "oom"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "oom"),
        (type("OutOfMemoryError", (RuntimeError,), {})("CUDA"), "oom"),
        (OSError(12, "Cannot allocate memory"), "oom"),
        (ValueError("out of memory is a phrase here"), "failed"),
        (RuntimeError("shape"), "failed"),
    ],
)
def test_running_out_of_memory_is_told_from_other_failures(error, status):
    assert status_of(error) == status


def test_folders_of_this_machine_are_taken_out_of_a_text(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), ""])
    monkeypatch.setenv("HOME", str(tmp_path))
    text = f'File "{tmp_path}/site/pkg/a.py", line 1; {tmp_path}/notes.txt'
    assert impersonal(text) == 'File "pkg/a.py", line 1; ~/notes.txt'


def test_only_the_end_of_a_long_log_is_read(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"\xff" + b"early\n" * 5_000_000 + b"the end\n")
    clock = time.perf_counter()
    lines = printed(log)
    assert time.perf_counter() - clock < 1
    assert (len(lines), lines[-1]) == (TAIL_LINES, "the end")
    assert printed(Path(tmp_path / "none")) == []
