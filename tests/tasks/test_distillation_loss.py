"""The objective: what it reduces to, what padding cannot do to it, and an oracle in plain loops."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from benchsuite.tasks.distillation.loss import Objective, divergence, predicted

BATCH, TIME, VOCAB = 3, 6, 5
PAPER = Objective(0.7, 0.3, 1.0)


@pytest.fixture
def batch():
    """Two full rows and one of three tokens."""
    generator = torch.Generator().manual_seed(0)
    student, teacher = torch.randn(2, BATCH, TIME, VOCAB, generator=generator)
    tokens = torch.randint(VOCAB, (BATCH, TIME), generator=generator)
    mask = torch.arange(TIME) < torch.tensor([TIME, TIME, 3])[:, None]
    return student, teacher, tokens, mask


def by_hand(student, teacher, tokens, mask, temperature):
    """KL and CE from their definitions, token by token."""
    kl, ce = [], []
    for row in range(BATCH):
        for t in range(TIME - 1):
            if not (mask[row, t] and mask[row, t + 1]):
                continue
            p = [math.exp(v / temperature) for v in teacher[row, t].tolist()]
            q = [math.exp(v / temperature) for v in student[row, t].tolist()]
            p, q = [v / sum(p) for v in p], [v / sum(q) for v in q]
            kl.append(sum(a * math.log(a / b) for a, b in zip(p, q, strict=True)))
            plain = student[row, t].tolist()
            ce.append(math.log(sum(map(math.exp, plain))) - plain[int(tokens[row, t + 1])])
    return sum(kl) / len(kl), sum(ce) / len(ce)


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_it_is_the_weighted_sum_of_both_terms(batch, temperature):
    loss = Objective(0.7, 0.3, temperature)(*batch)
    kl, ce = by_hand(*batch, temperature)
    assert float(loss.divergence) == pytest.approx(kl, rel=1e-5)
    assert float(loss.cross_entropy) == pytest.approx(ce, rel=1e-5)
    assert float(loss.total) == pytest.approx(0.7 * temperature**2 * kl + 0.3 * ce, rel=1e-5)


def test_without_a_teacher_it_is_cross_entropy(batch):
    student, _, tokens, mask = batch
    labels = tokens[:, 1:].masked_fill(~mask[:, 1:], -100)
    expected = functional.cross_entropy(student[:, :-1].transpose(1, 2), labels, ignore_index=-100)
    loss = Objective(0.0, 1.0)(*batch)
    assert torch.isclose(loss.total, expected)


def test_a_student_that_is_the_teacher_has_no_divergence(batch):
    student, _, tokens, mask = batch
    loss = PAPER(student, student.clone(), tokens, mask)
    assert float(loss.divergence) == pytest.approx(0, abs=1e-6)
    assert float(loss.total) == pytest.approx(0.3 * float(loss.cross_entropy))


def test_the_divergence_is_forward(batch):
    """KL(teacher || student): a student that rules out what the teacher allows pays, not the other way round."""
    certain, even = torch.tensor([[20.0, 0.0]]), torch.tensor([[0.0, 0.0]])
    assert float(divergence(student=even, teacher=certain, temperature=1.0)) == pytest.approx(math.log(2), rel=1e-3)
    assert float(divergence(student=certain, teacher=even, temperature=1.0)) > 9


def _gradient(student, teacher, tokens, mask):
    student = student.clone().requires_grad_()
    loss = PAPER(student, teacher, tokens, mask).total
    [gradient] = torch.autograd.grad(loss, student)
    return loss.detach(), gradient


@settings(deadline=None, max_examples=20)
@given(more=st.integers(1, 5), filling=st.sampled_from([0.0, 1e6, math.nan, math.inf]))
def test_padding_changes_neither_loss_nor_gradient(more, filling):
    generator = torch.Generator().manual_seed(1)
    student, teacher = torch.randn(2, BATCH, TIME, VOCAB, generator=generator)
    tokens = torch.randint(VOCAB, (BATCH, TIME), generator=generator)
    mask = torch.ones(BATCH, TIME, dtype=torch.bool)

    def padded(x, value):
        return torch.cat([x, torch.full((BATCH, more, *x.shape[2:]), value, dtype=x.dtype)], 1)

    loss, gradient = _gradient(student, teacher, tokens, mask)
    wider = (padded(student, filling), padded(teacher, filling), padded(tokens, 0), padded(mask, False))
    padded_loss, padded_gradient = _gradient(*wider)
    assert torch.equal(padded_loss, loss)
    assert torch.equal(padded_gradient[:, :TIME], gradient)
    assert not padded_gradient[:, TIME:].any()


def test_positions_that_predict_padding_get_no_gradient(batch):
    student, teacher, tokens, mask = batch
    _, gradient = _gradient(student, teacher, tokens, mask)
    assert gradient[:, :-1][predicted(mask)].abs().sum(-1).min() > 0
    assert not gradient[2, 2:].any()
    assert not gradient[:, -1].any()


def test_batchmean_is_taken_over_tokens(batch):
    """On ``[batch, time, vocab]`` the reduction would divide by the batch alone."""
    student, teacher, tokens, _ = batch
    full = torch.ones(BATCH, TIME, dtype=torch.bool)
    ours, theirs = (x[:, :-1].log_softmax(-1) for x in (student, teacher))
    trapped = functional.kl_div(ours, theirs, reduction="batchmean", log_target=True)
    assert float(trapped / PAPER(student, teacher, tokens, full).divergence) == pytest.approx(TIME - 1, rel=1e-5)


def test_the_mean_weighs_tokens_and_not_documents(batch):
    student, teacher, tokens, mask = batch
    rows = [PAPER(student[i : i + 1], teacher[i : i + 1], tokens[i : i + 1], mask[i : i + 1]) for i in range(BATCH)]
    counts = predicted(mask).sum(1)
    weighted = sum(row.total * count for row, count in zip(rows, counts, strict=True)) / counts.sum()
    assert torch.isclose(PAPER(*batch).total, weighted)
