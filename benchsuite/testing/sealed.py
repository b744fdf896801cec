"""A callable that can be called and not looked into: labels lie behind ``job.train``."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchsuite.contracts.quantizer import QuantizationJob

#: Attributes that lead from a function to what it closes over.
INSIDE = frozenset(
    {"__closure__", "__code__", "__globals__", "__defaults__", "__kwdefaults__", "__self__", "__func__", "func", "args"}
)

# Outside the objects, so that no attribute of theirs leads to the function.
_contents: WeakKeyDictionary[Sealed, Callable[..., Any]] = WeakKeyDictionary()
_looks: WeakKeyDictionary[Sealed, list[str]] = WeakKeyDictionary()


class Sealed:
    """Calls ``function``; notes and refuses every attempt to look into it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        _contents[self] = function
        _looks[self] = []

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        return _contents[self](*args)

    def __deepcopy__(self, memo: dict[int, Any]) -> Sealed:
        return self  # as functions do

    def __getattribute__(self, name: str) -> Any:
        if name in INSIDE:
            _looks[self].append(name)
            raise AttributeError(f"{name} of a job's callable is not for methods")
        return object.__getattribute__(self, name)


def seal(job: QuantizationJob) -> QuantizationJob:
    """Return ``job`` with its callables sealed."""
    return dataclasses.replace(job, initial_model=Sealed(job.initial_model), train=Sealed(job.train))


def looks(job: QuantizationJob) -> list[str]:
    """Return which attributes of a sealed job's callables were asked for."""
    found = {"initial_model": job.initial_model, "train": job.train}
    return [f"job.{name}.{look}" for name, sealed in found.items() for look in _looks.get(sealed, [])]  # type: ignore[call-overload]
