"""How node scorers are trained."""

from __future__ import annotations

import pytest
import torch

from benchsuite.contracts.graph import Graph
from benchsuite.errors import ProtocolError
from benchsuite.models.selection import build_model, degrees
from benchsuite.tasks.selection.bench import degree_exponent
from benchsuite.tasks.selection.recipe import SelectionRecipe
from benchsuite.tasks.selection.training import Lesson, loss_of, relaxed, standardised, train
from benchsuite.testing.toys import toy_graph, union

RECIPE = SelectionRecipe(goal="influence", epochs=15, lr=0.01)


def path(*ends):
    pairs = torch.tensor(ends).T
    return Graph(torch.zeros(3, 1), torch.cat([pairs, pairs.flip(0)], 1))


def lessons(count=3):
    made = []
    for seed in range(count):
        graph = toy_graph(seed=seed)
        made.append(Lesson(graph, standardised(degrees(graph), graph)))
    return made


def test_the_relaxed_set_by_hand():
    # A path 0-1-2 with p = 1, 1/2, 1: edges cost 2 (1/2 + 1/2), nodes bring 2.5; over three nodes.
    graph, p = path([0, 1], [1, 2]), torch.tensor([1.0, 0.5, 1.0], requires_grad=True)
    loss = relaxed(p, graph)
    assert loss.item() == pytest.approx((2.0 - 2.5) / 3)
    # The middle: 2 (1 + 1) - 1 = 3; an end: 2 * 1/2 - 1 = 0.
    assert torch.autograd.grad(loss, p)[0].tolist() == pytest.approx([0.0, 1.0, 0.0])


def test_on_a_true_independent_set_the_relaxed_loss_is_its_size():
    graph = path([0, 1], [1, 2])
    assert relaxed(torch.tensor([1.0, 0.0, 1.0]), graph).item() == pytest.approx(-2 / 3)
    assert relaxed(torch.tensor([1.0, 1.0, 1.0]), graph).item() == pytest.approx(1 / 3)
    assert relaxed(torch.zeros(0), Graph(torch.zeros(0, 1), torch.zeros(2, 0, dtype=torch.long))).item() == 0


def test_the_other_goals_are_regressions():
    [lesson] = lessons(1)
    scores = lesson.target + 2.0
    assert loss_of("dismantling", scores, lesson).item() == pytest.approx(4.0)
    assert loss_of("independence", scores, lesson).item() != pytest.approx(4.0)


def test_targets_have_mean_zero_and_deviation_one_in_every_graph():
    pair = union(toy_graph(nodes=4), toy_graph(nodes=3), toy_graph(nodes=2))
    made = standardised(torch.tensor([1.0, 2.0, 3.0, 6.0, 5.0, 5.0, 5.0, 10.0, 20.0]), pair)
    assert made[:4].mean().abs() < 1e-6
    assert made[:4].std(correction=0) == pytest.approx(1.0)
    assert made[4:7].tolist() == [0.0, 0.0, 0.0]
    assert made[7:].tolist() == [-1.0, 1.0]
    assert made.dtype == torch.float32


@pytest.mark.parametrize("goal", ["influence", "independence"])
def test_training_lowers_the_loss_and_ends_in_eval_mode(goal):
    model = build_model(12, 0)
    course = train(model, lessons(), RECIPE.model_copy(update={"goal": goal}), seed=1)
    assert course.steps == 45
    assert course.last_loss < course.first_loss - 0.1
    assert not model.training
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_seed_decides_the_order_and_with_it_the_weights():
    def trained(seed):
        model = build_model(12, 0)
        train(model, lessons(), RECIPE, seed)
        return model.head[2].weight

    first, second, other = trained(1), trained(1), trained(2)
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


def test_a_loss_that_is_no_number_names_the_step():
    made = lessons()
    made[1] = Lesson(made[1].graph, made[1].target * float("nan"))
    order = torch.randperm(3, generator=torch.Generator().manual_seed(5)).tolist()
    with pytest.raises(ProtocolError, match=f"training diverged: the loss is nan in step {order.index(1) + 1}$"):
        train(build_model(12, 0), made, RECIPE, seed=5)


def test_training_works_on_a_graph_without_edges():
    bare = Graph(torch.rand(5, 12), torch.zeros(2, 0, dtype=torch.long))
    for goal in ("influence", "independence"):
        recipe = RECIPE.model_copy(update={"goal": goal, "epochs": 2})
        course = train(build_model(12, 0), [Lesson(bare, torch.zeros(5))], recipe, seed=0)
        assert course.steps == 2


def test_the_exponent_of_the_degree_in_the_norms():
    graph = toy_graph()
    directions = torch.randn(60, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    directions = torch.nn.functional.normalize(directions, dim=1)
    scale = (1 + degrees(graph)).double().rsqrt()
    assert degree_exponent(scale[:, None] * directions, graph) == pytest.approx(-0.5)
    # What epsilon lets through is ordered by degree as well, and is next to nothing.
    assert abs(degree_exponent((1 + 1e-6 * scale)[:, None] * directions, graph)) < 1e-6
    # A row of zeros, which ReLU may leave, has no logarithm and is left out.
    assert degree_exponent((scale * (graph.x[:, 0] > 0))[:, None] * directions, graph) == pytest.approx(-0.5)
    assert degree_exponent(torch.zeros(60, 8), graph) is None
    lone = Graph(torch.zeros(4, 1), torch.zeros(2, 0, dtype=torch.long))
    assert degree_exponent(torch.rand(4, 8), lone) is None
