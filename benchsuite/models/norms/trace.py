"""One forward pass, watched: which small modules map hidden states to hidden states, and what the trunk returned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import nn

LARGEST = 4
"""Parameters per unit of width that a candidate may have. A norm has at most two; what has more is a projection or a
whole block, and too large to be copied for a test."""


@dataclass(frozen=True)
class Call:
    """One call of a candidate."""

    path: str
    module: nn.Module
    output: Tensor
    order: int
    """Position among all returns of this forward."""

    @property
    def width(self) -> int:
        """Size of the last axis."""
        return self.output.shape[-1]


@dataclass(frozen=True)
class Trace:
    """What one forward pass showed."""

    calls: tuple[Call, ...]
    """Of modules with few parameters that map ``[..., d]`` to the same shape, in the order of their returns."""
    trunk: Tensor | None
    """The trunk's last hidden state; the model's own output where no module names one; None where that is no tensor."""
    end: int
    """Position of the trunk's return."""


def trace(model: nn.Module, inputs: Mapping[str, Tensor]) -> Trace:
    """Run ``model`` once, without gradients, and return what was seen; all hooks are gone afterwards."""
    watch = _Watch()
    names = {module: path for path, module in model.named_modules()}
    handles = [module.register_forward_hook(watch.hook(path), with_kwargs=True) for module, path in names.items()]
    try:
        with torch.no_grad():
            output = model(**inputs)
    finally:
        for handle in handles:
            handle.remove()
    if watch.trunk is None:
        watch.trunk = (first_tensor(output), watch.returns)
    return Trace(tuple(watch.calls), *watch.trunk)


class _Watch:
    """Collects what the hooks see."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.trunk: tuple[Tensor | None, int] | None = None
        self.returns = 0

    def hook(self, path: str) -> Callable[..., None]:
        """Return the hook for the module at ``path``."""

        def seen(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
            self.returns += 1
            last = getattr(output, "last_hidden_state", None)
            if isinstance(last, Tensor):
                self.trunk = (last, self.returns)
            given = first_tensor((*args, *kwargs.values()))
            if path and given is not None and _maps_hidden_states(module, given, output):
                self.calls.append(Call(path, module, output, self.returns))

        return seen


def _maps_hidden_states(module: nn.Module, given: Tensor, output: object) -> bool:
    if not isinstance(output, Tensor) or output.shape != given.shape or output.dim() < 2:
        return False
    if not (output.is_floating_point() and given.is_floating_point()):
        return False
    return sum(p.numel() for p in module.parameters()) <= LARGEST * output.shape[-1]


def first_tensor(values: Any) -> Tensor | None:
    """Return ``values`` if it is a tensor, else the first tensor directly in it, else None."""
    if isinstance(values, Tensor):
        return values
    if isinstance(values, dict):
        values = tuple(values.values())
    if isinstance(values, tuple | list):
        return next((value for value in values if isinstance(value, Tensor)), None)
    return None
