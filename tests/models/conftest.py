"""Fixtures for tests of the models."""

from __future__ import annotations

import pytest
import torch

from benchsuite.models.backbones import BACKBONES, build_backbone
from benchsuite.testing.toys import toy_graph


@pytest.fixture(params=sorted(BACKBONES))
def backbone(request):
    """Return the name of each backbone in turn."""
    return request.param


@pytest.fixture
def build():
    """Return a function that builds an untrained backbone for the toy graph, with biases that are not zero."""

    def build(name, seed=0, classes=3, **options):
        model = build_backbone(name, 12, classes, seed, **{"hidden": 8, **options}).eval()
        generator = torch.Generator().manual_seed(seed + 1)
        with torch.no_grad():
            for key, parameter in model.named_parameters():
                if "bias" in key:
                    parameter.normal_(generator=generator)
        return model

    return build


@pytest.fixture
def graph():
    """Return the toy graph: 60 nodes, heavy-tailed degrees, the last node isolated."""
    return toy_graph()
