"""An interpreter for the part of the pickle language that Planetoid's files use.

A pickle is a program for a stack machine, and two of its instructions import and call anything. So no byte of a file
reaches :mod:`pickle`: :func:`pickletools.genops` splits the program into instructions, and the machine below knows
those thirty that numpy arrays, SciPy's CSR matrices and dicts of lists take (found with ``python -m pickletools`` on
all 21 files). A name in a file is compared with six known names and never imported. What the names make are the inert
classes of this module, and arrays are built from checked shapes. Time and memory stay linear in the file's size: no
instruction copies, hashes or allocates more than the file itself holds.
"""

from __future__ import annotations

import math
import pickletools
import warnings
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    Step = Callable[["Machine", Any], None]

#: Element types of arrays; ``O`` (objects) is not among them.
DTYPES = frozenset({"f4", "f8", "i4", "i8"})
_LONGEST = 2**31 - 1


class Refused(ValueError):
    """The program is damaged, or does what no Planetoid file does. Nothing of it was executed."""


class Name(Enum):
    """Every global that a file may name, as it stands there."""

    RECONSTRUCT = "numpy.core.multiarray _reconstruct"
    NDARRAY = "numpy ndarray"
    DTYPE = "numpy dtype"
    CSR = "scipy.sparse.csr csr_matrix"
    DEFAULTDICT = "collections defaultdict"
    LIST = "__builtin__ list"


@dataclass(eq=False)
class Dtype:
    """Stands for a :class:`numpy.dtype`."""

    code: str
    order: str | None = None


@dataclass(eq=False)
class Array:
    """Stands for a :class:`numpy.ndarray`, and holds it once its shape and bytes agree."""

    value: np.ndarray | None = None


@dataclass(eq=False)
class Csr:
    """Stands for a CSR matrix; its parts are not checked here."""

    state: dict[Any, Any] | None = None


class Lists(dict[Any, Any]):
    """Stands for a ``defaultdict(list)``; what it holds is not checked here."""


@dataclass(eq=False)
class Machine:
    """The state of one run."""

    stack: list[Any] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)

    def since_mark(self) -> list[Any]:
        """Take everything above the last mark off the stack."""
        mark = self.marks.pop()
        taken = self.stack[mark:]
        del self.stack[mark:]
        return taken


def evaluate(program: bytes) -> Any:
    """Return what ``program`` builds: :class:`Array`, :class:`Csr`, :class:`Lists`, or a plain value.

    Raises:
        Refused: at the first instruction, name or argument that is not of the kind described above.
    """
    machine = Machine()
    position = 0
    try:
        with warnings.catch_warnings():
            # pickletools only warns of an escape that means nothing; no original has any in a name.
            warnings.filterwarnings("error", ".*invalid escape", DeprecationWarning)
            for instruction, argument, where in pickletools.genops(program):
                position = where or 0
                step = _STEPS.get(instruction.name)
                if step is None:
                    raise Refused(f"instruction {instruction.name}")
                step(machine, argument)
    except Refused as refusal:
        raise Refused(f"{refusal} at byte {position:,}") from None
    except (ValueError, IndexError, KeyError, DeprecationWarning) as error:
        raise Refused(f"it is cut off or damaged after byte {position:,}") from error
    if len(machine.stack) != 1 or machine.marks or position + 1 != len(program):
        raise Refused(f"it does not end at byte {position:,}, where its program ends")
    return machine.stack[0]


def _push(value: Any) -> Step:
    return lambda machine, _: machine.stack.append(value)


def _argument(machine: Machine, argument: Any) -> None:
    machine.stack.append(argument)


def _protocol(_: Machine, version: int) -> None:
    if version != 2:
        raise Refused(f"pickle protocol {version} in place of 2")


def _global(machine: Machine, name: str) -> None:
    try:
        machine.stack.append(Name(name))
    except ValueError:
        raise Refused(f"the name {name[:80]!r}, which could run code,") from None


def _remember(machine: Machine, slot: int) -> None:
    machine.memo[slot] = machine.stack[-1]


def _recall(machine: Machine, slot: int) -> None:
    machine.stack.append(machine.memo[slot])


def _mark(machine: Machine, _: None) -> None:
    machine.marks.append(len(machine.stack))


def _tuple(machine: Machine, _: None) -> None:
    machine.stack.append(tuple(machine.since_mark()))


def _short_tuple(length: int) -> Step:
    def step(machine: Machine, _: None) -> None:
        items = [machine.stack.pop() for _ in range(length)]
        machine.stack.append(tuple(reversed(items)))

    return step


def _append(machine: Machine, _: None) -> None:
    _extend(machine, [machine.stack.pop()])


def _extend(machine: Machine, items: list[Any]) -> None:
    target = machine.stack[-1]
    if type(target) is not list:
        raise Refused("an item for what is no list")
    target.extend(items)


def _set_items(machine: Machine, _: None) -> None:
    items = machine.since_mark()
    target = machine.stack[-1]
    # Only keys of these types: the hash of a nested tuple takes exponential time.
    if type(target) not in (dict, Lists) or len(items) % 2 or not all(type(k) in (int, str) for k in items[::2]):
        raise Refused("an entry for what is no plain dict")
    target.update(zip(items[::2], items[1::2], strict=True))


def _new(machine: Machine, _: None) -> None:
    arguments, cls = machine.stack.pop(), machine.stack.pop()
    if cls is not Name.CSR or arguments != ():
        raise Refused("an object of a refused class")
    machine.stack.append(Csr())


def _call(machine: Machine, _: None) -> None:
    arguments, function = machine.stack.pop(), machine.stack.pop()
    made: Array | Dtype | Lists
    match function, arguments:
        case Name.RECONSTRUCT, (Name.NDARRAY, (0,), "b"):
            made = Array()
        case Name.DTYPE, (str() as code, 0, 1) if code in DTYPES:
            made = Dtype(code)
        case Name.DEFAULTDICT, (Name.LIST,):
            made = Lists()
        case Name.DTYPE, (str() as code, *_):
            raise Refused(f"an array of the refused type {code[:20]!r}")
        case _:
            raise Refused("a refused call")
    machine.stack.append(made)


def _build(machine: Machine, _: None) -> None:
    state = machine.stack.pop()
    match machine.stack[-1], state:
        case Dtype(order=None) as dtype, (3, ("<" | ">") as order, None, None, None, -1, -1, 0):
            dtype.order = order
        case Array(value=None) as array, (
            1,
            tuple() as shape,
            Dtype(order=str()) as dtype,
            bool() as columns,
            str() as text,
        ):
            array.value = _array(shape, dtype, columns, text)
        case Csr(state=None) as matrix, dict():
            matrix.state = state
        case _:
            raise Refused("a refused state of an object")


def _array(shape: tuple[Any, ...], dtype: Dtype, by_columns: bool, text: str) -> np.ndarray:
    kind = np.dtype(f"{dtype.order}{dtype.code}")
    if len(shape) > 2 or not all(type(n) is int and 0 <= n <= _LONGEST for n in shape):
        raise Refused("an array of a refused shape")
    if math.prod(shape) * kind.itemsize != len(text):
        raise Refused(f"an array of shape {shape} with {len(text):,} bytes")
    flat = np.frombuffer(text.encode("latin1"), kind).astype(kind.newbyteorder("="))
    return flat.reshape(shape, order="F" if by_columns else "C")


_STEPS: dict[str, Step] = {
    "PROTO": _protocol,
    "STOP": lambda machine, _: None,
    "NONE": _push(None),
    "NEWTRUE": _push(True),
    "NEWFALSE": _push(False),
    **dict.fromkeys(("BININT", "BININT1", "BININT2", "SHORT_BINSTRING", "BINSTRING"), _argument),
    "GLOBAL": _global,
    **dict.fromkeys(("BINPUT", "LONG_BINPUT"), _remember),
    **dict.fromkeys(("BINGET", "LONG_BINGET"), _recall),
    "MARK": _mark,
    "EMPTY_TUPLE": _push(()),
    "TUPLE": _tuple,
    "TUPLE1": _short_tuple(1),
    "TUPLE2": _short_tuple(2),
    "TUPLE3": _short_tuple(3),
    "EMPTY_LIST": lambda machine, _: machine.stack.append([]),
    "APPEND": _append,
    "APPENDS": lambda machine, _: _extend(machine, machine.since_mark()),
    "EMPTY_DICT": lambda machine, _: machine.stack.append({}),
    "SETITEMS": _set_items,
    "NEWOBJ": _new,
    "REDUCE": _call,
    "BUILD": _build,
}
