"""The parts of a decoder layer against formulas written out, and the whole against transformers' Llama."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.contracts.norm_placement import LayerNorms, StackNorms
from benchsuite.models.student import StudentShape, build_student
from benchsuite.models.student.layers import Attention, Branch, FeedForward, RMSNorm, Rotary
from benchsuite.models.zoo.build import quiet, transformers

SHAPE = StudentShape(
    vocab=37, width=24, heads=6, kv_heads=2, mlp=40, blocks=2, layers_per_block=2, context=16, rope_theta=777.0
)


def test_rms_norm_by_hand():
    norm = RMSNorm(2, eps=0.0)
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([2.0, -1.0]))
    # mean((3, 4)^2) = 12.5
    expected = torch.tensor([[6.0, -4.0]]) / math.sqrt(12.5)
    assert torch.allclose(norm(torch.tensor([[3.0, 4.0]])), expected)


@given(scale=st.floats(1e-3, 1e3), eps=st.sampled_from([1e-6, 1e-5, 1e-2]))
def test_a_scale_before_the_norm_is_a_smaller_epsilon(scale, eps):
    """N_eps(s x) = N_{eps / s^2}(x), here in float32."""
    x = torch.randn(5, 8, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(RMSNorm(8, eps)(scale * x), RMSNorm(8, eps / scale**2)(x), rtol=1e-4, atol=1e-6)


def test_a_half_precision_norm_computes_in_single():
    """The squares of 300 features of 300 do not fit into float16, whose largest number is 65,504."""
    x = torch.full((1, 300), 300.0, dtype=torch.float16)
    out = RMSNorm(300, 1e-5).half()(x)
    assert out.dtype == torch.float16
    assert torch.allclose(out.float(), torch.ones(1, 300), atol=1e-3)


def test_a_rotation_keeps_lengths_and_its_product_depends_on_the_distance_alone():
    rotary = Rotary(SHAPE)
    q, k = (torch.randn(4, generator=torch.Generator().manual_seed(seed)) for seed in (0, 1))
    turned_q, turned_k = (rotary(each.expand(1, 1, 16, 4))[0, 0] for each in (q, k))
    assert torch.allclose(turned_q.norm(dim=-1), q.norm().expand(16), atol=1e-5)
    products = turned_q @ turned_k.T
    for distance in range(-5, 6):
        diagonal = products.diagonal(distance)
        assert torch.allclose(diagonal, diagonal[0].expand_as(diagonal), atol=1e-4)
    assert torch.allclose(turned_q[0], q)


def test_a_rotation_by_hand():
    """At position 1 the pair (0, 2) turns by 1 and the pair (1, 3) by theta^(-1/2)."""
    out = Rotary(SHAPE)(torch.tensor([1.0, 1.0, 0.0, 0.0]).expand(1, 1, 2, 4))[0, 0, 1]
    slow = 777.0**-0.5
    assert torch.allclose(out, torch.tensor([math.cos(1), math.cos(slow), math.sin(1), math.sin(slow)]))


def attention_by_hand(module, x, shape):
    """Grouped-query attention of one sequence ``[time, width]``, head by head and position by position, in float64."""
    wide = {name: weight.double() for name, weight in module.named_parameters()}
    q, k, v = (x @ wide[f"{name}_proj.weight"].T for name in "qkv")
    size, out = shape.head_width, []
    turn = lambda part: module.rotary(part.float()[None, None])[0, 0].double()  # noqa: E731
    for head in range(shape.heads):
        group = head // (shape.heads // shape.kv_heads)
        ours = turn(q[:, head * size : (head + 1) * size])
        keys, values = turn(k[:, group * size : (group + 1) * size]), v[:, group * size : (group + 1) * size]
        rows = [torch.softmax(ours[t] @ keys[: t + 1].T / math.sqrt(size), -1) @ values[: t + 1] for t in range(len(x))]
        out.append(torch.stack(rows))
    return torch.cat(out, -1) @ wide["o_proj.weight"].T


def test_attention_by_hand():
    torch.manual_seed(0)
    module, x = Attention(SHAPE, Rotary(SHAPE)), torch.randn(2, 7, 24)
    expected = torch.stack([attention_by_hand(module, each.double(), SHAPE) for each in x])
    assert torch.allclose(module(x).double(), expected, atol=1e-5)


def test_feed_forward_by_hand():
    shape = replace(SHAPE, width=2, heads=1, kv_heads=1, mlp=1)
    module = FeedForward(shape)
    with torch.no_grad():
        module.gate_proj.weight.copy_(torch.tensor([[1.0, 0.0]]))
        module.up_proj.weight.copy_(torch.tensor([[0.0, 3.0]]))
        module.down_proj.weight.copy_(torch.tensor([[1.0], [-2.0]]))
    inside = 2 / (1 + math.exp(-2)) * 15
    assert torch.allclose(module(torch.tensor([[[2.0, 5.0]]])), torch.tensor([[[inside, -2 * inside]]]))


def norm_by_hand(x, weight, placed):
    return weight * x / (x.square().mean(-1, keepdim=True) + SHAPE.eps).sqrt() if placed else x


@settings(deadline=None, max_examples=40)
@given(
    norms=st.builds(
        LayerNorms,
        norm_in=st.booleans(),
        norm_out=st.booleans(),
        norm_res=st.booleans(),
        alpha=st.sampled_from([1.0, 0.5, 2.8]),
        beta=st.sampled_from([1.0, 0.0, -0.7]),
    )
)
def test_a_branch_is_the_one_formula(norms):
    torch.manual_seed(0)
    function, h = FeedForward(SHAPE), torch.randn(2, 3, 24)
    branch = Branch(function, norms, SHAPE)
    scales = {}
    for name in ("norm_in", "norm_out", "norm_res"):
        part = getattr(branch, name)
        assert isinstance(part, RMSNorm) is getattr(norms, name)
        scales[name] = torch.randn(24)
        if isinstance(part, RMSNorm):
            part.weight.data.copy_(scales[name])
    update = norm_by_hand(
        function(norm_by_hand(h, scales["norm_in"], norms.norm_in)), scales["norm_out"], norms.norm_out
    )
    expected = norm_by_hand(norms.alpha * h + norms.beta * update, scales["norm_res"], norms.norm_res)
    assert torch.allclose(branch(h), expected, atol=1e-5)


def llama():
    """Return a Llama of SHAPE with weights that are neither small nor one."""
    with quiet():
        config = transformers().LlamaConfig(
            vocab_size=SHAPE.vocab,
            hidden_size=SHAPE.width,
            intermediate_size=SHAPE.mlp,
            num_hidden_layers=SHAPE.layers,
            num_attention_heads=SHAPE.heads,
            num_key_value_heads=SHAPE.kv_heads,
            max_position_embeddings=SHAPE.context,
            rms_norm_eps=SHAPE.eps,
            rope_parameters={"rope_type": "default", "rope_theta": SHAPE.rope_theta},
            tie_word_embeddings=False,
        )
        model = transformers().LlamaForCausalLM(config)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    return model.eval()


#: Where transformers keeps what the student calls otherwise.
NAMES = {
    "attention.function.": "self_attn.",
    "attention.norm_in.": "input_layernorm.",
    "feed_forward.function.": "mlp.",
    "feed_forward.norm_in.": "post_attention_layernorm.",
}


def theirs(name):
    """Return the name in transformers of one of the student's parameters."""
    if not name.startswith("trunk.blocks."):
        return {"head.weight": "lm_head.weight", "trunk.final.weight": "model.norm.weight"}[name]
    block, layer, rest = name.removeprefix("trunk.blocks.").split(".", 2)
    start = next(start for start in NAMES if rest.startswith(start))
    return f"model.layers.{int(block) * SHAPE.layers_per_block + int(layer)}.{NAMES[start]}{rest.removeprefix(start)}"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_pre_norm_student_is_a_llama():
    """Logits to 1e-5 and every gradient, with grouped queries and another base of the rotation."""
    model = llama()
    weights = dict(model.named_parameters())
    pre = LayerNorms(norm_in=True)
    norms = StackNorms(((pre, pre),) * SHAPE.layers, entry=False, final=True)
    embedding, head = weights["model.embed_tokens.weight"], weights["lm_head.weight"]
    student = build_student(SHAPE, norms, embedding, head, weights["model.norm.weight"], seed=0)
    with torch.no_grad():
        for name, parameter in student.named_parameters():
            parameter.copy_(weights[theirs(name)])
    tokens = torch.randint(SHAPE.vocab, (3, 13), generator=torch.Generator().manual_seed(2))
    ours, others = student(tokens), model(input_ids=tokens).logits
    assert float(others.detach().std()) > 0.3
    assert torch.allclose(ours, others, atol=1e-5, rtol=1e-5)
    ours.square().mean().backward()
    others.square().mean().backward()
    for name, parameter in student.named_parameters():
        assert torch.allclose(parameter.grad, weights[theirs(name)].grad, atol=1e-5, rtol=1e-3), name
