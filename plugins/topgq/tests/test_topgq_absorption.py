"""Dual-axis absorption: the identity it rests on, its integers against an int64 oracle, and the pick."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from benchsuite_topgq.absorption import QuantizedAggregation, candidates, code_product, select
from benchsuite_topgq.grids import NodeGrid, RoundedWeight
from benchsuite_topgq.groups import Groups
from benchsuite_topgq.toppin import group_keys
from scipy.sparse import csr_matrix

from benchsuite.models.adjacency import Adjacency, adjacency
from benchsuite.models.uniform import unpack
from benchsuite.testing.toys import toy_graph

if TYPE_CHECKING:
    from benchsuite.plugin import Graph

BITS = [8, 4, 2]


def signed(graph: Graph, width: int = 6, seed: int = 0) -> torch.Tensor:
    """Combined features with a few loud nodes, so that node scales have something to do."""
    generator = torch.Generator().manual_seed(seed)
    loud = torch.rand(graph.num_nodes, 1, generator=generator).pow(-1.0)
    return torch.randn(graph.num_nodes, width, generator=generator) * loud


def groups_of(graph: Graph) -> Groups:
    return Groups(graph, group_keys(graph, "toppin"))


def dense(where: Adjacency, value: torch.Tensor) -> np.ndarray:
    n = where.num_nodes
    return csr_matrix((value.numpy(), where.col.numpy(), where.rowptr.numpy()), (n, n)).toarray()


@pytest.mark.parametrize("normalisation", ["gcn", "sum", "mean"])
def test_the_identity_in_double_precision(normalisation):
    graph = toy_graph()
    where = adjacency(graph, normalisation)
    x = signed(graph).double().numpy()
    scale = np.abs(x).max(1)
    a = dense(where, where.value.double())
    assert np.allclose((a * scale) @ (x / scale[:, None]), a @ x, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("normalisation", ["gcn", "sum", "mean"])
@pytest.mark.parametrize("which", ["dual-axis", "column"])
def test_the_simulated_product_is_the_integer_one(bits, normalisation, which):
    graph = toy_graph()
    where, x = adjacency(graph, normalisation), signed(graph)
    product = candidates(groups_of(graph), bits, x)[which == "column"]
    codes, row_scale = product.adjacency_codes(where, where.value)
    features = product.feature_codes(x, where)
    assert_codes(codes, 0, 2**bits - 1)
    assert_codes(features, -(2 ** (bits - 1) - 1), 2 ** (bits - 1) - 1)
    sums = dense(where, codes.long()) @ features.long().numpy()
    assert np.abs(sums).max() < 2**31
    expected = np.outer(row_scale.double(), product.feature_scale.double()) * sums
    assert np.allclose(product(where, where.value, x).numpy(), expected, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("bits", BITS)
def test_attention_by_head_is_the_integer_product(bits):
    graph = toy_graph()
    where = adjacency(graph, "loops")
    generator = torch.Generator().manual_seed(1)
    alpha = where.softmax(torch.randn(where.num_entries, 3, generator=generator))
    x = signed(graph, 15).view(-1, 3, 5)
    product, _ = candidates(groups_of(graph), bits, x)
    codes, row_scale = product.adjacency_codes(where, alpha)
    features = product.feature_codes(x, where).long().numpy()
    out = product(where, alpha, x).numpy()
    for head in range(3):
        sums = dense(where, codes[:, head].long()) @ features[:, head]
        expected = np.outer(row_scale[:, head].double(), product.feature_scale[head].double()) * sums
        assert np.allclose(out[:, head], expected, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("bits", BITS)
def test_a_combination_with_an_offset_per_node_is_the_integer_one(bits):
    graph = toy_graph()
    where, x = adjacency(graph, "gcn"), signed(graph)
    weight = torch.randn(5, 6, generator=torch.Generator().manual_seed(3))
    grid, rounded = NodeGrid.fit(groups_of(graph), bits, x), RoundedWeight(bits, weight)
    assert (grid.offset < 0).any()
    stored = rounded.packed(weight)
    w = unpack(stored["codes"], bits, (5, 6)).long().numpy() - (2 ** (bits - 1) - 1)
    step, offset = (t.double().numpy() for t in (grid.steps(where), grid.offsets(where)))
    codes = grid.codes(x, where)
    assert_codes(codes, 0, 2**bits - 1)
    # (S_X outer S_W) * (X^Q W^Q) + offset outer (S_W * column sums of W^Q): the correction is known before inference.
    s_w = stored["scale"].double().numpy()
    expected = step * s_w * (codes.long().numpy() @ w.T) + offset * (s_w * w.sum(1))
    found = grid(x, where) @ rounded(weight, where).T
    assert np.allclose(found.numpy(), expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def assert_codes(codes: torch.Tensor, low: int, high: int) -> None:
    assert torch.equal(codes, codes.round())
    assert low <= codes.min() <= codes.max() <= high


def test_eight_bits_hold_the_product_closely_and_fewer_bits_less_so():
    graph = toy_graph()
    where, x = adjacency(graph, "gcn"), signed(graph)
    wanted = where.matmul(x)
    errors = []
    for bits in (2, 4, 6, 8):
        product, _ = candidates(groups_of(graph), bits, x)
        errors.append(float((product(where, where.value, x) - wanted).norm() / wanted.norm()))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.01


@pytest.mark.parametrize("on", ["activation", "output"])
def test_selection_keeps_the_smaller_error(on):
    graph = toy_graph()
    where, groups = adjacency(graph, "gcn"), groups_of(graph)
    # Loud nodes want their own scale. Where one column is loud in all nodes, and groups mix, columns do.
    for x in (signed(graph), torch.rand(60, 6, generator=torch.Generator().manual_seed(4)).round()):
        pair = candidates(groups, 4, x)
        product = where.matmul(x)
        pick = select(pair, on, where, where.value, x, product)
        if on == "activation":
            errors = [float((c.rounded(x, where) - x).square().mean()) for c in pair]
        else:
            errors = [float((c(where, where.value, x) - product).square().mean()) for c in pair]
        assert [pick.dual_axis_mse, pick.column_mse] == pytest.approx(errors)
        assert pick.operator is pair[0 if errors[0] < errors[1] else 1]


def test_loud_nodes_want_dual_axes_and_even_ones_columns():
    graph = toy_graph()
    where, groups = adjacency(graph, "gcn"), groups_of(graph)
    loud = signed(graph)
    even = torch.ones(60, 6)  # both are exact: the tie goes to the column
    picks = []
    for x in (loud, even):
        picks.append(select(candidates(groups, 4, x), "activation", where, where.value, x, where.matmul(x)))
    assert picks[0].operator.node_scale is not None
    assert picks[1].operator.node_scale is None


def test_rows_of_zeros_stay_zero_and_finite():
    graph = toy_graph()
    x = signed(graph)
    x[:20] = 0.0
    x[59] = 0.0  # isolated, a group of its own: S_N is zero and floored
    where = adjacency(graph, "gcn")
    product, _ = candidates(groups_of(graph), 8, x)
    assert float(product.node_scale.min()) == 0.0
    out = product(where, where.value, x)
    assert torch.isfinite(out).all()
    assert out[59].abs().max() == 0.0
    assert torch.allclose(product.rounded(x, where)[:20], torch.zeros(20, 6))


def test_static_codes_are_made_once_per_graph_and_attention_anew():
    graph = toy_graph()
    where, x = adjacency(graph, "gcn"), signed(graph)
    product, _ = candidates(groups_of(graph), 8, x)
    first = product.adjacency_codes(where, where.value)
    assert product.adjacency_codes(where, where.value)[0] is first[0]
    doubled = product.adjacency_codes(where, where.value * 2)
    assert torch.allclose(doubled[1], first[1] * 2)
    other = toy_graph(40, seed=9)
    assert len(product.adjacency_codes(adjacency(other, "gcn"), adjacency(other, "gcn").value)[0]) != len(first[0])


def test_code_sums_are_exact():
    graph = toy_graph(200, degree=8.0)
    where = adjacency(graph, "sum")
    generator = torch.Generator().manual_seed(0)
    codes = torch.randint(0, 256, (where.num_entries,), generator=generator)
    x = torch.randint(-127, 128, (200, 9), generator=generator)
    assert np.array_equal(code_product(where, codes.float(), x.float()).numpy(), dense(where, codes) @ x.numpy())


def test_column_wise_products_store_no_node_scale():
    graph = toy_graph()
    dual, column = candidates(groups_of(graph), 8, signed(graph))
    assert isinstance(dual, QuantizedAggregation)
    assert dual.node_scale is not None
    assert {name for name, _ in column.named_buffers()} == {"feature_scale", "groups.key"}


def test_rows_that_are_entries_with_their_sources_values_are_the_plain_product():
    """With each message equal to its source's row, both forms round the same numbers on the same grids."""
    graph = toy_graph()
    where = adjacency(graph, "edges")
    x = graph.x - 0.3
    groups = Groups(graph, group_keys(graph, "toppin"))
    sends = torch.bincount(where.col, minlength=graph.num_nodes) > 0
    plain = candidates(groups, 8, x * sends.unsqueeze(1))
    by_entry = candidates(groups, 8, x[where.col], where.col)
    for one, other in zip(plain, by_entry, strict=True):
        assert torch.allclose(other(where, where.value, x[where.col]), one(where, where.value, x), atol=1e-6)
        assert torch.equal(one.adjacency_codes(where, where.value)[0], other.adjacency_codes(where, where.value)[0])


def test_a_message_is_scaled_by_its_senders_group():
    graph = toy_graph()
    where = adjacency(graph, "edges")
    messages = torch.rand(where.num_entries, 4, generator=torch.Generator().manual_seed(0))
    messages[where.col == int(where.col[0])] *= 1000
    dual, column = candidates(Groups(graph, torch.arange(graph.num_nodes)), 4, messages, where.col)
    error = [
        float((each.rounded(messages, where) - messages).square()[where.col != int(where.col[0])].mean())
        for each in (dual, column)
    ]
    assert error[0] < error[1] / 100
