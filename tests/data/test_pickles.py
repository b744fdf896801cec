"""The pickle machine agrees with pickle on what it admits, and executes nothing."""

from __future__ import annotations

import contextlib
import os
import pickle
import pickletools
import struct
import time
import tracemalloc
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from benchsuite.data.pickles import Refused, evaluate
from benchsuite.data.planetoid import read_planetoid
from benchsuite.data.unpickle import LARGEST_FILE, read_array, read_lists, read_matrix
from benchsuite.errors import MissingDataError

READERS = (read_matrix, read_array, read_lists)
MATRIX = csr_matrix(np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0], [4, 5, 6]], np.float32))
ARRAY = np.arange(6, dtype=np.int32).reshape(2, 3)
LISTS = defaultdict(list, {0: [1, 70000, 2], 1: [], 300: [0]})


@pytest.fixture
def stored(tmp_path):
    def store(program: bytes):
        path = tmp_path / "file"
        path.write_bytes(program)
        return path

    return store


class TestAdmits:
    @pytest.mark.filterwarnings("ignore:Please import")
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    @pytest.mark.parametrize("value", [MATRIX, ARRAY, LISTS], ids=["matrix", "array", "lists"])
    def test_the_encoder_writes_what_pickle_reads(self, value, python2_pickle):
        loaded = pickle.loads(python2_pickle(value), encoding="latin1")
        assert type(loaded) is type(value)
        assert np.array_equal(loaded.toarray(), value.toarray()) if value is MATRIX else np.array_equal(loaded, value)

    def test_a_matrix(self, stored, python2_pickle):
        found = read_matrix(stored(python2_pickle(MATRIX)))
        assert found.shape == (4, 3)
        assert found.dtype == np.float32
        assert (found != MATRIX).nnz == 0

    @pytest.mark.parametrize("code", ["f4", "f8", "i4", "i8"])
    def test_an_array_of_each_type(self, code, stored, python2_pickle):
        found = read_array(stored(python2_pickle(ARRAY.astype(code))))
        assert found.dtype == np.dtype(code)
        assert found.tolist() == [[0, 1, 2], [3, 4, 5]]

    def test_an_array_by_columns_and_in_the_other_byte_order(self, stored, python2_pickle):
        program = python2_pickle(ARRAY.T.astype(">i4"))
        by_columns = program.replace(b"T\x01\x00\x00\x00<", b"T\x01\x00\x00\x00>").replace(b"tb\x89T", b"tb\x88T")
        found = read_array(stored(by_columns))
        assert found.tolist() == [[0, 4], [3, 2], [1, 5]]  # the stored bytes are 0 3 1 4 2 5

    def test_lists(self, stored, python2_pickle):
        assert read_lists(stored(python2_pickle(LISTS))) == dict(LISTS)

    def test_each_reader_refuses_the_others_files(self, stored, python2_pickle):
        for owner, value in zip(READERS, (MATRIX, ARRAY, LISTS), strict=True):
            path = stored(python2_pickle(value))
            for reader in READERS:
                if reader is not owner:
                    with pytest.raises(MissingDataError, match="is refused as"):
                        reader(path)


def _reduce(function, *arguments):
    class Evil:
        def __reduce__(self):
            return function, arguments

    return Evil()


def _attacks(marker):
    """Yield (name, program, whether plain pickle runs it) for programs that make the file ``marker``."""
    shell, python = f"touch {marker}", f"open({str(marker)!r}, 'w').close()"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        yield f"os.system-{protocol}", pickle.dumps(_reduce(os.system, shell), protocol), True
        yield f"eval-{protocol}", pickle.dumps(_reduce(eval, python), protocol), True
    yield "nested", pickle.dumps({"x": [(_reduce(exec, python),)]}, 2), True
    yield "chain", pickle.dumps(_reduce(getattr, _reduce(__import__, "os"), "system"), 2), False
    text = shell.encode()
    sized = b"U" + bytes([len(text)]) + text
    yield (
        "getattr",
        b"\x80\x02c__builtin__\ngetattr\nc__builtin__\n__import__\nU\x02os\x85RU\x06system\x86R" + sized + b"\x85R.",
        True,
    )
    yield "inst", b"(S" + repr(shell).encode() + b"\nios\nsystem\n.", True
    yield "obj", b"(cos\nsystem\n" + sized + b"o.", True
    yield "dotted", b"\x80\x04\x8c\x02os\x8c\x06system\x93" + sized + b"\x85R.", True
    yield "object array", pickle.dumps(np.array([_reduce(os.system, shell)], dtype=object), 2), True
    yield "reconstruct", b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncos\nsystem\nK\x00\x85U\x01b\x87R.", False
    yield "numpy load", b"\x80\x02cnumpy\nload\n" + sized + b"\x85R.", False
    yield "numpy runstring", b"\x80\x02cnumpy.testing._private.utils\nrunstring\n" + sized + b"}\x86R.", False
    yield "factory", b"\x80\x02ccollections\ndefaultdict\ncos\nsystem\n\x85R.", False
    yield "state", b"\x80\x02ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R}U\x09__class__cos\nsystem\nsb.", False
    yield "list call", b"\x80\x02c__builtin__\nlist\n(lU\x01a\x85R.", False
    yield "persistent", b"Pname\n.", False
    yield "extension", b"\x80\x02\x82\x01.", False


NAMES = [name for name, _, _ in _attacks("marker")]
SLOTS = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")


class TestRefuses:
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    @pytest.mark.parametrize("name", [name for name, _, runs in _attacks("marker") if runs])
    def test_the_attacks_are_real(self, name, tmp_path):
        marker = tmp_path / "marker"
        program = {n: p for n, p, _ in _attacks(marker)}[name]
        pickle.loads(program)
        assert marker.exists()

    @pytest.mark.parametrize("name", NAMES)
    def test_no_reader_executes_an_attack(self, name, tmp_path, stored):
        marker = tmp_path / "marker"
        path = stored({n: p for n, p, _ in _attacks(marker)}[name])
        for reader in READERS:
            with pytest.raises(MissingDataError, match="refused"):
                reader(path)
        assert not marker.exists()

    @pytest.mark.parametrize("slot", SLOTS)
    def test_an_attack_in_any_file_of_a_data_set(self, slot, tiny, tmp_path):
        marker = tmp_path / "marker"
        folder = tiny.write()
        for _, program, _ in _attacks(marker):
            (folder / f"ind.tiny.{slot}").write_bytes(program)
            with pytest.raises(MissingDataError) as caught:
                read_planetoid(tiny.facts, tiny.root)
            assert f"ind.tiny.{slot}" in caught.value.message
            assert "\n" not in str(caught.value)
        assert not marker.exists()

    def test_the_line_names_file_place_and_name(self, stored):
        path = stored(pickle.dumps(_reduce(os.system, "true"), 2))
        with pytest.raises(MissingDataError) as caught:
            read_matrix(path, "Mend it")
        assert str(caught.value) == (
            f"{path} is refused as a sparse matrix of Planetoid's: "
            "the name 'posix system', which could run code, at byte 2. Mend it"
        )

    @pytest.mark.parametrize("size", [0, LARGEST_FILE + 1])
    def test_a_file_of_no_or_of_absurd_size(self, size, tmp_path):
        path = tmp_path / "file"
        with path.open("wb") as file:
            file.truncate(size)
        with pytest.raises(MissingDataError, match=f"it has {size:,} bytes"):
            read_array(path)

    def test_a_folder_or_nothing_in_place_of_a_file(self, tmp_path):
        for path in (tmp_path, tmp_path / "none"):
            with pytest.raises(MissingDataError, match="it is no file"):
                read_array(path)


def _replaced(program: bytes, old: bytes, new: bytes) -> bytes:
    assert old in program
    return program.replace(old, new, 1)


class TestBombs:
    """Small files that would cost pickle or NumPy much memory or time."""

    SHAPE = b"(J\x02\x00\x00\x00J\x03\x00\x00\x00t"

    @pytest.fixture
    def bomb(self, request, python2_pickle):
        tuples = b"\x80\x02}(" + b"K\x01\x85" + b"q\x00h\x00\x86" * 60 + b"K\x01u."
        shared = b"\x80\x02ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R(K\x00](" + b"K\x01" * 3000 + b"eq\x01"
        shared += b"".join(b"M" + struct.pack("<H", n) + b"h\x01" for n in range(1, 3000)) + b"u."
        array = python2_pickle(ARRAY)
        return {
            "memo slot": b"\x80\x02]r\xff\xff\xff\x7f.",
            "long string": b"\x80\x02T\xff\xff\xff\x7fabc.",
            "bytearray": b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b".",
            "long integer": b"\x80\x02\x8b\xff\xff\xff\x7f\x01.",
            "frame": b"\x80\x04\x95" + struct.pack("<Q", 2**60) + b".",
            "exponential hash": tuples,
            "deep tuple": b"\x80\x02}(K\x01" + b"\x85" * 20_000 + b"K\x01u.",
            "deep lists": b"\x80\x02" + b"]" * 20_000 + b"a" * 19_999 + b".",
            "shared list": shared,
            "huge shape": _replaced(array, self.SHAPE, b"(J\xff\xff\xff\x7fJ\xff\xff\xff\x7ft"),
            "empty huge shape": _replaced(array, self.SHAPE, b"(J\x00\x00\x00\x00J\xff\xff\xff\x7ft"),
            "negative shape": _replaced(array, self.SHAPE, b"(J\xfe\xff\xff\xffJ\xfd\xff\xff\xfft"),
            "initial shape": _replaced(array, b"K\x00\x85", b"J\xff\xff\xff\x7f\x85"),
        }[request.param]

    @pytest.mark.parametrize(
        "bomb",
        [
            *("memo slot", "long string", "bytearray", "long integer", "frame", "exponential hash", "deep tuple"),
            *("deep lists", "shared list", "huge shape", "empty huge shape", "negative shape", "initial shape"),
        ],
        indirect=True,
    )
    def test_is_refused_with_little_memory_and_time(self, bomb, stored):
        path = stored(bomb)
        tracemalloc.start()
        begin = time.process_time()
        try:
            for reader in READERS:
                with pytest.raises(MissingDataError):
                    reader(path)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 64 * 2**20
        assert time.process_time() - begin < 10

    def test_a_list_inside_itself_is_refused(self, stored):
        for program in (b"\x80\x02]q\x00h\x00a.", b"\x80\x02}q\x00(K\x01h\x00u."):
            for reader in READERS:
                with pytest.raises(MissingDataError):
                    reader(stored(program))


class TestMatrixStructure:
    """SciPy would read foreign memory where an index is out of range."""

    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("indptr", [0, 2, 2, 3, 7]),
            ("indptr", [1, 2, 2, 3, 6]),
            ("indptr", [0, 3, 2, 3, 6]),
            ("indptr", [0, 2, 3, 6]),
            ("indptr", [0, -2, 2, 3, 6]),
            ("indices", [0, 2, 1, 0, 1, 3]),
            ("indices", [0, 2, 1, 0, 1, -1]),
            ("indices", [0, 2, 1, 0, 1]),
            ("indptr", [0.0, 2, 2, 3, 6]),
            ("data", [1, 2, 3, 4, 5, 6]),
        ],
    )
    def test_parts_that_do_not_fit_are_refused(self, name, values, stored, python2_pickle):
        matrix = MATRIX.copy()
        kind = np.float32 if any(isinstance(v, float) for v in values) else np.int32
        setattr(matrix, name, np.array(values, kind))
        with pytest.raises(MissingDataError, match="matrix"):
            read_matrix(stored(python2_pickle(matrix)))

    def test_a_matrix_without_entries_is_read(self, stored, python2_pickle):
        assert read_matrix(stored(python2_pickle(csr_matrix((3, 2), dtype=np.float32)))).nnz == 0


def _edits(draw: st.DrawFn, program: bytes) -> bytes:
    data = bytearray(program)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(data) - 1))
        match draw(st.sampled_from(["change", "insert", "delete", "copy"])):
            case "change":
                data[place] = draw(st.integers(0, 255))
            case "insert":
                data[place:place] = draw(st.binary(min_size=1, max_size=5))
            case "delete" if len(data) > 8:
                del data[place : place + draw(st.integers(1, 6))]
            case "copy":
                data[place:place] = data[place : place + draw(st.integers(1, 40))]
    return bytes(data[: draw(st.integers(1, len(data)))] if draw(st.booleans()) else data)


class TestFuzz:
    @settings(max_examples=250, deadline=None)
    @given(data=st.data())
    def test_a_mutated_file_is_read_or_refused(self, data, tmp_path_factory, python2_pickle):
        value = data.draw(st.sampled_from([MATRIX, ARRAY, LISTS]))
        path = tmp_path_factory.getbasetemp() / "mutated"
        path.write_bytes(_edits(data.draw, python2_pickle(value)))
        for reader in READERS:
            with contextlib.suppress(MissingDataError):
                assert isinstance(reader(path), csr_matrix | np.ndarray | dict)

    def test_an_escape_that_means_nothing_is_damage(self):
        with pytest.raises(Refused, match="damaged after byte 0"):
            evaluate(b"\x80\x02cscipy\\sparse\ncsr\n.")

    @settings(max_examples=200, deadline=None)
    @given(st.lists(st.sampled_from(sorted(op.code for op in pickletools.opcodes)), max_size=30))
    def test_any_sequence_of_instructions_ends(self, codes):
        program = b"\x80\x02" + b"".join(code.encode("latin1") for code in codes) + b"."
        with contextlib.suppress(Refused):
            evaluate(program)
