"""The hidden states that leave one module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch import nn


def outputs_at(model: nn.Module, path: str, batches: Iterable[Mapping[str, Tensor]]) -> Tensor:
    """Run ``model`` over ``batches``, without gradients, and return what left the module at ``path``.

    A module that runs several times in one forward (layers that share weights) counts with its last call, which is the
    final one of the trunk. The hook sits on the module because a model's own ``hidden_states[-1]`` is taken after the
    final norm in some architectures and before it in others.

    Returns:
        ``[tokens, width]``, in the dtype of the forward.

    Raises:
        AttributeError: there is no module at ``path``.
        ValueError: it returned no tensor, or did not run.
    """
    last: list[Any] = []

    def keep(_module: nn.Module, _args: tuple[Any, ...], output: Any) -> None:
        last[:] = [output]

    rows: list[Tensor] = []
    handle = model.get_submodule(path).register_forward_hook(keep)
    try:
        with torch.no_grad():
            for batch in batches:
                last.clear()
                model(**batch)
                rows.append(_rows(path, last))
    finally:
        handle.remove()
    return torch.cat(rows)


def _rows(path: str, last: list[Any]) -> Tensor:
    if not last or not isinstance(last[0], Tensor):
        raise ValueError(f"the module {path!r} " + ("returned no tensor" if last else "did not run"))
    return last[0].detach().reshape(-1, last[0].shape[-1])
