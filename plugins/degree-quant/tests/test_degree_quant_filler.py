"""One filler: who is protected, what is observed, and which gradient comes back."""

from __future__ import annotations

import pytest
import torch
from benchsuite_degree_quant import filler as filler_module
from benchsuite_degree_quant.filler import PROTECTED, ProtectiveFiller, few_nonzero
from benchsuite_degree_quant.protection import Protection

from benchsuite.models.adjacency import adjacency
from benchsuite.models.ranges import Percentile
from benchsuite.models.sites import Role, Site
from benchsuite.plugin import Graph
from benchsuite.testing.toys import toy_graph

AXES = {
    Role.WEIGHT: ("out", "in"),
    Role.ADJACENCY: ("entry",),
    Role.MESSAGE: ("entry", "feature"),
}


def filler_of(role=Role.INPUT, mask=None, bits=2, clip=True, **options):
    guard = Protection(0.0, 0.1, torch.Generator())
    guard.mask = None if mask is None else torch.tensor(mask)
    return ProtectiveFiller(Site(role, 0, AXES.get(role, ("node", "feature"))), guard, bits, clip, **options)


@pytest.fixture
def pair():
    """Two nodes, each with a self loop, and an edge from 1 to 0: entries (row, col) 00 01 11."""
    return adjacency(Graph(torch.zeros(2, 2), torch.tensor([[1], [0]])), "gcn")


VALUES = [[0.0, 1.2], [2.6, 3.0]]
ROUNDED = [[0.0, 1.0], [3.0, 3.0]]


@pytest.mark.parametrize("role", sorted(PROTECTED - {Role.MESSAGE}))
def test_protected_nodes_pass_and_the_others_are_rounded(role, pair):
    filler = filler_of(role, mask=[True, False])
    found = filler(torch.tensor(VALUES), pair)
    torch.testing.assert_close(found, torch.tensor([VALUES[0], ROUNDED[1]]))


@pytest.mark.parametrize("role", list(Role))
def test_everything_is_rounded_without_a_mask(role, pair):
    filler = filler_of(role)
    assert filler(torch.tensor(VALUES), pair).tolist() == ROUNDED
    assert filler.eval()(torch.tensor(VALUES), pair).tolist() == ROUNDED


def test_a_message_is_protected_by_the_node_that_sends_it(pair):
    filler = filler_of(Role.MESSAGE, mask=[False, True])
    messages = torch.tensor([[0.2, 3.0], [0.2, 1.3], [0.4, 1.4]])
    # Entries 01 and 11 come from node 1.
    torch.testing.assert_close(filler(messages, pair), torch.tensor([[0.0, 3.0], [0.2, 1.3], [0.4, 1.4]]))


@pytest.mark.parametrize("role", [Role.WEIGHT, Role.ADJACENCY])
def test_weights_and_adjacency_values_are_never_protected(role, pair):
    filler = filler_of(role, mask=[True, True])
    assert filler(torch.tensor([0.2, 1.3, 3.0]), pair).tolist() == [0, 1, 3]


def test_attention_heads_are_protected_with_their_node(pair):
    guard = Protection(0.0, 0.1, torch.Generator())
    guard.mask = torch.tensor([True, False])
    filler = ProtectiveFiller(Site(Role.COMBINED, 0, ("node", "head", "feature")), guard, 2, True)
    found = filler(torch.tensor(VALUES).unsqueeze(1), pair).squeeze(1)
    torch.testing.assert_close(found, torch.tensor([VALUES[0], ROUNDED[1]]))


def test_ranges_come_from_bare_rows_in_training_alone(pair):
    filler = filler_of(mask=[False, True])
    filler(torch.tensor([[-1.0, 2.0], [-50.0, 50.0]]), pair)
    assert (filler.low.item(), filler.high.item()) == (-1, 2)
    filler.eval()(torch.tensor([[-9.0, 9.0], [-9.0, 9.0]]), pair)
    assert (filler.low.item(), filler.high.item()) == (-1, 2)


@pytest.mark.parametrize("measure", [Percentile(0.001), Percentile(0.01)])
def test_a_forward_with_all_nodes_protected_observes_nothing(measure, pair):
    filler = filler_of(mask=[True, True], measure=measure)
    assert torch.equal(filler(torch.tensor(VALUES), pair), torch.tensor(VALUES))
    assert not filler.ready


def test_empty_tensors_pass():
    nothing = adjacency(toy_graph(nodes=0), "gcn")
    assert filler_of(mask=[])(torch.zeros(0, 12), nothing).shape == (0, 12)


# At two bits over 0 .. 3 the codes of these are 0 (clamped), 0, 1, 2, 3 and 3 (clamped).
LINE = [-1.0, 0.4, 0.6, 2.0, 2.9, 7.0]


@pytest.mark.parametrize(("clip", "expected"), [(True, [0, 0, 3, 4, 0, 0]), (False, [1, 2, 3, 4, 5, 6])])
def test_gradient_by_hand(clip, expected, pair):
    filler = filler_of(Role.WEIGHT, clip=clip)
    filler.observe(torch.tensor([0.0, 3.0]))
    filler.eval()
    values = torch.tensor(LINE, requires_grad=True)
    (filler(values, pair) * torch.arange(1.0, 7.0)).sum().backward()
    assert values.grad.tolist() == expected


def test_a_protected_row_keeps_its_gradient_at_the_ends(pair):
    filler = filler_of(mask=[True, False])
    values = torch.tensor([[0.0, 3.0], [0.0, 3.0]], requires_grad=True)
    filler(values, pair).sum().backward()
    assert values.grad.tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("tail", [0.001, 0.05])
def test_the_path_for_sparse_features_gives_what_the_dense_one_gives(masked, tail, monkeypatch):
    generator = torch.Generator().manual_seed(0)
    features = torch.rand(300, 200, generator=generator) * (torch.rand(300, 200, generator=generator) < 0.02)
    structure = adjacency(Graph(features, torch.zeros(2, 0, dtype=torch.long)), "gcn")
    mask = (torch.rand(300, generator=generator) < 0.2).tolist() if masked else None
    results = []
    for large in (1, 10**9):
        monkeypatch.setattr(filler_module, "_LARGE", large)
        assert (few_nonzero(features) is None) == (large > 1)
        filler = filler_of(mask=mask, bits=4, measure=Percentile(tail))
        results.append((filler(features, structure), filler.low, filler.high, filler.measure.collapsed))
    for first, second in zip(*results, strict=True):
        assert torch.equal(torch.as_tensor(first), torch.as_tensor(second))


def test_dense_small_and_trained_tensors_have_no_sparse_path(monkeypatch):
    monkeypatch.setattr(filler_module, "_LARGE", 10)
    sparse = torch.eye(20)
    assert few_nonzero(sparse).tolist() == [21 * i for i in range(20)]
    assert few_nonzero(torch.ones(20, 20)) is None
    assert few_nonzero(torch.eye(3)) is None
    assert few_nonzero(torch.eye(20, requires_grad=True)) is None
    assert few_nonzero(torch.zeros(20, 20)) is None


def test_rows_of_graphs_are_never_protected():
    protection = Protection(1.0, 0.0, torch.Generator())
    protection.mask = torch.ones(60, dtype=torch.bool)
    graph = toy_graph()
    where = adjacency(graph, "gcn")
    x = torch.rand(60, 3)
    of_nodes, of_graphs = (
        ProtectiveFiller(Site(Role.INPUT, 0, (rows, "feature")), protection, 2, True).train()
        for rows in ("node", "graph")
    )
    assert torch.equal(of_nodes(x, where), x)
    assert len(of_graphs(x, where).unique()) <= 4
