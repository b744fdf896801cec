"""What the host checks of a probe: that its reading keeps the contract, and that it left the model as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import torch
from torch import Tensor

from benchsuite.contracts.probe import Access, Reading
from benchsuite.errors import ProtocolError
from benchsuite.tasks.probing_score import orthonormal

if TYPE_CHECKING:
    import numpy as np
    from torch import nn

_MEND = "The contract is in benchsuite/contracts/probe.py"


class Watched:
    """The method's copy of the model, under watch.

    Args:
        model: the copy.
        original: what it is a copy of.
    """

    def __init__(self, model: nn.Module, original: nn.Module) -> None:
        self.model = model
        self.forwards = 0
        self._original = original

    def start(self) -> None:
        """Begin to count passes through the whole model."""
        self.forwards = 0
        self._handle = self.model.register_forward_pre_hook(self._count)

    def _count(self, _module: nn.Module, _args: object) -> None:
        self.forwards += 1

    def stop(self, access: Access) -> None:
        """End counting and look whether the model is as it was.

        Raises:
            ProtocolError: it is not, or more was used than ``access`` says.
        """
        self._handle.remove()
        if access == "parameters" and self.forwards:
            raise ProtocolError(f"the reading says access='parameters', but ran the model {self.forwards} times", _MEND)
        changed = self._changed()
        if changed:
            raise ProtocolError(f"the probe changed the model: {changed}", "Work on a deep copy")

    def _changed(self) -> str:
        before = self._original.state_dict()
        after = self.model.state_dict()
        if before.keys() != after.keys():
            return "its state has other names"
        for name, tensor in before.items():
            if not _same(tensor, after[name]):
                return f"{name} has other values"
        for path, module in self.model.named_modules():
            if module.training:
                return f"{path or 'it'} is in training mode"
            if module._forward_hooks or module._forward_pre_hooks:
                return f"{path or 'it'} still has a hook"
        return ""


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and bool(((one == other) | (one.isnan() & other.isnan())).all())


def check_reading(returned: object) -> Reading:
    """Return ``returned`` if it is a reading that says what it used.

    Raises:
        ProtocolError: it is not.
    """
    if not isinstance(returned, Reading):
        raise ProtocolError(f"probe() returned {type(returned).__name__}, not a Reading", _MEND)
    if returned.access not in get_args(Access):
        raise ProtocolError(f"the reading's access is {returned.access!r}, not one of {', '.join(get_args(Access))}")
    return returned


def check_directions(reading: Reading, model: nn.Module, site: str) -> np.ndarray:
    """Return an orthonormal basis ``[k, d]`` of what a reading claims at ``site``.

    Raises:
        ProtocolError: it says nothing of that site, or not in float64 rows that are finite and independent, or does
            not say whether dead directions are there.
    """
    module = model.get_submodule(site)
    values = next((v for path, v in reading.values.items() if _is_module(model, path, module)), None)
    if values is None:
        said = ", ".join(map(repr, reading.values)) or "no site"
        raise ProtocolError(f"the reading is of {said}; the task measures at {site!r}", _MEND)
    if reading.present is None:
        raise ProtocolError("the reading does not say whether dead directions are present", _MEND)
    if not isinstance(values, Tensor) or values.dtype != torch.float64 or values.dim() != 2:
        raise ProtocolError("the directions are no float64 matrix, one direction a row", _MEND)
    if not torch.isfinite(values).all():
        raise ProtocolError("the directions are not finite")
    basis = orthonormal(values.numpy())
    if basis is None:
        raise ProtocolError(f"the {len(values)} directions are not independent, or none", _MEND)
    return basis


def _is_module(model: nn.Module, path: str, module: nn.Module) -> bool:
    try:
        return model.get_submodule(path) is module
    except AttributeError:
        return False
