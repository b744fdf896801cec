"""The quantized model that site-filling quantizers return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

import torch
from torch import Tensor, nn

from benchsuite.models.uniform import Grid, pack, symmetric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from benchsuite.contracts.graph import Graph
    from benchsuite.contracts.quantizer import Execution
    from benchsuite.models.adjacency import Adjacency
    from benchsuite.models.backbone import Backbone


@runtime_checkable
class StoresWeight(Protocol):
    """A weight filler that says how it stores the weight; without it the weight counts as float32."""

    def packed(self, weight: Tensor) -> dict[str, Tensor]:
        """Return the stored tensors of ``weight`` by name."""
        ...


class WeightFiller(nn.Module):
    """Rounds a weight ``[out, in]`` to a signed grid taken from the weight itself.

    Args:
        bits: width.
        per_column: one scale per output feature (a column of the paper's W); else one for the whole tensor.
    """

    def __init__(self, bits: int, per_column: bool = True) -> None:
        super().__init__()
        self.bits = bits
        self.per_column = per_column

    def grid(self, weight: Tensor) -> Grid:
        """Return the grid of ``weight``: scale ``[out, 1]`` or ``[]``."""
        magnitude = weight.detach().abs()
        return symmetric(magnitude.amax(1, keepdim=True) if self.per_column else magnitude.amax(), self.bits)

    def forward(self, weight: Tensor, adjacency: Adjacency) -> Tensor:
        """Return the rounded weight."""
        return self.grid(weight).fake(weight)

    def packed(self, weight: Tensor) -> dict[str, Tensor]:
        """Return the weight as it would be stored: packed codes and float32 scales."""
        grid = self.grid(weight)
        return {"codes": pack(grid.codes(weight.detach()) - grid.low, self.bits), "scale": grid.scale.reshape(-1)}


class SiteQuantizedModel:
    """A backbone whose sites are filled: it predicts in floats on the integer grid (``simulated``).

    Stored are: for each parameter that passes a filled weight site, what the filler's ``packed(weight)`` returns; every
    other parameter as float32; and every buffer of the fillers and operators.

    Args:
        model: the backbone with its fillers in place.
        diagnostics: what to tell the reader of the record.
    """

    def __init__(self, model: Backbone, diagnostics: Mapping[str, JsonValue] | None = None) -> None:
        self.model = model.eval()
        self._diagnostics = dict(diagnostics or {})

    def predict(self, graph: Graph) -> Tensor:
        """Return logits ``[nodes, classes]`` float32."""
        with torch.no_grad():
            return cast("Tensor", self.model(graph))

    def state(self) -> Mapping[str, Tensor]:
        """Return the stored tensors by name."""
        state: dict[str, Tensor] = {name: b.detach() for name, b in self.model.named_buffers()}
        packed: dict[str, dict[str, Tensor]] = {}
        for name, module in self.model.weights():
            filler = module.weight_site.filler
            if isinstance(filler, StoresWeight):
                packed[f"{name}.weight"] = filler.packed(module.weight)
        for name, parameter in self.model.named_parameters():
            if name in packed:
                state |= {f"{name}.{part}": tensor for part, tensor in packed[name].items()}
            else:
                state[name] = parameter.detach()
        return state

    def execution(self) -> Mapping[str, Execution]:
        """Return ``simulated`` for products with a filled operand, ``float`` for the others."""
        ran: dict[str, Execution] = {}
        for name, c in self.model.combinations():
            ran[name] = "simulated" if c.input_site.filler or c.weight_site.filler else "float"
        for name, a in self.model.aggregations():
            filled = a.operator or a.adjacency_site.filler or a.combined_site.filler or a.message_site.filler
            ran[name] = "simulated" if filled else "float"
        for name, e in self.model.embeddings():
            ran[name] = "simulated" if e.weight_site.filler else "float"
        return ran

    def diagnostics(self) -> Mapping[str, JsonValue]:
        """Return what the quantizer wanted to tell."""
        return self._diagnostics
