"""The student: what it computes, what is trained in it, and how its blocks start."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from benchsuite.contracts.norm_placement import LayerNorms, StackNorms
from benchsuite.errors import ProtocolError, UsageError
from benchsuite.models.student import StudentShape, build_student

SHAPE = StudentShape(
    vocab=31, width=16, heads=4, kv_heads=2, mlp=24, blocks=3, layers_per_block=2, context=12, rope_theta=500.0
)
PRE, POST = LayerNorms(norm_in=True), LayerNorms(norm_res=True)
SANDWICH = LayerNorms(norm_in=True, norm_out=True)


def stack(branch, *, entry=False, final=False, layers=SHAPE.layers):
    return StackNorms(((branch, branch),) * layers, entry=entry, final=final)


PLACED = {
    "pre": stack(PRE, final=True),
    "post": stack(POST, entry=True),
    "sandwich": stack(SANDWICH, final=True),
    "deepnorm": stack(replace(POST, alpha=1.8, gain=0.4)),
}


def draws(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def make(placed="pre", seed=0, shape=SHAPE):
    norms = PLACED[placed] if isinstance(placed, str) else placed
    embedding, head = draws(shape.vocab, shape.width), draws(shape.vocab, shape.width, seed=2)
    return build_student(shape, norms, embedding, head, 1 + 0.3 * draws(shape.width, seed=3), seed)


def tokens(rows=2, time=9, seed=4):
    return torch.randint(SHAPE.vocab, (rows, time), generator=torch.Generator().manual_seed(seed))


def rough(student, seed=5, size=0.3):
    """Give every parameter, norms too, another value, so that nothing is one or small by accident."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in student.parameters():
            parameter.add_(size * torch.randn(parameter.shape, generator=generator))
    return student


@pytest.fixture(params=sorted(PLACED))
def placed(request):
    """Return the name of each placement in turn."""
    return request.param


def test_pre_and_post_have_equally_many_parameters():
    counts = {name: sum(p.numel() for p in make(name).parameters()) for name in PLACED}
    d, kv = SHAPE.width, SHAPE.kv_heads * SHAPE.head_width
    layer = 2 * d * d + 2 * d * kv + 3 * d * SHAPE.mlp
    assert counts["pre"] == counts["post"] == SHAPE.layers * (layer + 2 * d) + d + SHAPE.vocab * d
    assert counts["sandwich"] == counts["pre"] + SHAPE.layers * 2 * d
    assert counts["deepnorm"] == counts["pre"] - d


def test_the_parameters_are_the_blocks_the_boundary_and_the_head_each_once(placed):
    student = make(placed)
    groups = [student.block_parameters(block) for block in range(SHAPE.blocks)]
    groups += [student.boundary_parameters(), student.head_parameters()]
    named = [id(parameter) for group in groups for parameter in group]
    assert len(set(named)) == len(named)
    assert set(named) == {id(parameter) for parameter in student.parameters()}


def test_the_embedding_is_the_teachers_and_frozen_and_the_head_is_a_copy():
    embedding, head, norm = draws(31, 16), draws(31, 16, seed=2), draws(16, seed=3)
    kept = head.clone(), norm.clone()
    student = build_student(SHAPE, PLACED["pre"], embedding, head, norm, 0)
    assert torch.equal(student.embedding, embedding)
    student(tokens()).square().mean().backward()
    assert student.embedding.grad is None
    assert all(parameter.grad is not None for parameter in student.parameters())
    with torch.no_grad():
        for parameter in student.parameters():
            parameter.add_(1)
    assert torch.equal(head, kept[0])
    assert torch.equal(norm, kept[1])


@pytest.mark.parametrize(("entry", "final"), [(False, False), (True, False), (False, True), (True, True)])
def test_each_boundary_norm_starts_as_the_teachers_final_norm(entry, final):
    student = make(stack(PRE, entry=entry, final=final))
    norms = student.boundary_parameters()
    assert len(norms) == entry + final
    assert all(torch.equal(weight, 1 + 0.3 * draws(16, seed=3)) for weight in norms)


def test_no_token_sees_a_later_one(placed):
    student, ids = rough(make(placed)), tokens()
    other = ids.clone()
    other[:, 5:] = (other[:, 5:] + 1) % SHAPE.vocab
    with torch.no_grad():
        before, after = student(ids), student(other)
    assert torch.allclose(before[:, :5], after[:, :5], atol=1e-5)
    assert not torch.allclose(before[:, 5:], after[:, 5:], atol=1e-2)


def masked_loss(student, ids, mask):
    student.zero_grad()
    targets = mask[:, 1:]
    loss = F.cross_entropy(student(ids, mask)[:, :-1][targets], ids[:, 1:][targets])
    loss.backward()
    return loss.detach(), [parameter.grad.clone() for parameter in student.parameters()]


def test_padding_changes_neither_loss_nor_gradient(placed):
    student, ids = rough(make(placed)), tokens(time=7)
    bare, padded = torch.ones(2, 7, dtype=torch.bool), torch.zeros(2, 11, dtype=torch.bool)
    padded[:, :7] = True
    loss, gradients = masked_loss(student, ids, bare)
    for pad in (0, 30):
        found, others = masked_loss(student, F.pad(ids, (0, 4), value=pad), padded)
        assert torch.allclose(found, loss, atol=1e-6)
        for one, two in zip(gradients, others, strict=True):
            assert torch.allclose(one, two, atol=1e-5)


def test_inactive_blocks_are_skipped_and_the_final_norm_comes_last(placed):
    """Blocks 0 and 2 of a student are a student of two blocks with their weights."""
    student = rough(make(placed))
    norms = student.stack
    short = make(replace(norms, layers=norms.layers[:4]), shape=replace(SHAPE, blocks=2))
    state = {name: value for name, value in student.state_dict().items() if not name.startswith("trunk.blocks.1.")}
    short.load_state_dict({name.replace("blocks.2.", "blocks.1."): value for name, value in state.items()})
    ids = tokens()
    assert torch.equal(student(ids, active=(0, 2)), short(ids))
    assert torch.equal(student(ids, active=(0, 1, 2)), student(ids))


def test_with_no_active_block_the_boundary_alone_is_left():
    student, ids = rough(make("pre")), tokens()
    h = student.embedding[ids]
    normal = h / (h.square().mean(-1, keepdim=True) + SHAPE.eps).sqrt() * student.boundary_parameters()[0]
    assert torch.allclose(student(ids, active=()), normal @ student.head.weight.T, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "identity"), [("pre", True), ("sandwich", True), ("post", False), ("deepnorm", False)]
)
@pytest.mark.parametrize("source", [None, 0])
def test_a_silent_block_is_the_identity_only_where_no_norm_follows_the_sum(name, identity, source):
    student, ids = rough(make(name)), tokens()
    below = student(ids, active=(0, 1))
    student.reset_block(2, "zero_output", torch.Generator().manual_seed(7), source)
    assert torch.equal(student(ids, active=(0, 1, 2)), below) is identity


def test_a_silent_block_under_post_norm_is_the_identity_for_gamma_one_and_not_otherwise():
    """Norms are idempotent only with a scale of one (specification of placements, section 2.1)."""
    student, ids = rough(make("post")), tokens()
    with torch.no_grad():
        for block in (0, 1):
            for name, weight in student.trunk.blocks[block].named_parameters():
                if "norm" in name:
                    weight.fill_(1.0)
    below = student(ids, active=(0, 1))
    student.reset_block(2, "zero_output", torch.Generator().manual_seed(7))
    assert torch.allclose(student(ids), below, atol=1e-3)
    with torch.no_grad():
        student.trunk.blocks[1][1].feed_forward.norm_res.weight.copy_(1 + draws(16).abs())
    assert not torch.allclose(student(ids), student(ids, active=(0, 1)), atol=0.1)


def test_blocks_start_from_the_same_numbers_under_every_placement():
    weights = {name: dict(make(name, seed=9).trunk.blocks.named_parameters()) for name in PLACED}
    for name, weight in weights["pre"].items():
        if "norm" in name:
            continue
        gain = 1.0 if "q_proj" in name or "k_proj" in name else 0.4
        assert torch.equal(weights["post"][name], weight)
        assert torch.equal(weights["sandwich"][name], weight)
        assert torch.allclose(weights["deepnorm"][name], gain * weight)
    assert not torch.equal(*(make(seed=s).trunk.blocks[0][0].attention.function.q_proj.weight for s in (9, 10)))


def test_projections_have_deviation_two_hundredths_and_norms_one():
    shape = replace(SHAPE, width=64, mlp=128)
    student = make("sandwich", shape=shape).requires_grad_(False)
    for name, weight in student.trunk.blocks.named_parameters():
        if "norm" in name:
            assert torch.equal(weight, torch.ones(64))
        else:
            assert abs(float(weight.std()) - 0.02) < 0.001
            assert abs(float(weight.mean())) < 0.002


def test_a_reset_touches_its_block_alone_and_repeats():
    student = rough(make("post"))
    before = {name: value.clone() for name, value in student.state_dict().items()}
    results = []
    for seed in (3, 3, 4):
        student.reset_block(1, "random", torch.Generator().manual_seed(seed))
        results.append(torch.cat([p.detach().flatten() for p in student.block_parameters(1)]))
    changed = {name for name, value in student.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {name for name in before if name.startswith("trunk.blocks.1.")}
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_a_copy_equals_its_source_and_goes_its_own_way():
    student = rough(make("deepnorm"))
    student.reset_block(2, "copy", torch.Generator(), source=0)
    pairs = list(zip(student.block_parameters(0), student.block_parameters(2), strict=True))
    assert all(torch.equal(one, two) for one, two in pairs)
    with torch.no_grad():
        pairs[0][0].add_(1)
    assert not torch.equal(*pairs[0])


def test_a_silent_copy_keeps_all_but_the_last_projections():
    student = rough(make("pre"))
    student.reset_block(2, "zero_output", torch.Generator(), source=0)
    source, target = (dict(student.trunk.blocks[block].named_parameters()) for block in (0, 2))
    for name, weight in target.items():
        silent = name.endswith(("o_proj.weight", "down_proj.weight"))
        assert torch.equal(weight, torch.zeros_like(weight) if silent else source[name])


def test_wrong_calls_cost_one_line():
    student, generator = make(), torch.Generator()
    with pytest.raises(ProtocolError, match="13 tokens do not fit into a context of 12"):
        student(tokens(time=13))
    with pytest.raises(ProtocolError, match="on the right of padding"):
        student(tokens(), torch.tensor([[False] + [True] * 8] * 2))
    for wrong in (3, -1):
        with pytest.raises(ProtocolError, match=f"no block {wrong}"):
            student(tokens(), active=(0, wrong))
        with pytest.raises(ProtocolError, match=f"no block {wrong}"):
            student.reset_block(wrong, "random", generator)
    with pytest.raises(UsageError, match="as a copy"):
        student.reset_block(1, "copy", generator)
    with pytest.raises(UsageError, match="no block starts as 'zero'"):
        student.reset_block(1, "zero", generator)


def test_a_teacher_that_does_not_fit_costs_one_line():
    embedding, head, norm = draws(31, 16), draws(31, 16), draws(16)
    with pytest.raises(UsageError, match=r"vocabularies differ: the teacher's embedding has 30 tokens, the student 31"):
        build_student(SHAPE, PLACED["pre"], embedding[:30], head, norm, 0)
    with pytest.raises(UsageError, match=r"the teacher's head has 30"):
        build_student(SHAPE, PLACED["pre"], embedding, head[:30], norm, 0)
    with pytest.raises(UsageError, match="embedding has width 8, the student 16"):
        build_student(SHAPE, PLACED["pre"], embedding[:, :8], head, norm, 0)
    with pytest.raises(UsageError, match="final norm has width 8"):
        build_student(SHAPE, PLACED["pre"], embedding, head, norm[:8], 0)
    with pytest.raises(ProtocolError, match="describes 5 layers, the student has 6"):
        build_student(SHAPE, stack(PRE, layers=5), embedding, head, norm, 0)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"heads": 3}, "even number"),
        ({"heads": 16}, "even number"),
        ({"kv_heads": 3}, "share"),
        ({"mlp": 0}, "below 1"),
    ],
)
def test_sizes_that_do_not_fit_each_other_are_refused(change, match):
    with pytest.raises(UsageError, match=match):
        replace(SHAPE, **change)


def test_mixed_precision_stays_near_single(placed):
    student, ids = rough(make(placed), size=0.1), tokens()
    with torch.no_grad():
        single = student(ids)
        with torch.autocast("cpu", torch.bfloat16):
            mixed = student(ids)
    assert float((mixed - single).norm() / single.norm()) < 0.03
