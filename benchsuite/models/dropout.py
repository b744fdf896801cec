"""Dropout that draws no random number for a zero: on bag-of-words features it is most of what training costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

if TYPE_CHECKING:
    from benchsuite.contracts.graph import Graph
    from benchsuite.models.adjacency import Adjacency

#: Share of non-zero features above which picking them out costs more than the random numbers it saves.
SPARSE = 0.25


def dropout(x: Tensor, p: float, training: bool, adjacency: Adjacency) -> Tensor:
    """Zero each entry of ``x`` with probability ``p`` and scale the others by ``1 / (1 - p)``, in training only.

    The graph's own features keep their pattern of zeros through training, so it is found once and masks are drawn for
    the other entries alone. The distribution is that of :func:`torch.nn.functional.dropout`; the random stream is not.

    Args:
        x: any shape.
        p: probability.
        training: whether the model is in training mode.
        adjacency: whose graph's features may be ``x``.
    """
    if not training or p == 0.0 or x is not adjacency.graph.x or x.requires_grad:
        return functional.dropout(x, p, training)
    nonzero = _nonzero(adjacency.graph)
    if nonzero is None:
        return functional.dropout(x, p)
    index, values = nonzero
    flat = torch.zeros(x.numel(), dtype=x.dtype, device=x.device)
    flat[index] = functional.dropout(values, p)
    return flat.view(x.shape)


def _nonzero(graph: Graph) -> tuple[Tensor, Tensor] | None:
    """Return place and value of the non-zero features, None where they are many; found once per graph object."""
    if "features/nonzero" not in graph.cache:
        flat = graph.x.reshape(-1)
        found = None
        if int(flat.count_nonzero()) <= SPARSE * flat.numel():  # before places are listed: they take twice the room
            index = flat.nonzero().squeeze(1)
            found = (index, flat[index])
        graph.cache["features/nonzero"] = found
    kept: tuple[Tensor, Tensor] | None = graph.cache["features/nonzero"]
    return kept
