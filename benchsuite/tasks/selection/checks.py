"""The contract's checks on what a method of a node-selection task is and returns; each names what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, get_args

import torch
from torch import Tensor, nn

from benchsuite.contracts.norm_placement import NodeRanking, NodeScale, Slot
from benchsuite.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchsuite.contracts.graph import Graph
    from benchsuite.models.selection.block import Placed
    from benchsuite.models.selection.model import SelectionModel

_MEND = "The contract is in benchsuite/contracts/norm_placement.py"


def check_method(made: object) -> NodeScale | NodeRanking:
    """Return ``made`` if a node-selection task can take it.

    Raises:
        ProtocolError: it is neither a scale per node nor a ranking, or names a slot that there is not.
    """
    if isinstance(made, NodeRanking):
        return made
    if not isinstance(made, NodeScale):
        kind = type(made).__name__
        raise ProtocolError(
            f"{kind} is no placement for node selection: it has neither scaler() with slot and norm_after, nor rank()",
            "Placements in transformers are for distillation tasks. " + _MEND,
        )
    if made.slot is not None and made.slot not in get_args(Slot):
        raise ProtocolError(f"slot {made.slot!r} is not one of {', '.join(get_args(Slot))}", _MEND)
    return made


def check_scores(scores: object, nodes: int, source: str) -> Tensor:
    """Return ``scores`` as float64 ``[nodes]`` if they are finite.

    Raises:
        ProtocolError: they are not; the message names their ``source``.
    """
    if not isinstance(scores, Tensor) or tuple(scores.shape) != (nodes,):
        found = f"shape {tuple(scores.shape)}" if isinstance(scores, Tensor) else type(scores).__name__
        raise ProtocolError(f"{source} returned {found}, not one score for each of {nodes} nodes", _MEND)
    wrong = int((~torch.isfinite(scores)).sum())
    if wrong:
        raise ProtocolError(f"{source} returned NaN or infinity for {wrong} of {nodes} nodes")
    return scores.detach().double()


def check_scales(model: SelectionModel, graph: Graph) -> None:
    """Ask every scale of ``model`` once, on the way of ``graph`` through it.

    Raises:
        ProtocolError: one is not ``[nodes]`` of the features' type, finite and positive.
    """
    hooks = [placed.register_forward_pre_hook(_watch(name)) for name, placed in model.scales()]
    try:
        with torch.no_grad():
            model(graph)
    finally:
        for hook in hooks:
            hook.remove()


def _watch(name: str) -> Callable[[nn.Module, tuple[Any, ...]], None]:
    def check(placed: nn.Module, given: tuple[Any, ...]) -> None:
        features, graph = given
        _check_scale(cast("Placed", placed).scaler(features, graph), features, f"the scale at {name}")

    return check


def _check_scale(scale: object, features: Tensor, name: str) -> None:
    nodes = len(features)
    if not isinstance(scale, Tensor) or tuple(scale.shape) != (nodes,) or scale.dtype != features.dtype:
        found = f"{tuple(scale.shape)} {scale.dtype}" if isinstance(scale, Tensor) else type(scale).__name__
        raise ProtocolError(f"{name} is {found}, not {(nodes,)} {features.dtype}", _MEND)
    wrong = int((~(torch.isfinite(scale) & (scale > 0))).sum())
    if wrong:
        raise ProtocolError(f"{name} is not finite and positive for {wrong} of {nodes} nodes", _MEND)
