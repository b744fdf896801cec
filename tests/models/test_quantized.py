"""The quantized model: what it stores, byte by byte, and what it says of itself."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from benchsuite.contracts.quantizer import QuantizedModel
from benchsuite.models.quantized import SiteQuantizedModel, WeightFiller
from benchsuite.models.uniform import unpack


def stored(model):
    return {name: tensor.numel() * tensor.element_size() for name, tensor in model.state().items()}


class Step(nn.Module):
    """A filler with a buffer, as observers have."""

    def __init__(self):
        super().__init__()
        self.register_buffer("step", torch.ones(1))

    def forward(self, tensor, adj):
        return (tensor / self.step).round() * self.step


def test_a_float_model_stores_its_parameters(build):
    model = SiteQuantizedModel(build("gcn"))
    sizes = {"layers.0.combination.weight": 8 * 12, "layers.0.bias": 8, "layers.1.combination.weight": 3 * 8}
    assert stored(model) == {name: 4 * size for name, size in {**sizes, "layers.1.bias": 3}.items()}
    assert isinstance(model, QuantizedModel)


@pytest.mark.parametrize(("bits", "codes"), [(8, (96, 24)), (4, (48, 12)), (3, (36, 9)), (2, (24, 6))])
def test_packed_weights_by_hand(build, bits, codes):
    backbone = build("gcn")
    for _, module in backbone.weights():
        module.weight_site.fill(WeightFiller(bits))
    assert stored(SiteQuantizedModel(backbone)) == {
        "layers.0.combination.weight.codes": codes[0],
        "layers.0.combination.weight.scale": 4 * 8,
        "layers.0.bias": 4 * 8,
        "layers.1.combination.weight.codes": codes[1],
        "layers.1.combination.weight.scale": 4 * 3,
        "layers.1.bias": 4 * 3,
    }


@pytest.mark.parametrize("per_column", [True, False])
def test_the_stored_weight_is_the_one_that_is_used(build, graph, per_column):
    backbone = build("gcn")
    combination = backbone.layers[0].combination
    filler = WeightFiller(4, per_column)
    combination.weight_site.fill(filler)
    used = filler(combination.weight, None)
    state = SiteQuantizedModel(backbone).state()
    codes = unpack(state["layers.0.combination.weight.codes"], 4, (8, 12)).float() - 7
    scale = state["layers.0.combination.weight.scale"].reshape(-1, 1)
    assert scale.numel() == (8 if per_column else 1)
    torch.testing.assert_close(codes * scale, used)


def test_buffers_of_fillers_are_stored(build):
    backbone = build("gcn")
    backbone.layers[0].combination.input_site.fill(Step())
    assert stored(SiteQuantizedModel(backbone))["layers.0.combination.input_site.filler.step"] == 4


def test_execution_names_the_products_whose_operands_are_filled(build):
    backbone = build("gcn")
    backbone.layers[0].combination.input_site.fill(Step())
    backbone.layers[1].aggregation.message_site.fill(Step())
    assert SiteQuantizedModel(backbone).execution() == {
        "layers.0.combination": "simulated",
        "layers.1.combination": "float",
        "layers.0.aggregation": "float",
        "layers.1.aggregation": "simulated",
    }


def test_it_predicts_in_eval_mode_without_a_graph(build, graph):
    backbone = build("gcn").train()
    model = SiteQuantizedModel(backbone, {"groups": 3})
    logits = model.predict(graph)
    assert torch.equal(logits, model.predict(graph))
    assert not logits.requires_grad
    assert model.diagnostics() == {"groups": 3}
