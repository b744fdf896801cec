"""The backbones, one file each, and the function that builds one by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchsuite.errors import UsageError, near
from benchsuite.models.backbones.gat import GAT
from benchsuite.models.backbones.gcn import GCN
from benchsuite.models.backbones.gin import GIN
from benchsuite.models.backbones.sage import SAGE

if TYPE_CHECKING:
    from benchsuite.models.backbone import Backbone

BACKBONES: dict[str, type[Backbone]] = {"gat": GAT, "gcn": GCN, "gin": GIN, "sage": SAGE}

__all__ = ["BACKBONES", "GAT", "GCN", "GIN", "SAGE", "build_backbone"]


def build_backbone(name: str, features: int, classes: int, seed: int, **options: Any) -> Backbone:
    """Return an untrained backbone.

    Args:
        name: a key of :data:`BACKBONES`.
        features: width of the node features.
        classes: number of classes.
        seed: of the initial weights; the same seed gives the same weights.
        options: passed to the backbone (``hidden``, ``layers``, ``dropout``, ...).

    Raises:
        UsageError: there is no such backbone.
    """
    import torch

    if name not in BACKBONES:
        raise UsageError(f"there is no backbone {name!r}", near(name, BACKBONES))
    model = BACKBONES[name](features, classes, **options)
    model.reset_parameters(torch.Generator().manual_seed(seed))
    return model
