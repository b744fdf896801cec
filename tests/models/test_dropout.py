"""Dropout that skips zeros has the distribution of the plain one."""

from __future__ import annotations

import pytest
import torch

from benchsuite.contracts.graph import Graph
from benchsuite.models.adjacency import adjacency
from benchsuite.models.dropout import dropout


@pytest.fixture(params=[0.02, 0.9], ids=["sparse", "dense"])
def wide(request):
    """A graph with positive features, of which the given share is not zero."""
    generator = torch.Generator().manual_seed(0)
    x = 1 + torch.rand(400, 300, generator=generator)
    return Graph(x * (torch.rand(400, 300, generator=generator) < request.param), torch.zeros(2, 0, dtype=torch.long))


@pytest.mark.parametrize("p", [0.0, 0.2, 0.6])
def test_entries_are_dropped_or_scaled(wide, p):
    torch.manual_seed(0)
    out = dropout(wide.x, p, True, adjacency(wide, "gcn"))
    kept = out != 0
    torch.testing.assert_close(out[kept], wide.x[kept] / (1 - p))
    entries = wide.x != 0
    assert not kept[~entries].any()
    share, count = kept[entries].double().mean().item(), int(entries.sum())
    assert abs(share - (1 - p)) <= 5 * (p * (1 - p) / count) ** 0.5


def test_masks_are_drawn_anew_and_follow_the_seed(wide):
    adj = adjacency(wide, "gcn")
    torch.manual_seed(3)
    one, other = dropout(wide.x, 0.5, True, adj), dropout(wide.x, 0.5, True, adj)
    torch.manual_seed(3)
    again = dropout(wide.x, 0.5, True, adj)
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def test_features_are_left_alone(wide):
    before = wide.x.clone()
    dropout(wide.x, 0.5, True, adjacency(wide, "gcn"))
    assert torch.equal(wide.x, before)


def test_nothing_happens_in_eval_mode(wide):
    assert dropout(wide.x, 0.5, False, adjacency(wide, "gcn")) is wide.x


def test_other_tensors_get_the_plain_dropout(wide):
    hidden = torch.rand(400, 16)
    torch.manual_seed(1)
    out = dropout(hidden, 0.5, True, adjacency(wide, "gcn"))
    torch.manual_seed(1)
    assert torch.equal(out, torch.nn.functional.dropout(hidden, 0.5))


def test_features_that_need_a_gradient_get_one(wide):
    x = wide.x.clone().requires_grad_()
    graph = Graph(x, wide.edge_index)
    out = dropout(x, 0.5, True, adjacency(graph, "gcn"))
    out.sum().backward()
    assert set(x.grad.unique().tolist()) == {0.0, 2.0}


def test_places_are_kept_of_sparse_features_alone(wide):
    dropout(wide.x, 0.5, True, adjacency(wide, "gcn"))
    sparse = bool((wide.x != 0).double().mean() < 0.25)
    kept = [each for each in wide.cache.values() if isinstance(each, tuple)]
    assert len(kept) == sparse
