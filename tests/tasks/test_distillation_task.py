"""A distillation cell from corpus to score, with a teacher that is trained on the spot."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from benchsuite.contracts.cards import TaskCard
from benchsuite.contracts.curriculum import Budget, Phase
from benchsuite.contracts.norm_placement import LayerNorms, StackNorms
from benchsuite.contracts.task import CellInput, MethodSpec, Places
from benchsuite.errors import MissingDataError, ProtocolError, UsageError
from benchsuite.models.teacher import PRESETS, TeacherRecipe
from benchsuite.tasks.distillation.documents import read_documents
from benchsuite.tasks.distillation.estimate import block_parameters, estimate, phase_tokens, trained_parameters
from benchsuite.tasks.distillation.task import Distillation
from benchsuite.tasks.distillation.view import open_view
from benchsuite.tasks.distillation_cards import CROSS_ENTROPY, PROTOCOL, TASKS

WORDS = ("the", "cat", "sat", "on", "a", "mat", "and", "saw", "two", "birds", "fly", "over", "that", "barn", "river")
TOY = TeacherRecipe(width=16, heads=2, kv_heads=1, mlp=24, layers=1, context=24, steps=8, batch=8, learning_rate=1e-2)
CONFIG = {
    "teacher": "train:toy",
    "vocab": 280,
    "width": 16,
    "heads": 2,
    "kv_heads": 1,
    "mlp": 24,
    "blocks": 2,
    "layers_per_block": 1,
    "context": 24,
    "batch": 4,
    "phase": 3,
    "held_out": 5,
    "learning_rate": 1e-2,
}


class Pre:
    def stack(self, depth):
        return StackNorms(((LayerNorms(norm_in=True),) * 2,) * depth, entry=False, final=True)


class Grow:
    def phases(self, depth, budget):
        blocks = range(1, depth + 1)
        return [Phase(tuple(range(n)), tuple(range(n)), budget) for n in blocks]


class Shallow:
    def phases(self, depth, budget):
        return [Phase((0,), (0,), budget)]


class Silent:
    def rank(self, graph, goal):
        return None


class Wrong:
    def stack(self, depth):
        return [depth]


class Endless:
    def phases(self, depth, budget):
        blocks = tuple(range(depth))
        return [Phase(blocks, blocks, Budget(10**6, "steps"), data="fresh")] * 2


METHODS = {each.__name__.lower(): each for each in (Pre, Grow, Shallow, Silent, Wrong)}


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A folder of text, and a recipe for a teacher of eight steps."""
    monkeypatch.setitem(PRESETS, "toy", TOY)
    text = tmp_path / "text"
    text.mkdir()
    draw = np.random.default_rng(0)
    lines = [" ".join(draw.choice(WORDS, 80)) for _ in range(160)]
    (text / "story.txt").write_text("\n\n".join(lines))
    return Places(None, tmp_path / "cache")


@pytest.fixture
def task(places):
    def make(**changes):
        corpus = f"folder:{places.cache.parent / 'text'}"
        card = TaskCard(
            name="distill-toy",
            target="benchsuite.tasks.distillation.task:Distillation",
            summary="Toy.",
            factors=("norm_placement", "curriculum"),
            dataset="toy",
            protocol=PROTOCOL,
            metrics=(CROSS_ENTROPY,),
            config={**CONFIG, "corpus": corpus, **changes},
        )
        return Distillation(card)

    return make


class Spec(MethodSpec):
    """A method of this file."""

    def make(self):
        return METHODS[self.name]()


def cell(task, places, placement="pre", curriculum="grow", seed=0):
    methods = {"norm_placement": Spec(placement, "x:X", {}), "curriculum": Spec(curriculum, "x:X", {})}
    return CellInput(task.prepare(places).view, places.cache, seed, methods)


def test_a_cell_from_text_to_score(task, places):
    distill = task()
    output = distill.run(cell(distill, places))
    score = distill.score(distill.prepare(places), output)
    assert set(score) == {"cross_entropy"}
    assert 2 < score["cross_entropy"] < np.log(280) + 0.5
    measured = output.measurements
    assert measured["steps"] == 6
    assert measured["total_tokens"] == 2 * measured["unique_tokens"]
    assert measured["active_layer_tokens"] == 3 * measured["unique_tokens"]
    assert {"append1_jump", "block0_removal", "block1_angle", "teacher_cross_entropy"} <= set(measured)
    assert output.samples["curve_step"] == [1, 2, 3, 4, 5, 6]
    assert output.samples["curve_layer_tokens"][-1] == measured["active_layer_tokens"]
    assert len(output.samples["curve_loss"]) == 6
    assert output.samples["phase_cross_entropy"][-1] == pytest.approx(score["cross_entropy"])
    assert [phase["active"] for phase in output.notes["phases"]] == [[0], [0, 1]]


def test_a_cell_repeats_exactly_and_seeds_differ(task, places):
    distill = task()
    one, two, other = (distill.run(cell(distill, places, seed=seed)) for seed in (0, 0, 1))
    assert np.array_equal(one.predictions["sums"], two.predictions["sums"])
    assert one.samples == two.samples
    assert not np.array_equal(one.predictions["sums"], other.predictions["sums"])


def test_no_held_out_document_is_in_what_training_sees(task, places):
    opened = open_view(task().prepare(places).view)
    held_out, training = opened.held_out, opened.training
    assert len(held_out) == 5

    def rows(documents):
        ends = documents.offsets.tolist()
        return {tuple(documents.ids[a:b].tolist()) for a, b in pairwise(ends)}

    assert not rows(held_out) & rows(training)
    assert max(training.lengths.max(), held_out.lengths.max()) == 24


def test_the_view_says_where_data_is_and_its_hash_does_not(task, places, tmp_path):
    distill = task()
    here, there = distill.prepare(places), distill.prepare(replace(places, data=tmp_path))
    assert here.data_hash == there.data_hash
    assert here.view != there.view


def test_another_recipe_of_the_teacher_is_other_data(task, places, monkeypatch):
    before = task().prepare(places).data_hash
    monkeypatch.setitem(PRESETS, "toy", replace(TOY, steps=9))
    assert task().prepare(places).data_hash != before


def test_a_damaged_view_is_found(task, places):
    path = task().prepare(places).view
    opened = open_view(path)
    training = path.parent / opened.view.training
    training.write_bytes(training.read_bytes()[:-4] + b"\0\0\1\0")
    with pytest.raises(MissingDataError, match="damaged"):
        read_documents(training)


@pytest.mark.parametrize(
    ("placement", "curriculum", "message"),
    [
        ("pre", "shallow", "the last phase leaves out block 1 of 2"),
        ("silent", "grow", "Silent has no stack\\(\\)"),
        ("wrong", "grow", "stack\\(\\) returned list, not StackNorms"),
        ("pre", "pre", "Pre has no phases\\(\\)"),
    ],
)
def test_methods_that_break_the_contract(task, places, placement, curriculum, message):
    distill = task()
    with pytest.raises(ProtocolError, match=message):
        distill.run(cell(distill, places, placement, curriculum))


def test_vocabularies_that_differ(task, places):
    """The corpus has too few pairs for so many tokens: the tokenizer ends with fewer."""
    with pytest.raises(ProtocolError, match=r"teacher and student vocabularies differ: .* the student 5000"):
        task(vocab=5000).prepare(places)


def test_a_width_that_is_not_the_teachers(task, places):
    distill = task(width=32)
    with pytest.raises(UsageError, match="width 16, the student 32"):
        distill.run(cell(distill, places))


def test_a_context_that_is_longer_than_the_teachers(task, places):
    distill = task(context=48)
    with pytest.raises(ProtocolError, match="takes 24 tokens, the task's context is 48"):
        distill.run(cell(distill, places))


def test_a_corpus_that_is_empty(task, places):
    (places.cache.parent / "text" / "story.txt").write_text("")
    with pytest.raises(MissingDataError, match="empty"):
        task().prepare(places)


def test_a_phase_longer_than_the_corpus(task, places):
    distill = task(phase=10_000)
    with pytest.raises(ProtocolError, match="which takes 10000 steps"):
        distill.run(cell(distill, places))


def test_a_learning_rate_that_diverges_is_a_failed_cell_that_names_the_step(task, places):
    distill = task(learning_rate=1e30)
    with pytest.raises(ProtocolError, match=r"at step \d \(phase 0\)"):
        distill.run(cell(distill, places))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda p: {**p, "sums": p["sums"][:-1]}, "one float64 sum for each of 5"),
        (lambda p: {**p, "sums": p["sums"].astype(np.float32)}, "one float64 sum"),
        (lambda p: {**p, "sums": p["sums"] * np.nan}, "not finite"),
        (lambda p: {**p, "sums": -p["sums"]}, "negative"),
        (lambda p: {**p, "counts": p["counts"] + 1}, "other held-out tokens"),
        (lambda p: {"sums": p["sums"]}, "other held-out tokens"),
    ],
)
def test_a_score_takes_nothing_else_than_what_it_asked_for(task, places, spoil, message):
    distill = task()
    output = distill.run(cell(distill, places))
    spoilt = replace(output, predictions=spoil(output.predictions))
    with pytest.raises(ProtocolError, match=message):
        distill.score(distill.prepare(places), spoilt)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"depth": 3}, "depth: extra inputs"),
        ({"heads": 3}, "width must be a multiple of heads"),
        ({"alpha": 0, "gamma": 0}, "there is no loss"),
        ({"phase": 0}, "phase: input should be greater"),
    ],
)
def test_a_config_that_is_wrong(task, changes, message):
    with pytest.raises(ProtocolError, match=message):
        task(**changes)


def test_the_estimate_counts_what_the_student_has(task, places):
    import torch

    from benchsuite.models.student import StudentShape, build_student

    config = task().config
    shape = StudentShape(280, 16, 2, 1, 24, 2, 1, 24)
    student = build_student(shape, Pre().stack(2), torch.zeros(280, 16), torch.zeros(280, 16), torch.ones(16), 0)
    assert trained_parameters(config) == sum(p.numel() for p in student.parameters())
    assert block_parameters(config) == sum(p.numel() for block in (0, 1) for p in student.block_parameters(block))


def test_the_estimate_of_the_published_setting():
    """3.11 B tokens a phase, 28.0 B layer-tokens of joint and 56.0 B of grow (arXiv 2608.13156)."""
    card = next(card for card in TASKS if card.name == "distill-qwen3-8b")
    config = Distillation(card).config
    assert phase_tokens(config) == 3_110_400_000
    lines = estimate(config)
    assert lines["tokens of a phase"].startswith("3.11 B")
    assert "28 B with all 9 layers" in lines["active-layer tokens"]
    assert "56 B when grown" in lines["active-layer tokens"]


def test_the_paper_is_in_no_suite_that_runs_by_default():
    suites = {card.name: set(card.suites) for card in TASKS}
    assert suites["distill-qwen3-8b"] == {"paper"}
    assert suites["distill-quick"] == {"quick"}
    for card in TASKS:
        assert card.reference == {"norm_placement": "pre", "curriculum": "joint"}
        Distillation(card)
