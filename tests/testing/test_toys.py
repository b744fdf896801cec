"""The small graphs and jobs that everything else is tested with."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.models.backbones import BACKBONES
from benchsuite.testing.toys import permute, toy_graph, toy_job, undirected, union


def dense(graph):
    """Return the adjacency as a dense ``[targets, sources]`` matrix of counts."""
    matrix = torch.zeros(graph.num_nodes, graph.num_nodes)
    matrix.index_put_((graph.edge_index[1], graph.edge_index[0]), torch.ones(graph.num_edges), accumulate=True)
    return matrix


@settings(max_examples=30, deadline=None)
@given(nodes=st.integers(0, 40), seed=st.integers(0, 5))
def test_toy_graphs_are_symmetric_sorted_and_simple(nodes, seed):
    graph = toy_graph(nodes=nodes, seed=seed)
    matrix = dense(graph)
    assert torch.equal(matrix, matrix.T)
    assert matrix.max() <= 1 if nodes else True
    assert not matrix.diagonal().any()
    keys = graph.edge_index[1] * max(nodes, 1) + graph.edge_index[0]
    assert torch.equal(keys, keys.sort().values)


def test_toy_graphs_have_an_isolated_node_and_a_hub():
    degrees = dense(toy_graph()).sum(1)
    assert degrees[-1] == 0
    assert degrees.max() > 4 * degrees.median()


def test_undirected_by_hand():
    pairs = torch.tensor([[0, 2, 1, 1], [2, 0, 1, 2]])
    assert undirected(pairs, 3).tolist() == [[2, 2, 0, 1], [0, 1, 2, 2]]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000))
def test_permute_moves_rows_and_columns_alike(seed):
    graph = toy_graph(nodes=12)
    order = torch.randperm(12, generator=torch.Generator().manual_seed(seed))
    moved = permute(graph, order)
    assert torch.equal(dense(moved), dense(graph)[order][:, order])
    assert torch.equal(moved.x, graph.x[order])


def test_a_union_is_block_diagonal_and_knows_its_parts():
    one, two = toy_graph(nodes=5), toy_graph(nodes=7, seed=1)
    both = union(one, two)
    assert torch.equal(dense(both), torch.block_diag(dense(one), dense(two)))
    assert both.batch.tolist() == [0] * 5 + [1] * 7
    assert both.num_graphs == 2
    keys = both.edge_index[1] * 12 + both.edge_index[0]
    assert torch.equal(keys, keys.sort().values)


@pytest.mark.parametrize("backbone", sorted(BACKBONES))
def test_toy_jobs_repeat_and_leave_the_random_stream_alone(backbone):
    before = torch.random.get_rng_state()
    one, two = toy_job(backbone), toy_job(backbone)
    assert torch.equal(torch.random.get_rng_state(), before)
    for left, right in zip(one.model.parameters(), two.model.parameters(), strict=True):
        assert torch.equal(left, right)


def test_toy_jobs_are_trained_from_their_own_initial_model():
    job = toy_job()
    again = job.train(job.initial_model())
    assert torch.equal(again(job.graph), job.model(job.graph))
    assert not torch.equal(job.initial_model()(job.graph), job.model(job.graph))


def test_the_hidden_width_is_taken():
    assert toy_job(hidden=20).model.layers[0].combination.weight.shape[0] == 20


def test_training_takes_the_steps_of_torchs_adam():
    job = toy_job("sage")
    model, target = job.initial_model(), job.graph.x @ torch.randn(12, 3, generator=torch.Generator().manual_seed(0))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model.train()
        for _ in range(20):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(job.graph), target.argmax(1)).backward()
            optimizer.step()
    for ours, theirs in zip(job.model.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
