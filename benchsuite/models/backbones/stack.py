"""What GCN, GraphSAGE and GIN share: a stack of one kind of layer with ReLU and dropout between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from torch import Tensor, nn
from torch.nn import functional

from benchsuite.models.backbone import Backbone
from benchsuite.models.dropout import dropout
from benchsuite.models.norm import BatchNorm
from benchsuite.models.sites import Role, Site

if TYPE_CHECKING:
    from benchsuite.models.adjacency import Adjacency


class LayerClass(Protocol):
    """A layer of a :class:`Stack`: made from its widths and index, called as ``layer(x, adjacency)``."""

    def __call__(self, fan_in: int, fan_out: int, layer: int, *args: Any, **options: Any) -> nn.Module:
        """Return the layer number ``layer``; options are the layer class's own."""
        ...


class Stack(Backbone):
    """Layers with ReLU between; dropout on every layer's input.

    Args:
        features: width of the node features.
        classes: number of classes.
        hidden: width of the hidden layers.
        layers: number of layers.
        dropout: probability, on every layer's input.
        activate_last: ReLU behind the last layer too, where a head follows.
        norm_between: batch normalisation before each ReLU between layers, as OGB's node baselines have it.
        options: passed to every layer.
    """

    layer_class: ClassVar[LayerClass]

    def __init__(
        self,
        features: int,
        classes: int,
        hidden: int = 16,
        layers: int = 2,
        dropout: float = 0.5,
        activate_last: bool = False,
        norm_between: bool = False,
        **options: Any,
    ) -> None:
        super().__init__()
        self.dropout, self.activate_last = dropout, activate_last
        sizes = [features] + [hidden] * (layers - 1) + [classes]
        self.layers = nn.ModuleList(self.layer_class(sizes[i], sizes[i + 1], i, **options) for i in range(layers))
        self.norms = nn.ModuleList(BatchNorm(hidden) for _ in range(layers - 1)) if norm_between else None
        self.update_sites = nn.ModuleList(Site(Role.UPDATE, i, ("node", "feature")) for i in range(layers))

    def encode(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        """Return logits ``[nodes, classes]``."""
        for i, (layer, update) in enumerate(zip(self.layers, self.update_sites, strict=True)):
            x = layer(dropout(x, self.dropout, self.training, adjacency), adjacency)
            if self.norms is not None and i + 1 < len(self.layers):
                x = self.norms[i](x)
            # In place: the layer, or the norm, made the tensor for nobody else.
            active = self.activate_last or i + 1 < len(self.layers)
            x = update(functional.relu_(x) if active else x, adjacency)
        return x
