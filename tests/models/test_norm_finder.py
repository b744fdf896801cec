"""The final norm is found, classified and read by what it does: on 70 architectures, and on modules that are none."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from benchsuite.contracts.probe import NotApplicableError
from benchsuite.models.norms import examine, find_final_norm, outputs_at
from benchsuite.models.norms.trace import trace
from benchsuite.models.zoo.build import LARGEST, SMALLEST, build, feed, perturb, random_scale
from benchsuite.models.zoo.families import FAMILIES, family_of
from benchsuite.models.zoo.family import Size

SIZE = Size()
D = 24


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def made(name, seed=0):
    family = family_of(name)
    model = build(family, SIZE, seed)
    perturb(model, family, SIZE, generator(1))
    return family, model


def scaled(norm, gamma):
    with torch.no_grad():
        norm.weight.copy_(gamma)
    return norm


class Rms(nn.Module):
    """RMSNorm with a scale of ``1 + w``, as Gemma has it."""

    def __init__(self, width):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return (1 + self.w) * x / x.square().mean(-1, keepdim=True).sqrt()


class Stack(nn.Module):
    """Residual layers before an optional norm; not of transformers."""

    def __init__(self, norm=None, last=None):
        super().__init__()
        self.norms = nn.ModuleList([norm() for _ in range(2)] if norm else [nn.Tanh(), nn.Tanh()])
        self.layers = nn.ModuleList(nn.Linear(D, D) for _ in self.norms)
        self.last = last or nn.Identity()

    def forward(self, x):
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = x + layer(norm(x))
        return self.last(x)


# Architectures of transformers


def test_the_table_holds_more_than_forty_architectures():
    assert len({family.architecture for family in FAMILIES.values()}) >= 70
    assert {family.kind for family in FAMILIES.values()} == {"layer", "rms"}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_final_norm_is_found_classified_and_read(name):
    family, model = made(name)
    found = find_final_norm(model, feed(family, SIZE, 1, generator(2)))
    assert (found.norm.path, found.examination.nature) == (family.path(SIZE), family.kind)
    assert found.norm.evidence == ("order" if family.by_order else "output")
    if family.offset is None:
        gamma = torch.ones(found.norm.width)
    else:
        gamma = model.get_submodule(family.path(SIZE)).weight.detach() + family.offset
    torch.testing.assert_close(found.examination.gamma, gamma.double(), atol=1e-5, rtol=0)


def test_a_path_may_name_another_norm():
    family, model = made("modernbert-decoder")
    inputs = feed(family, SIZE, 1, generator(2))
    assert find_final_norm(model, inputs).norm.path == "model.final_norm"
    head = find_final_norm(model, inputs, "lm_head.norm")
    assert (head.norm.path, head.norm.evidence, head.norm.width) == ("lm_head.norm", "given", SIZE.width)


def test_a_wrong_path_is_refused_with_the_reason():
    family, model = made("gpt2")
    inputs = feed(family, SIZE, 1, generator(2))
    for path, reason in (
        ("transformer.ln_x", "no module"),
        ("lm_head", "does not map"),
        ("transformer.drop", "is no norm: its output changes when its input grows"),
    ):
        with pytest.raises(NotApplicableError, match=reason):
            find_final_norm(model, inputs, path)


def test_finding_leaves_no_trace():
    family, model = made("gpt2")
    before = copy.deepcopy(model.state_dict())
    torch.manual_seed(3)
    drawn = torch.rand(1)
    torch.manual_seed(3)
    find_final_norm(model, feed(family, SIZE, 1, generator(2)))
    assert torch.rand(1) == drawn
    assert not any(module._forward_hooks for module in model.modules())
    assert all(torch.equal(tensor, model.state_dict()[name]) for name, tensor in before.items())


def test_the_same_seed_builds_the_same_model_and_leaves_the_global_stream():
    torch.manual_seed(3)
    one, other = made("gpt2")[1], made("gpt2")[1]
    another = made("gpt2", seed=1)[1]
    state = one.state_dict()
    assert all(torch.equal(tensor, state[name]) for name, tensor in other.state_dict().items())
    assert not torch.equal(another.state_dict()["lm_head.weight"], state["lm_head.weight"])
    assert torch.rand(1) == torch.rand(1, generator=generator(3))


def test_a_perturbed_scale_has_both_signs_and_tells_its_inverse_from_itself():
    gamma = random_scale(96, generator())
    assert gamma[0] < 0 < gamma.max()
    assert SMALLEST <= gamma.abs().min() < gamma.abs().max() <= LARGEST
    cosine = torch.cosine_similarity(gamma, 1 / gamma, dim=0)
    assert cosine < 0.9


# Models of other kinds


def test_a_model_without_a_norm_says_so():
    with pytest.raises(NotApplicableError, match=r"none of the \d modules that could be a norm is one"):
        find_final_norm(Stack(), {"x": torch.randn(3, D)})


def test_a_model_without_small_modules_says_so():
    with pytest.raises(NotApplicableError, match="no small module"):
        find_final_norm(nn.Sequential(nn.Linear(D, D)), {"input": torch.randn(3, D)})


def test_a_plain_module_is_searched_too():
    model = Stack(lambda: nn.LayerNorm(D), nn.RMSNorm(D))
    found = find_final_norm(model, {"x": torch.randn(3, D)})
    assert (found.norm.path, found.norm.evidence, found.examination.nature) == ("last", "output", "rms")


def test_without_a_norm_at_the_end_the_last_one_is_marked_by_order():
    found = find_final_norm(Stack(lambda: nn.LayerNorm(D)), {"x": torch.randn(3, D)})
    assert (found.norm.path, found.norm.evidence) == ("norms.1", "order")


def test_a_trace_knows_when_the_trunk_returned():
    family, model = made("bert-mlm")
    seen = trace(model, feed(family, SIZE, 1, generator(2)))
    after = [call.path for call in seen.calls if call.order > seen.end]
    assert "cls.predictions.transform.LayerNorm" in after
    assert all(path.startswith("cls.") for path in after)
    assert seen.trunk.shape == (1, 16, SIZE.width)


def test_activations_are_taken_at_the_last_call_of_a_shared_module():
    family, model = made("albert")
    batch = feed(family, SIZE, 2, generator(2))
    with torch.no_grad():
        wanted = model(**batch).last_hidden_state.reshape(-1, SIZE.width)
    assert torch.equal(outputs_at(model, family.path(SIZE), [batch]), wanted)
    with pytest.raises(ValueError, match="did not run"):
        outputs_at(Stack(), "norms", [{"x": torch.randn(2, D)}])


# Single modules


@pytest.mark.parametrize("eps", [1e-12, 1e-5, 1e-3])
@pytest.mark.parametrize("affine", [True, False])
def test_layer_norm(eps, affine):
    result = examine(nn.LayerNorm(D, eps=eps, elementwise_affine=affine), D)
    assert result.nature == "layer"
    torch.testing.assert_close(result.gamma, torch.ones(D, dtype=torch.float64), atol=1e-5, rtol=0)


@pytest.mark.parametrize("norm", [nn.LayerNorm(D), nn.RMSNorm(D), nn.LayerNorm(D, bias=False)])
def test_zeros_and_signs_of_the_scale_are_read(norm):
    gamma = random_scale(D, generator())
    gamma[[3, 7]] = 0
    result = examine(scaled(norm, gamma), D)
    assert result.is_norm
    torch.testing.assert_close(result.gamma, gamma.double(), atol=1e-5, rtol=0)


def test_a_scale_of_one_plus_w_is_read_as_it_acts():
    norm = Rms(D)
    with torch.no_grad():
        norm.w.copy_(torch.linspace(-1, 2, D))
    result = examine(norm, D)
    assert result.nature == "rms"
    torch.testing.assert_close(result.gamma, torch.linspace(0, 3, D).double(), atol=1e-5, rtol=0)


def test_a_bias_is_read_though_it_costs_the_output_digits():
    norm = nn.LayerNorm(D)
    with torch.no_grad():
        norm.bias.copy_(100 * torch.arange(D))
    result = examine(norm, D)
    assert result.nature == "layer"
    torch.testing.assert_close(result.beta, 100 * torch.arange(D).double(), atol=1e-3, rtol=0)


def test_a_half_precision_scale_is_read_as_the_forward_uses_it():
    gamma = random_scale(D, generator())
    result = examine(scaled(nn.LayerNorm(D), gamma).bfloat16(), D)
    rounded = gamma.bfloat16().double()
    assert (result.gamma - rounded).abs().max() < 1e-5 < (gamma.double() - rounded).abs().max()


class DynamicTanh(nn.Module):
    def forward(self, x):
        return torch.tanh(0.5 * x)


class Constant(nn.Module):
    def forward(self, x):
        return torch.ones_like(x)


class NotFinite(nn.Module):
    def forward(self, x):
        return x / 0


class Sign(nn.Module):
    """Forgets the size of its input, and is no norm all the same."""

    def forward(self, x):
        return torch.sign(x - x.mean(-1, keepdim=True))


class Recentred(nn.Module):
    """Centres without scaling."""

    def forward(self, x):
        return x - x.mean(-1, keepdim=True)


class Mixing(nn.Module):
    """A norm whose output is then shuffled between features: scale and shift tests pass, the formula does not."""

    def forward(self, x):
        return nn.functional.layer_norm(x, x.shape[-1:]).roll(1, -1)


@pytest.mark.parametrize(
    ("module", "nature", "reason"),
    [
        (nn.Identity(), "none", "grows"),
        (nn.Linear(D, D), "none", "grows"),
        (nn.Linear(D, D, bias=False), "none", "grows"),
        (nn.Linear(D, 3), "none", "same shape"),
        (nn.Tanh(), "none", "grows"),
        (nn.Softmax(-1), "none", "grows"),
        (DynamicTanh(), "none", "grows"),
        (Recentred(), "none", "grows"),
        (Sign(), "none", "unexplained"),
        (Mixing(), "none", "unexplained"),
        (Constant(), "unclassified", "does not depend"),
        (NotFinite(), "unclassified", "not finite"),
        (nn.BatchNorm1d(D), "batch-coupled", "other rows"),
        (nn.BatchNorm1d(D).eval(), "none", "grows"),
        (nn.Bilinear(D, D, D), "none", "cannot be called with one matrix"),
        (nn.GroupNorm(1, D), "layer", "centres"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else None,
)
def test_what_is_a_norm_and_what_is_not(module, nature, reason):
    result = examine(module, D)
    assert (result.nature, reason in result.reason) == (nature, True), result.reason


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_norms_over_whole_graphs_are_not_norms_of_rows():
    from torch_geometric.nn import GraphNorm, LayerNorm, PairNorm

    assert examine(LayerNorm(D), D).nature == "batch-coupled"
    assert examine(GraphNorm(D), D).nature == "batch-coupled"
    assert examine(PairNorm(), D).nature == "batch-coupled"
    assert examine(LayerNorm(D, mode="node"), D).nature == "layer"


def test_batch_norm_is_not_changed_by_the_examination():
    norm = nn.BatchNorm1d(D)
    examine(norm, D)
    assert norm.num_batches_tracked == 0
    assert norm.running_mean.abs().max() == 0
