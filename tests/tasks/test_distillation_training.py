"""The training loop: it trains what a phase names and nothing else, and arms of a seed share what they must share."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from benchsuite.contracts.curriculum import Budget, Phase
from benchsuite.contracts.norm_placement import LayerNorms, StackNorms
from benchsuite.errors import ProtocolError
from benchsuite.models.student import StudentShape, build_student
from benchsuite.tasks.distillation.config import DistillationConfig
from benchsuite.tasks.distillation.diagnostics import examine
from benchsuite.tasks.distillation.documents import pack
from benchsuite.tasks.distillation.evaluation import evaluate
from benchsuite.tasks.distillation.phases import Stream, make_legs
from benchsuite.tasks.distillation.training import Trainer

VOCAB, WIDTH, DEPTH = 24, 16, 3
CPU = torch.device("cpu")
BUDGET = Budget(6, "steps")
CONFIG = DistillationConfig(
    teacher="train:quick",
    corpus="toy",
    vocab=VOCAB,
    width=WIDTH,
    heads=2,
    kv_heads=1,
    mlp=24,
    blocks=DEPTH,
    layers_per_block=1,
    context=10,
    batch=4,
    phase=6,
    held_out=8,
    learning_rate=1e-2,
)
PRE = StackNorms(((LayerNorms(norm_in=True),) * 2,) * DEPTH, entry=False, final=True)
POST = StackNorms(((LayerNorms(norm_res=True),) * 2,) * DEPTH, entry=True, final=False)


def toy_documents(number=60, seed=0):
    """Documents that count up from a random start: easy to predict."""
    generator = np.random.default_rng(seed)
    rows = [(start + np.arange(length)) % VOCAB for start, length in generator.integers(2, 12, (number, 2))]
    return pack([row.tolist() for row in rows], CONFIG.context, pad=0)


class Arm:
    """A student on its way through some phases."""

    def __init__(self, phases, stack=PRE, config=CONFIG, seed=0, documents=None):
        torch.manual_seed(0)
        embedding, head, norm = torch.randn(VOCAB, WIDTH), torch.randn(VOCAB, WIDTH), torch.ones(WIDTH)
        shape = StudentShape(VOCAB, WIDTH, 2, 1, 24, DEPTH, 1, CONFIG.context)
        self.student = build_student(shape, stack, embedding, head, norm, seed)
        self.documents = documents or toy_documents()
        stream = Stream(self.documents.lengths, config.batch, BUDGET, seed)
        self.legs = make_legs(phases, stream, 1)
        table = torch.randn(VOCAB, VOCAB)
        self.trainer = Trainer(self.student, lambda b: table[b.tokens], self.documents, config, seed, CPU)

    def weights(self):
        return {name: tensor.clone() for name, tensor in self.student.state_dict().items()}

    def run(self):
        return [self.trainer.run(leg, number) for number, leg in enumerate(self.legs)]


def phase(active, trainable=None, **changes):
    return Phase(active, active if trainable is None else trainable, BUDGET, **changes)


def changed(before, after):
    """Which parts of the student differ: block numbers, and "head", "embedding", "boundary"."""
    found = set()
    for name in before:
        if not torch.equal(before[name], after[name]):
            parts = name.split(".")
            inside = int(parts[2]) if parts[1] == "blocks" else "boundary"
            found.add(inside if parts[0] == "trunk" else parts[0])
    return found


@pytest.mark.parametrize("stack", [PRE, POST], ids=["pre", "post"])
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {1, "head", "boundary"}),
        ({"train_head": False}, {1, "boundary"}),
        ({"train_boundary_norm": False}, {1, "head"}),
        ({"trainable": ()}, {"head", "boundary"}),
        ({"trainable": (0, 1)}, {0, 1, "head", "boundary"}),
    ],
)
def test_only_what_a_phase_trains_changes(stack, changes, expected):
    arm = Arm([phase((0,)), phase((0, 1), **{"trainable": (1,), **changes})], stack)
    arm.trainer.run(arm.legs[0], 0)
    arm.trainer._insert(arm.legs[1].phase)
    before = arm.weights()
    arm.trainer.run(arm.legs[1], 1)
    assert changed(before, arm.weights()) == expected


def test_training_lowers_the_loss():
    documents = toy_documents(400)
    config = CONFIG.model_copy(update={"alpha": 0.0, "gamma": 1.0})
    long = Phase((0, 1, 2), (0, 1, 2), Budget(80, "steps"))
    [trace] = Arm([long], config=config, documents=documents).run()
    assert np.mean(trace.losses[-10:]) < 0.5 * np.mean(trace.losses[:5])
    assert trace.jump is None


def test_a_block_starts_with_the_same_numbers_in_every_arm():
    joint, grown = Arm([phase((0, 1, 2))]), Arm([phase((0,)), phase((0, 1)), phase((0, 1, 2))])
    joint.trainer._insert(joint.legs[0].phase)
    start = joint.weights()
    for number in (0, 1):
        grown.trainer.run(grown.legs[number], number)
    grown.trainer._insert(grown.legs[2].phase)
    assert torch.equal(
        start["trunk.blocks.2.0.attention.function.q_proj.weight"],
        grown.weights()["trunk.blocks.2.0.attention.function.q_proj.weight"],
    )
    post = Arm([phase((0, 1, 2))], POST)
    post.trainer._insert(post.legs[0].phase)
    shared = start.keys() & post.weights().keys()
    assert any("q_proj" in name for name in shared)
    assert all(torch.equal(start[name], post.weights()[name]) for name in shared)


def test_the_first_phase_of_the_matched_arm_is_the_joint_arm():
    joint = Arm([phase((0, 1, 2))], documents=toy_documents(200))
    matched = Arm([phase((0, 1, 2)), phase((0, 1, 2), data="fresh")], documents=toy_documents(200))
    [alone] = joint.run()
    first, second = matched.run()
    assert first.losses == alone.losses
    assert second.jump is None


def test_seeds_pair_everything_and_repeat_exactly():
    phases = [phase((0,)), phase((0, 1, 2))]
    one, two, other = Arm(phases), Arm(phases), Arm(phases, seed=1)
    assert [t.losses for t in one.run()] == [t.losses for t in two.run()]
    assert one.run() != other.run()


def test_a_silent_block_changes_nothing_before_norm_and_something_after():
    """Zero-output append is the identity for pre-norm; under post-norm a norm with a trained scale still acts."""
    phases = [phase((0,)), phase((0, 1), insertion="zero_output")]
    assert Arm(phases).run()[1].jump == pytest.approx(0, abs=1e-6)
    assert abs(Arm(phases, POST).run()[1].jump) > 1e-6


def test_a_copy_is_of_the_nearest_block_below():
    arm = Arm([phase((0,)), phase((0, 2), insertion="copy")])
    arm.trainer.run(arm.legs[0], 0)
    arm.trainer._insert(arm.legs[1].phase)
    lower, upper = arm.student.block_parameters(0), arm.student.block_parameters(2)
    assert all(torch.equal(a, b) for a, b in zip(lower, upper, strict=True))


def test_moments_are_kept_or_reset_as_the_phase_says():
    for reset, expected in ((False, 12), (True, 6)):
        arm = Arm([phase((0,)), phase((0, 1), reset_optimizer=reset)])
        arm.run()
        state = arm.trainer._optimizer.state
        assert {int(state[p]["step"]) for p in arm.student.block_parameters(0)} == {expected}
        assert {int(state[p]["step"]) for p in arm.student.block_parameters(1)} == {6}


def test_gradients_are_clipped_and_the_rate_is_the_schedules(monkeypatch):
    arm = Arm([phase((0, 1, 2))], config=CONFIG.model_copy(update={"warmup": 0.5}))
    seen, norms = [], []

    def step(self, *args):
        seen.append(self.param_groups[0]["lr"])
        gradients = [p.grad for group in self.param_groups for p in group["params"]]
        norms.append(float(torch.stack([g.norm() for g in gradients]).norm()))

    monkeypatch.setattr(torch.optim.AdamW, "step", step)
    arm.run()
    assert seen[:3] == pytest.approx([1e-2 / 3, 2e-2 / 3, 1e-2])
    assert seen[-1] == pytest.approx(1e-4)
    assert max(norms) <= CONFIG.clip * 1.001


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_names_the_step(value):
    arm = Arm([phase((0,)), phase((0, 1))])
    teach = arm.trainer.teach
    calls = []

    def spoilt(batch):
        calls.append(batch)
        return teach(batch) * (value if len(calls) > 9 else 1)

    arm.trainer.teach = spoilt
    # 6 steps, then the jump (2 calls), then steps 6 and 7 are whole and the next is not.
    with pytest.raises(ProtocolError, match="the loss is nan at step 7 \\(phase 1\\)"):
        arm.run()


def test_a_student_that_diverges_names_the_step():
    arm = Arm([phase((0, 1, 2))])
    with torch.no_grad():
        arm.student.head.weight.fill_(float("inf"))
    with pytest.raises(ProtocolError, match="at step 0 \\(phase 0\\)"):
        arm.run()


def test_bfloat16_trains_too():
    [trace] = Arm([phase((0, 1, 2))], config=CONFIG.model_copy(update={"precision": "bfloat16"})).run()
    [wide] = Arm([phase((0, 1, 2))]).run()
    assert trace.losses[0] == pytest.approx(wide.losses[0], rel=0.02)
    assert trace.losses != wide.losses


def test_held_out_cross_entropy_is_counted_per_document_whatever_the_batch(monkeypatch):
    documents = toy_documents(20)
    student = Arm([phase((0, 1, 2))]).student
    by_32 = evaluate(lambda b: student(b.tokens, b.mask), documents, CPU)
    monkeypatch.setattr("benchsuite.tasks.distillation.evaluation.BATCH", 1)
    by_1 = evaluate(lambda b: student(b.tokens, b.mask), documents, CPU)
    assert by_32.sums == pytest.approx(by_1.sums, rel=1e-5)
    assert by_32.counts.tolist() == (documents.lengths - 1).tolist()
    uniform = evaluate(lambda b: torch.zeros(*b.tokens.shape, VOCAB), documents, CPU)
    assert uniform.mean == pytest.approx(np.log(VOCAB))


def test_blocks_are_examined_by_leaving_them_out():
    student = Arm([phase((0, 1, 2))]).student
    student.reset_block(1, "zero_output", torch.Generator())
    reports = examine(student, toy_documents(40), CPU)
    assert len(reports) == DEPTH
    silent, others = reports[1], (reports[0], reports[2])
    assert silent.removal == pytest.approx(0, abs=1e-6)
    assert silent.angle == pytest.approx(0, abs=1e-3)
    assert min(abs(report.removal) for report in others) > 1e-4
    assert min(report.angle for report in others) > 1e-3
    assert all(0 <= report.rms_std < report.rms_mean for report in reports)


def test_documents_are_cut_padded_and_left_out_where_they_predict_nothing(tmp_path):
    documents = pack([[1, 2, 3, 4], [5], [6, 7]], context=3, pad=9)
    tokens, mask = documents.batch([0, 1], CPU)
    assert tokens.tolist() == [[1, 2, 3], [6, 7, 9]]
    assert mask.tolist() == [[True, True, True], [True, True, False]]
    assert SimpleNamespace(lengths=documents.lengths.tolist()).lengths == [3, 2]
