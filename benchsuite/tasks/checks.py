"""The quantizer contract's checks on what a method returned: each names the first thing that is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, get_args

import torch
from torch import Tensor

from benchsuite.contracts.quantizer import Execution, QuantizedModel
from benchsuite.errors import ProtocolError

if TYPE_CHECKING:
    from pydantic import JsonValue

_MEND = "The contract is in benchsuite/contracts/quantizer.py"


def check_model(returned: object) -> QuantizedModel:
    """Return ``returned`` if it has the methods of a quantized model.

    Raises:
        ProtocolError: it lacks one.
    """
    if isinstance(returned, QuantizedModel):
        return returned
    wanted = ("predict", "state", "execution", "diagnostics")
    lacking = [name for name in wanted if not hasattr(returned, name)]
    kind = type(returned).__name__
    raise ProtocolError(f"quantize() returned {kind}, which has no {', '.join(lacking)}", _MEND)


def check_logits(logits: object, nodes: int, classes: int) -> Tensor:
    """Return ``logits``, detached, if they are finite float32 of shape ``[nodes, classes]``.

    Raises:
        ProtocolError: they are not.
    """
    if not isinstance(logits, Tensor):
        raise ProtocolError(f"predict() returned {type(logits).__name__}, not a tensor", _MEND)
    if tuple(logits.shape) != (nodes, classes):
        raise ProtocolError(f"predict() returned shape {tuple(logits.shape)}, not {(nodes, classes)}", _MEND)
    if logits.dtype != torch.float32:
        raise ProtocolError(f"predict() returned {logits.dtype}, not torch.float32", _MEND)
    wrong = int((~torch.isfinite(logits)).any(1).sum())
    if wrong:
        raise ProtocolError(f"predict() returned NaN or infinity for {wrong} of {nodes} nodes")
    return logits.detach()


def stored_bytes(state: object) -> int:
    """Return the bytes of all tensors in ``state``: what is counted is what is there, not what is claimed.

    Raises:
        ProtocolError: it is no mapping of names to plain dense tensors.
    """
    if not isinstance(state, Mapping):
        raise ProtocolError(f"state() returned {type(state).__name__}, not a mapping", _MEND)
    for name, tensor in state.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise ProtocolError(f"state()[{name!r}] is {type(tensor).__name__}, not a tensor under a name", _MEND)
        if tensor.layout != torch.strided or tensor.is_quantized:
            raise ProtocolError(f"state()[{name!r}] is no plain dense tensor", "Return the parts it is made of")
    return sum(tensor.numel() * tensor.element_size() for tensor in state.values())


def check_execution(execution: object) -> dict[str, JsonValue]:
    """Return how each product ran.

    Raises:
        ProtocolError: it is no mapping of names to the words of :data:`Execution`.
    """
    if not isinstance(execution, Mapping):
        raise ProtocolError(f"execution() returned {type(execution).__name__}, not a mapping", _MEND)
    words = get_args(Execution)
    for name, word in execution.items():
        if not isinstance(name, str) or word not in words:
            raise ProtocolError(f"execution()[{name!r}] is {word!r}, not one of {', '.join(words)}", _MEND)
    return dict(execution)


def check_diagnostics(diagnostics: object) -> dict[str, JsonValue]:
    """Return what the method wants to tell, as the JSON that a record holds.

    Raises:
        ProtocolError: it is no mapping, or JSON cannot hold it (a tensor, NaN).
    """
    if not isinstance(diagnostics, Mapping):
        raise ProtocolError(f"diagnostics() returned {type(diagnostics).__name__}, not a mapping", _MEND)
    try:
        told: dict[str, JsonValue] = json.loads(json.dumps(dict(diagnostics), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ProtocolError(f"diagnostics() cannot be recorded: {error}", "Return numbers, texts and lists") from None
    return told
