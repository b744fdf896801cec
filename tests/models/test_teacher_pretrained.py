"""Teachers from folders: transformers models of several families, and stories260K."""

from __future__ import annotations

import json

import pytest
import torch
from torch.nn import functional as F

from benchsuite.data.text import TokenisedText, load_tokenizer
from benchsuite.errors import MissingDataError, ProtocolError
from benchsuite.models.teacher import load_teacher, tokenizer_file
from benchsuite.models.zoo.build import quiet, transformers

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

VOCAB = 40
TEXT = TokenisedText([[1, 2, 3]], vocab=36, pad=0)
SIZES = {
    "vocab_size": VOCAB,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "max_position_embeddings": 20,
}


def build(family, **settings):
    """Return a small random model whose final norm has a scale that is not one."""
    with quiet():
        config = getattr(transformers(), f"{family}Config")(**SIZES, **settings)
        torch.manual_seed(0)
        model = getattr(transformers(), f"{family}ForCausalLM")(config).eval()
    with torch.no_grad():
        model.model.norm.weight.copy_(torch.linspace(0.5, 2.0, 16))
    return model


@pytest.fixture
def save(tmp_path):
    """Return a function that saves a model and returns the spec of its folder."""

    def save(model, name="model"):
        with quiet():
            model.save_pretrained(tmp_path / name)
        return f"local:{tmp_path / name}"

    return save


def load(spec, text=TEXT, data=None, **options):
    return load_teacher(spec, data, None, text, **options)


@pytest.mark.parametrize("tied", [False, True])
def test_logits_and_tensors_are_the_models_cut_to_the_tokenizer(save, tied):
    """Qwen3 pads its head: rows behind the tokenizer's vocabulary must not get probability."""
    model = build(
        "Qwen3",
        tie_word_embeddings=tied,
        rms_norm_eps=1e-3,
        rope_parameters={"rope_theta": 5e5, "rope_type": "default"},
    )
    teacher = load(save(model))
    ids = torch.randint(36, (2, 9), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = model(input_ids=ids).logits
    logits = teacher.logits(F.pad(ids, (0, 3)), F.pad(torch.ones_like(ids).bool(), (0, 3)))
    assert logits.shape == (2, 12, 36)
    assert torch.allclose(logits[:, :9], expected[..., :36], atol=1e-5)
    assert torch.equal(teacher.embedding, model.get_input_embeddings().weight[:36])
    assert torch.equal(teacher.head, model.lm_head.weight[:36])
    assert torch.allclose(teacher.norm, torch.linspace(0.5, 2.0, 16), atol=1e-5)
    assert (teacher.vocab, teacher.context, teacher.eps, teacher.rope_theta) == (36, 20, 1e-3, 5e5)
    assert not any(parameter.requires_grad for parameter in teacher.module.parameters())


def test_a_scale_that_is_stored_less_one_is_read_as_it_acts(save):
    teacher = load(save(build("Gemma")))
    assert torch.allclose(teacher.norm, 1 + torch.linspace(0.5, 2.0, 16), atol=1e-4)


def test_half_precision_is_the_models_and_not_the_students(save):
    teacher = load(save(build("Llama")), dtype=torch.bfloat16)
    assert {parameter.dtype for parameter in teacher.module.parameters()} == {torch.bfloat16}
    assert {t.dtype for t in (teacher.embedding, teacher.head, teacher.norm)} == {torch.float32}
    assert teacher.logits(torch.ones(1, 4, dtype=torch.int64)).dtype == torch.float32


def test_the_digest_is_of_the_weights(save):
    model = build("Llama")
    digest = load(save(model)).digest
    assert load(save(model, "again/model")).digest == digest
    with torch.no_grad():
        model.model.norm.weight[0] += 1
    assert load(save(model, "other/model")).digest != digest


def test_a_teacher_that_does_not_fit_costs_one_line(save, tmp_path):
    spec = save(build("Llama"))
    with pytest.raises(ProtocolError, match=r"vocabularies differ: the tokenizer has 41 tokens, teacher '.*' 40"):
        load(spec, TokenisedText([[1, 2]], vocab=41, pad=0))
    with pytest.raises(ProtocolError, match=r"final norm of teacher '.*', model\.norm, is no RMSNorm"):
        load(save(build("StableLm"), "layer"))
    (tmp_path / "model" / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(MissingDataError, match="cannot be loaded"):
        load(spec)
    with pytest.raises(MissingDataError, match="there is no checkpoint in"):
        load(f"local:{tmp_path}/none")


def test_a_checkpoint_without_all_its_weights_is_refused(save, tmp_path):
    from safetensors.torch import load_file, save_file

    spec, path = save(build("Llama")), tmp_path / "model" / "model.safetensors"
    state = load_file(path)
    del state["model.layers.1.mlp.up_proj.weight"]
    save_file(state, path, metadata={"format": "pt"})
    with pytest.raises(MissingDataError, match=r"lacks 1 weights: model\.layers\.1\.mlp\.up_proj\.weight"):
        load(spec)


def test_a_hub_name_is_looked_for_here_and_nothing_is_downloaded(save, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("a run must not use the network"))
    with pytest.raises(MissingDataError, match="teacher 'owner/absent' is neither in BENCHSUITE_DATA") as caught:
        load("hub:owner/absent", data=tmp_path)
    assert "hf download owner/absent" in caught.value.mend
    assert "\n" not in str(caught.value)
    save(build("Llama"), "models/owner/present")
    assert load("hub:owner/present", data=tmp_path).name == "hub:owner/present"
    assert tokenizer_file("hub:owner/present", tmp_path) == tmp_path / "models/owner/present/tokenizer.json"


def test_a_folders_tokenizer_is_read_beside_its_model(save, tmp_path):
    import tokenizers

    spec = save(build("Llama"))
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<s>": 0, "a": 1, "b": 2, "?": 3}, unk_token="?"))
    core.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    core.save(str(tmp_path / "model" / "tokenizer.json"))
    (tmp_path / "model" / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<s>"}), encoding="utf-8")
    tokenizer = load_tokenizer(tokenizer_file(spec, None))
    assert tokenizer.documents(["a b"]) == [[0, 1, 2]]


@pytest.mark.data
def test_stories260k_tells_stories(data_root):
    if not (data_root / "stories260K").is_dir():
        pytest.skip("BENCHSUITE_DATA has no stories260K")
    tokenizer = load_tokenizer(tokenizer_file("stories260k", data_root))
    story = "Once upon a time, there was a little girl named Lily. She loved to play outside in the park."
    (ids,) = tokenizer.documents([story])
    teacher = load_teacher("stories260k", data_root, None, TokenisedText([ids], tokenizer.vocab, tokenizer.pad))
    tokens = torch.tensor([ids])
    assert float(F.cross_entropy(teacher.logits(tokens)[0, :-1], tokens[0, 1:])) < 0.6
    assert (teacher.vocab, teacher.width, teacher.context, teacher.rope_theta) == (512, 64, 512, 10000.0)
