"""GGUF files: the weights and ids that they hold, as a folder of safetensors; nothing is filled in."""

from __future__ import annotations

import importlib.util
import json
import os
import zipfile

import numpy as np
import pytest
import safetensors.torch
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from benchsuite.errors import MissingDataError, StoreError, UsageError
from benchsuite.models.zoo import checkpoints
from benchsuite.models.zoo.importing import import_checkpoint

WORDS = [chr(33 + place) for place in range(63)]
NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
}  # fmt: skip


@pytest.fixture
def gguf():
    return pytest.importorskip("gguf", reason="the extra gguf is not installed")


@pytest.fixture
def root(tmp_path):
    return tmp_path / "data"


def llama(**fields):
    """Return a Llama with random weights, scales among them."""
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    config = LlamaConfig(**sizes, vocab_size=len(WORDS) + 1, **{"tie_word_embeddings": False, **fields})
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = LlamaForCausalLM(config).eval()
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.data.uniform_(0.5, 2)
    return model


def write_gguf(gguf, model, path, without="nothing", dtype=np.float32):
    """Write ``model`` with the names of llama.cpp, which rotates in pairs: rows of query and key are in its order."""
    config = model.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(64)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([*WORDS, WORDS[40] + WORDS[41]])
    writer.add_token_types([1] * config.vocab_size)
    writer.add_token_merges([f"{WORDS[40]} {WORDS[41]}"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    for name, tensor in model.state_dict().items():
        if without in name or (config.tie_word_embeddings and "lm_head" in name):
            continue
        known = next(key for key in NAMES if name.removesuffix(".weight").endswith(key))
        layer = f"blk.{name.split('.')[2]}." if ".layers." in name else ""
        array = tensor.numpy().astype(dtype if tensor.dim() > 1 else np.float32)
        if known in ("self_attn.q_proj", "self_attn.k_proj"):
            heads = config.num_attention_heads
            array = array.reshape(heads, 2, len(array) // heads // 2, -1).swapaxes(1, 2).reshape(array.shape)
        writer.add_tensor(f"{layer}{NAMES[known]}.weight", array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("tied", [False, True])
def test_a_gguf_file_becomes_float32_safetensors(gguf, root, tmp_path, tied):
    model = llama(tie_word_embeddings=tied)
    path = write_gguf(gguf, model, tmp_path / "tiny.gguf")
    with zipfile.ZipFile(tmp_path / "tiny-1.0.zip", "w") as archive:
        archive.write(path, "tiny/tiny.gguf")
    target = import_checkpoint(tmp_path / "tiny-1.0.zip", root, "tiny")
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= {file.name for file in target.iterdir()}
    assert not list(target.glob("*.gguf"))
    # A data folder may be shared: the weights are as readable as the rest.
    assert len({file.stat().st_mode for file in target.iterdir()}) == 1
    weights = safetensors.torch.load_file(target / "model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float32}
    assert all(torch.equal(weights[name], model.state_dict()[name]) for name in weights)
    assert "quantization_config" not in json.loads((target / "config.json").read_text())
    tokens = torch.arange(8)[None]
    read = LlamaForCausalLM.from_pretrained(target)
    torch.testing.assert_close(read(tokens).logits, model(tokens).logits, atol=1e-5, rtol=0)
    # Of its one merge the last token is made.
    assert checkpoints.encode(target, WORDS[40] + WORDS[41] + WORDS[50], 8) == [len(WORDS), 50]


def test_a_gguf_file_may_lie_by_itself(gguf, root, tmp_path, capfd):
    write_gguf(gguf, llama(), tmp_path / "tiny.gguf")
    assert (import_checkpoint(tmp_path / "tiny.gguf", root, "tiny") / "model.safetensors").is_file()
    # The library's progress bar is not ours.
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("without", ["model.norm", "model.layers.0.mlp.up_proj"])
def test_weights_that_lack_are_not_filled_in(gguf, root, tmp_path, without):
    write_gguf(gguf, llama(), tmp_path / "tiny.gguf", without)
    with pytest.raises(MissingDataError, match=rf"tiny\.gguf lacks 1 weights of its model: {without}\.weight"):
        import_checkpoint(tmp_path / "tiny.gguf", root, "tiny")
    assert list((root / "models").iterdir()) == []


def test_a_gguf_file_that_is_damaged_is_one_line(gguf, root, tmp_path):
    path = write_gguf(gguf, llama(), tmp_path / "tiny.gguf")
    size = path.stat().st_size
    for share in (0.7, 0.01, 0.0):
        os.truncate(path, int(size * share))
        with pytest.raises(MissingDataError, match=r"tiny\.gguf cannot be read: .*Get it again") as caught:
            import_checkpoint(path, root, "tiny")
        assert "\n" not in str(caught.value)
    path.write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(MissingDataError, match=r"tiny\.gguf cannot be read"):
        import_checkpoint(path, root, "tiny")
    assert list((root / "models").iterdir()) == []


def test_a_disk_that_fills_up_in_the_conversion_is_one_line(gguf, root, tmp_path, full_disk):
    """In float16 the file has half the bytes of what is made of it, so it is copied and its weights are not saved."""
    path = write_gguf(gguf, llama(), tmp_path / "tiny.gguf", dtype=np.float16)
    with (
        full_disk(path.stat().st_size),
        pytest.raises(StoreError, match=r"cannot be written: .*Mend the folder or the"),
    ):
        import_checkpoint(path, root, "tiny")
    assert list((root / "models").iterdir()) == []


@pytest.mark.parametrize("absent", ["gguf", "accelerate"])
def test_without_the_libraries_the_extra_is_named(root, tmp_path, monkeypatch, absent):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == absent else find(name))
    (tmp_path / "any.gguf").write_bytes(b"GGUF")
    if absent == "accelerate":
        pytest.importorskip("gguf", reason="the extra gguf is not installed, and its lack is said first")
    with pytest.raises(UsageError) as caught:
        import_checkpoint(tmp_path / "any.gguf", root, "any")
    assert str(caught.value) == (
        f"any.gguf is a GGUF file, which needs the library {absent}. Run: pip install 'benchsuite[gguf]'"
    )
    assert list((root / "models").iterdir()) == []
