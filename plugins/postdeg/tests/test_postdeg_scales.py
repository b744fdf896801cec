"""The scales by hand, and what each arm differs in."""

from __future__ import annotations

import benchsuite_postdeg
import pytest
import torch
from benchsuite_postdeg.learned import DegreeScale
from benchsuite_postdeg.scales import InverseDegree

from benchsuite.models.selection import build_model, degrees, place
from benchsuite.plugin import Graph, MethodSpec, NodeRanking, NodeScale, ScaleSite
from benchsuite.testing.toys import permute, toy_graph, undirected, union

CARDS = {card.name: card for card in benchsuite_postdeg.benchsuite_methods()}
SCALES = sorted(set(CARDS) - {"greedy-degree"})


def make(name, **params):
    card = CARDS[name]
    return MethodSpec(name, card.target, card.resolve(params)).make()


def site(block=0, seed=0):
    return ScaleSite(block, 8, torch.Generator().manual_seed(seed))


def scale_of(name, graph, seed=0, **params):
    with torch.no_grad():
        return make(name, **params).scaler(site(seed=seed))(torch.ones(graph.num_nodes, 8), graph)


def star():
    """One node with three neighbours, and one with none: degrees 3, 1, 1, 1, 0."""
    return Graph(torch.zeros(5, 1), undirected(torch.tensor([[0, 0, 0], [1, 2, 3]]), 5))


def test_postdeg_by_hand():
    root = 2**-0.5
    assert scale_of("postdeg", star()).tolist() == pytest.approx([0.5, root, root, root, 1.0])
    assert scale_of("postdeg", star(), power=1.0).tolist() == [0.25, 0.5, 0.5, 0.5, 1.0]
    assert scale_of("postdeg", star(), power=-1.0).tolist() == [4.0, 2.0, 2.0, 2.0, 1.0]
    assert scale_of("postdeg", star(), power=0.0).tolist() == [1.0] * 5


def test_core_numbers_take_the_place_of_degrees():
    # A star is a tree: the core number is 1 wherever there is an edge.
    assert scale_of("postdeg-core", star()).tolist() == pytest.approx([2**-0.5] * 4 + [1.0])


def test_slots_and_the_extra_norm():
    slots = {name: make(name).slot for name in SCALES}
    assert slots.pop("layernorm") is None
    assert slots.pop("postdeg-erased") == "S2"
    assert set(slots.values()) == {"S3"}
    assert [name for name in SCALES if make(name).norm_after] == ["postdeg-extra-norm"]
    assert make("postdeg", slot="S6").slot == "S6"


def test_arms_have_the_same_scale_in_another_place():
    graph = toy_graph()
    assert torch.equal(scale_of("postdeg-erased", graph), scale_of("postdeg", graph))
    assert torch.equal(scale_of("postdeg-extra-norm", graph), scale_of("postdeg", graph))


def test_the_graphwise_scale_is_the_mean_of_each_graph():
    pair = union(star(), Graph(torch.zeros(2, 1), torch.zeros(2, 0, dtype=torch.long)))
    mean = (0.5 + 3 * 2**-0.5 + 1) / 5
    assert scale_of("postdeg-graphwise", pair).tolist() == pytest.approx([mean] * 5 + [1.0] * 2)


def test_shuffled_deals_the_degrees_of_a_graph_to_its_own_nodes():
    pair = union(toy_graph(seed=1), toy_graph(nodes=30, seed=2))
    dealt, own = scale_of("postdeg-shuffled", pair), scale_of("postdeg", pair)
    for nodes in (slice(0, 60), slice(60, 90)):
        assert torch.equal(dealt[nodes].sort().values, own[nodes].sort().values)
        assert not torch.equal(dealt[nodes], own[nodes])


def test_shuffled_is_the_same_deal_in_every_block_and_step_and_another_for_another_seed():
    graph, method = toy_graph(), make("postdeg-shuffled")
    generator = torch.Generator().manual_seed(0)
    x = torch.ones(60, 8)
    first, second = (method.scaler(ScaleSite(block, 8, generator))(x, graph) for block in range(2))
    assert torch.equal(first, second)
    assert torch.equal(first, method.scaler(site(2))(x, graph.fresh()))
    assert torch.equal(first, scale_of("postdeg-shuffled", graph))
    assert not torch.equal(first, scale_of("postdeg-shuffled", graph, seed=1))


def test_shuffled_severs_degree_and_scale():
    graph = toy_graph(nodes=2000)
    found = torch.corrcoef(torch.stack([scale_of("postdeg-shuffled", graph), degrees(graph)]))[0, 1]
    assert abs(found) < 0.08


def test_a_learned_scale_starts_as_one_and_learns_any_function_of_the_degree():
    graph, x = toy_graph(), torch.ones(60, 8)
    assert scale_of("postdeg-learned", graph).tolist() == pytest.approx([1.0] * 60)
    scale = DegreeScale(16, torch.Generator().manual_seed(0))
    wanted = (1 + degrees(graph)).rsqrt()
    adam = torch.optim.Adam(scale.parameters(), lr=0.05)
    for _ in range(120):
        adam.zero_grad()
        (scale(x, graph) - wanted).square().mean().backward()
        adam.step()
    found = scale(x, graph).detach()
    assert (found - wanted).abs().max() < 0.1
    assert (found > 0).all()
    by_degree = {int(d): float(s) for d, s in zip(degrees(graph), found, strict=True)}
    # Nodes of one degree share a scale, up to how a product of many rows is summed.
    assert found.tolist() == pytest.approx([by_degree[int(d)] for d in degrees(graph)], rel=1e-5)


def test_every_block_learns_a_scale_of_its_own():
    model = place(build_model(12, 0), make("postdeg-learned"), torch.Generator().manual_seed(0))
    scales = [placed.scaler for _, placed in model.scales()]
    assert len({id(scale) for scale in scales}) == 3
    assert not torch.equal(scales[0].first.weight, scales[1].first.weight)
    assert {id(p) for p in scales[0].parameters()} <= {id(p) for p in model.parameters()}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("nodes", [0, 1, 60])
@pytest.mark.parametrize("name", SCALES)
def test_scales_are_positive_and_of_the_features_type(name, nodes, dtype):
    graph, scaler = toy_graph(nodes=nodes), make(name).scaler(site())
    if isinstance(scaler, torch.nn.Module):
        scaler.to(dtype)
    scale = scaler(torch.ones(nodes, 8, dtype=dtype), graph)
    assert (scale.shape, scale.dtype) == ((nodes,), dtype)
    assert (scale > 0).all()
    assert scale.isfinite().all()


@pytest.mark.parametrize("name", sorted(set(SCALES) - {"postdeg-shuffled"}))
def test_scales_follow_a_permutation_of_the_nodes(name):
    graph = toy_graph()
    order = torch.randperm(60, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(scale_of(name, permute(graph, order)), scale_of(name, graph)[order])


def test_power_and_slot_have_their_domains():
    from benchsuite.plugin import BenchsuiteError

    with pytest.raises(BenchsuiteError, match="slot"):
        CARDS["postdeg"].resolve({"slot": "S7"})
    with pytest.raises(BenchsuiteError, match="power"):
        CARDS["postdeg"].resolve({"power": 3.0})


@pytest.mark.parametrize("goal", ["influence", "dismantling", "independence"])
def test_greedy_ranks_each_graph_of_a_union_as_it_would_alone(goal):
    graphs = [toy_graph(seed=1), toy_graph(nodes=20, seed=2), toy_graph(nodes=0)]
    method = make("greedy-degree")
    together = method.rank(union(*graphs), goal).split([60, 20, 0])
    for graph, scores in zip(graphs, together, strict=True):
        assert torch.equal(scores.argsort(), method.rank(graph, goal).argsort())


def test_greedy_picks_the_centre_of_a_star_first_and_for_an_independent_set_last():
    scores = {goal: make("greedy-degree").rank(star(), goal) for goal in ("influence", "independence")}
    assert scores["influence"].argmax() == 0
    assert scores["independence"].argmin() == 0


def test_methods_keep_the_protocols():
    assert isinstance(InverseDegree(), NodeScale)
    assert all(isinstance(make(name), NodeScale) for name in SCALES)
    assert isinstance(make("greedy-degree"), NodeRanking)
    assert not isinstance(make("greedy-degree"), NodeScale)
