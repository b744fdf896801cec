"""Protection probabilities by hand and by brute force, and the masks drawn from them."""

from __future__ import annotations

import pytest
import torch
from benchsuite_degree_quant.method import DegreeQuant
from benchsuite_degree_quant.protection import Protection, degree_cdf
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.models.backbones import build_backbone
from benchsuite.plugin import BenchsuiteError, Graph
from benchsuite.testing.toys import permute, toy_graph, union


def graph_of(nodes, pairs, batch=None):
    """Edges as (source, target) pairs."""
    edges = torch.tensor(sorted(pairs, key=lambda pair: pair[::-1]), dtype=torch.long).reshape(-1, 2).T
    return Graph(torch.zeros(nodes, 2), edges, None if batch is None else torch.tensor(batch))


def protection(p_low=0.0, p_change=0.1, seed=0):
    return Protection(p_low, p_change, torch.Generator().manual_seed(seed))


# In-degrees 0 1 1 3 0: the histogram is 2 at 0, 2 at 1, 1 at 3; its running sum over 5 nodes is .4 .8 1.
STAR = [(0, 3), (1, 3), (2, 3), (3, 1), (3, 2)]


def test_probability_from_a_hand_worked_histogram_with_ties():
    graph = graph_of(5, STAR)
    torch.testing.assert_close(degree_cdf(graph), torch.tensor([0.4, 0.8, 0.8, 1.0, 0.4]))
    expected = torch.tensor([0.14, 0.18, 0.18, 0.2, 0.14])
    torch.testing.assert_close(protection(0.1, 0.1).probability(graph), expected)


def test_edges_count_at_their_target():
    assert degree_cdf(graph_of(3, [(0, 2), (1, 2)])).tolist() == pytest.approx([2 / 3, 2 / 3, 1])
    assert degree_cdf(graph_of(3, [(2, 0), (2, 1)])).tolist() == pytest.approx([1, 1, 1 / 3])


def test_each_graph_of_a_batch_has_its_own_histogram():
    # The second graph: nodes 5 and 6 with in-degrees 0 and 1. Alone they are at .5 and 1.
    graph = graph_of(7, [*STAR, (5, 6)], [0, 0, 0, 0, 0, 1, 1])
    torch.testing.assert_close(degree_cdf(graph), torch.tensor([0.4, 0.8, 0.8, 1.0, 0.4, 0.5, 1.0]))


def test_nodes_of_a_batch_may_lie_in_any_order():
    both = union(toy_graph(nodes=20, seed=1), toy_graph(nodes=30, seed=2))
    order = torch.randperm(50, generator=torch.Generator().manual_seed(0))
    assert torch.equal(degree_cdf(permute(both, order)), degree_cdf(both)[order])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40, unique=True), st.integers(1, 11))
def test_the_share_is_what_counting_gives(pairs, cut):
    batch = [0] * cut + [1] * (12 - cut)
    pairs = [(s, t) for s, t in pairs if s != t and batch[s] == batch[t]]
    degree = [sum(t == node for _, t in pairs) for node in range(12)]
    mates = [[u for u in range(12) if batch[u] == batch[v]] for v in range(12)]
    expected = [sum(degree[u] <= degree[v] for u in mates[v]) / len(mates[v]) for v in range(12)]
    assert degree_cdf(graph_of(12, pairs, batch)).tolist() == pytest.approx(expected)


@pytest.mark.parametrize(("nodes", "expected"), [(0, []), (1, [1.0])])
def test_empty_and_single_node_graphs(nodes, expected):
    assert degree_cdf(toy_graph(nodes=nodes)).tolist() == expected


def test_masks_follow_the_probabilities():
    graph, guard = graph_of(5, STAR), protection(0.1, 0.8)
    model = build_backbone("gcn", 2, 2, seed=0).train()
    drawn = torch.zeros(5)
    for _ in range(4000):
        guard.draw(model, (graph,), {})
        drawn += guard.mask
    # Standard error of a share of 4,000 is below .008.
    torch.testing.assert_close(drawn / 4000, torch.tensor([0.42, 0.74, 0.74, 0.9, 0.42]), atol=0.035, rtol=0)


def test_there_is_no_mask_in_eval_mode_and_one_per_training_forward():
    graph, guard = toy_graph(), protection(0.5, 0.0)
    model = build_backbone("gcn", 12, 3, seed=0)
    model.register_forward_pre_hook(guard.draw, with_kwargs=True)
    model.train()(graph)
    first = guard.mask
    assert first.dtype is torch.bool
    assert first.shape == (60,)
    model(graph=graph)
    assert not torch.equal(first, guard.mask)
    model.eval()(graph)
    assert guard.mask is None


def test_masks_come_from_the_generator_alone():
    graph, model = toy_graph(), build_backbone("gcn", 12, 3, seed=0).train()
    guards = [protection(0.3, 0.3, seed=7) for _ in range(2)]
    for seed, guard in enumerate(guards):
        torch.manual_seed(seed)
        guard.draw(model, (graph,), {})
    assert torch.equal(guards[0].mask, guards[1].mask)


def test_certain_protection_is_a_probability():
    assert protection(0.9, 0.1).probability(graph_of(5, STAR)).max() <= 1
    with pytest.raises(BenchsuiteError, match=r"p_low \+ p_change = 1.2 is no probability"):
        DegreeQuant(8, 0.5, 0.7, "percentile", 0.0, "gc")
