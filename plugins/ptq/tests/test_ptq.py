"""Plain post-training quantization: a model quantized by hand, and what holds for every method and backbone."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cache

import benchsuite_ptq
import pytest
import torch
from benchsuite_ptq.dynamic import NodeFiller, RowFiller
from benchsuite_ptq.static import ClippedRange

from benchsuite.models.adjacency import adjacency
from benchsuite.models.backbones import GCN
from benchsuite.models.ranges import OPERANDS, RangeFiller
from benchsuite.models.sites import Role
from benchsuite.plugin import Graph, MethodSpec
from benchsuite.testing.toys import permute, toy_graph, toy_job

BACKBONES = ("gcn", "sage", "gin", "gat")
METHODS = ("ptq-minmax", "ptq-percentile", "ptq-column", "ptq-node")


def make(name, **params):
    (card,) = (card for card in benchsuite_ptq.benchsuite_methods() if card.name == name)
    return MethodSpec(card.name, card.target, card.resolve(params)).make()


@cache
def trained(backbone):
    return toy_job(backbone)


def job_of(backbone):
    """A job whose model may be changed."""
    job = trained(backbone)
    return replace(job, model=copy.deepcopy(job.model))


def no_edges(x):
    return Graph(torch.tensor(x), torch.zeros(2, 0, dtype=torch.long))


def two_by_two():
    """One GCN layer on two nodes without edges, so that the normalised adjacency is the identity."""
    graph = no_edges([[0.0, 3.0], [1.6, 0.4]])
    model = GCN(2, 2, layers=1).eval()
    with torch.no_grad():
        model.layers[0].combination.weight.copy_(torch.tensor([[1.0, -0.4], [0.6, 0.2]]))
    return replace(toy_job(graph=graph, classes=2), model=model, graph=graph)


def test_minmax_by_hand_at_two_bits():
    # x: 0..3, step 1            -> [0 3] [2 0]
    # W: peak 1, codes -1 0 1    -> [1 0] [1 0]
    # X W in floats is [-1.2 .6] [1.44 1.04]: step 2.64/3 = .88, zero point 1
    # X W of the rounded ones is [0 0] [2 2], and 2 rounds to 2 * .88; A = I is on its grid.
    job = two_by_two()
    expected = torch.tensor([[0.0, 0.0], [1.76, 1.76]])
    torch.testing.assert_close(make("ptq-minmax", bits=2).quantize(job).predict(job.graph), expected)


def test_column_by_hand_at_two_bits():
    # As above with W by columns of the product (rows here): peaks 1 and .6 -> [1 0] [.6 0]; X W is [0 0] [2 1.2].
    job = two_by_two()
    expected = torch.tensor([[0.0, 0.0], [1.76, 0.88]])
    torch.testing.assert_close(make("ptq-column", bits=2).quantize(job).predict(job.graph), expected)


def test_node_by_hand_at_two_bits():
    # x by rows: step 1 -> [0 3]; step 1.6/3, 0.4 -> 1 step -> [1.6 .5333]
    # W -> [1 0] [.6 0]; X W = [0 0] [1.6 .96]; second row: step 1.6/3, .96 -> 2 steps.
    job = two_by_two()
    expected = torch.tensor([[0.0, 0.0], [1.6, 2 * 1.6 / 3]])
    torch.testing.assert_close(make("ptq-node", bits=2).quantize(job).predict(job.graph), expected)


def test_percentile_is_the_share_at_or_below_the_upper_end():
    x = [[float(i)] for i in range(1000)]
    job = toy_job(graph=no_edges(x), classes=2)
    quantized = make("ptq-percentile", percentile=99.0).quantize(job)
    site = quantized.model.layers[0].combination.input_site
    # The ten largest are at or above the end: 990 .. 999.
    assert site.filler.high.item() == 990
    assert ClippedRange(8, 99.9).tail == 0.001


def test_percentile_100_is_minmax():
    pairs = [
        make(name, bits=4, **params) for name, params in (("ptq-percentile", {"percentile": 100.0}), ("ptq-minmax", {}))
    ]
    first, second = (method.quantize(job_of("gcn")).predict(trained("gcn").graph) for method in pairs)
    assert torch.equal(first, second)


def test_node_ranges_come_from_the_row_at_inference():
    filler = NodeFiller(2)
    values = torch.tensor([[0.0, 1.0, 3.0], [0.0, 10.0, 30.0], [0.0, 0.0, 0.0]])
    assert torch.equal(filler(values, None), values)


def test_adjacency_ranges_come_from_the_row_and_head():
    graph = toy_graph(nodes=3)
    graph = Graph(graph.x, torch.tensor([[1, 0], [0, 1]]))
    structure = adjacency(graph, "loops")
    value = torch.tensor([[3.0, 30.0], [1.0, 20.0], [6.0, 0.0], [3.0, 0.0], [9.0, 9.0]])
    assert structure.row.tolist() == [0, 0, 1, 1, 2]
    # Row 0: 3 is the top of head 0 (step 1), 30 that of head 1 (step 10); row 1: step 2, 3 lies half way (to even).
    expected = torch.tensor([[3.0, 30.0], [1.0, 20.0], [6.0, 0.0], [4.0, 0.0], [9.0, 9.0]])
    assert torch.equal(RowFiller(2)(value, structure), expected)


def test_only_operands_are_filled_and_the_output_stays_float():
    for name in METHODS:
        for site_name, site in make(name).quantize(job_of("gat")).model.sites():
            assert (site.filler is not None) == (site.role in OPERANDS | {Role.WEIGHT}), site_name


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("name", METHODS)
def test_eight_bits_stay_close_to_fp32(name, backbone):
    job = job_of(backbone)
    expected = job.model(job.graph).detach()
    found = make(name).quantize(job).predict(job.graph)
    assert (found - expected).norm() < 0.05 * expected.norm()
    assert (found.argmax(1) == expected.argmax(1)).float().mean() >= 0.9


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("name", METHODS)
def test_every_width_runs_and_more_bits_store_more_and_err_less(name, backbone):
    reference = trained(backbone)
    expected = reference.model(reference.graph).detach()
    sizes, errors = [], []
    for bits in range(2, 9):
        quantized = make(name, bits=bits).quantize(job_of(backbone))
        errors.append((quantized.predict(reference.graph) - expected).norm().item())
        sizes.append(sum(tensor.nbytes for tensor in quantized.state().values()))
        assert set(quantized.execution().values()) == {"simulated"}
    assert sizes == sorted(set(sizes))
    assert sizes[-1] < 4 * sum(p.numel() for p in reference.model.parameters())
    assert errors[-1] < errors[2] < errors[0]


@pytest.mark.parametrize("name", METHODS)
def test_a_new_graph_has_no_say_in_static_ranges(name):
    quantized = make(name, bits=4).quantize(job_of("gcn"))
    before = [tensor.clone() for tensor in quantized.state().values()]
    quantized.predict(toy_graph(nodes=80, seed=5))
    assert all(torch.equal(a, b) for a, b in zip(before, quantized.state().values(), strict=True))


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("name", METHODS)
def test_predictions_follow_a_permutation_of_the_nodes(name, backbone):
    job = job_of(backbone)
    order = torch.randperm(job.graph.num_nodes, generator=torch.Generator().manual_seed(3))
    quantized = make(name).quantize(job)
    expected = quantized.predict(job.graph)[order]
    found = quantized.predict(permute(job.graph, order))
    # A float sum in another order may move a value by one step of one grid.
    assert ((found - expected).abs() > 1e-5).any(1).float().mean() < 0.1
    torch.testing.assert_close(found, expected, atol=0.05, rtol=0.05)


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("nodes", [0, 1])
@pytest.mark.parametrize("name", METHODS)
def test_empty_and_single_node_graphs(name, nodes, backbone):
    tiny = toy_graph(nodes=nodes)
    quantized = make(name, bits=4).quantize(job_of(backbone))
    assert quantized.predict(tiny).shape == (nodes, 3)
    calibrated_on_it = make(name, bits=4).quantize(replace(job_of(backbone), graph=tiny))
    assert calibrated_on_it.predict(trained(backbone).graph).isfinite().all()


def test_the_static_fillers_are_those_of_the_suite():
    sites = dict(make("ptq-minmax").quantize(job_of("gin")).model.sites())
    assert all(isinstance(s.filler, RangeFiller) for s in sites.values() if s.role in OPERANDS)
