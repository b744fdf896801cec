"""Contract of the kind ``quantizer``, version 1.

A quantizer is a class whose constructor takes the card's parameters as keyword arguments (``bits`` among them:
a mixed-precision method may ask for an average or a budget instead, so bit-widths are the method's parameters and
not the job's) and which has one method, :meth:`Quantizer.quantize`. The host times that call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from benchsuite.contracts.cards import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import torch
    from pydantic import JsonValue
    from torch import Tensor

    from benchsuite.contracts.graph import Graph
    from benchsuite.models.backbone import Backbone

#: How a layer ran: in integer arithmetic; from packed integers with float arithmetic; or in floats on the grid.
Execution = Literal["integer", "packed", "simulated", "float"]


def bits_parameter(grid: tuple[int, ...] = (8, 4), low: int = 2, high: int = 8) -> Parameter:
    """Return the ``bits`` parameter that uniform quantizers share: one width for weights, activations, adjacency.

    Args:
        grid: the widths that a run plans when its user pins none.
        low: smallest width the method takes.
        high: largest width the method takes.
    """
    doc = "Bit-width of weights, activations and adjacency values."
    return Parameter(name="bits", default=8, doc=doc, low=low, high=high, grid=grid)


@dataclass(frozen=True)
class QuantizationJob:
    """What a quantizer is given."""

    model: Backbone
    """The trained FP32 model in eval mode: a copy that the method owns and may change."""
    graph: Graph
    """The calibration view: all nodes in a transductive task, all but the test nodes in an inductive one, the training
    graphs as a disjoint union in a task on whole graphs."""
    initial_model: Callable[[], Backbone]
    """Returns an untrained model with the weights that this seed's FP32 training started from."""
    train: Callable[[Backbone], Backbone]
    """Trains a model in place with the task's own recipe (validation-selected epoch), leaves it in eval mode and
    returns it. Labels stay inside: a quantizer never sees one."""
    generator: torch.Generator
    """The method's own random stream; derived from the cell's seed."""


@runtime_checkable
class QuantizedModel(Protocol):
    """What a quantizer returns."""

    def predict(self, graph: Graph) -> Tensor:
        """Return the outputs for any graph with the model's features, ``[nodes, outputs]`` float32.

        A model of whole graphs has a row for each graph of the union instead.
        """
        ...

    def state(self) -> Mapping[str, Tensor]:
        """Return everything that must be stored to predict again, packed; the host counts its bytes."""
        ...

    def execution(self) -> Mapping[str, Execution]:
        """Return for each product of the model (``"layer0.combination"``) how it ran."""
        ...

    def diagnostics(self) -> Mapping[str, JsonValue]:
        """Return what a reader of the record may want to know (choices made, number of groups); may be empty."""
        ...


@runtime_checkable
class Quantizer(Protocol):
    """A method of the kind ``quantizer``."""

    def quantize(self, job: QuantizationJob) -> QuantizedModel:
        """Return the quantized model. Everything done here counts as quantization time."""
        ...
