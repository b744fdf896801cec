"""Checkpoints from archives: taken whole or not at all, and nothing hostile is taken."""

from __future__ import annotations

import shutil
import tarfile
import zipfile

import pytest
import torch
from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM

from benchsuite.errors import MissingDataError, StoreError, UsageError
from benchsuite.models.zoo import checkpoints
from benchsuite.models.zoo.importing import import_checkpoint

SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 64}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A folder as transformers saves it, with two files that are not wanted."""
    folder = tmp_path_factory.mktemp("bert")
    torch.manual_seed(0)
    BertModel(BertConfig(**SMALL)).save_pretrained(folder)
    (folder / "README.md").write_text("about it")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    return folder


@pytest.fixture
def root(tmp_path):
    return tmp_path / "data"


def zipped(model, path, inside="package/model"):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("package/__init__.py", "raise SystemExit('it was run')")
        for file in model.iterdir():
            archive.write(file, f"{inside}/{file.name}")
    return path


def taped(model, path, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        archive.add(model, "deep/er/model")
    return path


@pytest.mark.parametrize("form", ["folder", "whl", "zip", "tar", "tar.gz", "tar.xz"])
def test_a_checkpoint_is_taken_from_each_form(model, root, tmp_path, form):
    path = tmp_path / f"archive.{form}"
    if form == "folder":
        shutil.copytree(model, path / "sub")
    elif form in ("whl", "zip"):
        zipped(model, path)
    else:
        taped(model, path, f"w:{form.partition('.')[2]}")
    target = import_checkpoint(path, root, "mine")
    assert target == root / "models" / "mine"
    assert sorted(file.name for file in target.iterdir()) == ["config.json", "model.safetensors", "tokenizer.json"]
    ours, theirs = checkpoints.load(target).state_dict(), BertModel.from_pretrained(model).state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert [each.name for each in (root / "models").iterdir()] == ["mine"]


def test_a_gguf_file_becomes_float32_safetensors(root, tmp_path):
    gguf = pytest.importorskip("gguf", reason="the extra gguf is not installed")
    torch.manual_seed(0)
    config = LlamaConfig(**{**SMALL, "hidden_size": 32, "intermediate_size": 64}, tie_word_embeddings=False)
    model = LlamaForCausalLM(config).eval()
    path = tmp_path / "tiny.gguf"
    write_gguf(gguf, model, config, path)
    with zipfile.ZipFile(tmp_path / "tiny-1.0.zip", "w") as archive:
        archive.write(path, "tiny/tiny.gguf")
    target = import_checkpoint(tmp_path / "tiny-1.0.zip", root, "tiny")
    assert not list(target.glob("*.gguf"))
    read = LlamaForCausalLM.from_pretrained(target)
    tokens = torch.arange(8)[None]
    torch.testing.assert_close(read(tokens).logits, model(tokens).logits, atol=1e-5, rtol=0)


def write_gguf(gguf, model, config, path):
    """Write a llama with the names of llama.cpp; its query and key rows are permuted, as llama.cpp rotates in pairs."""
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
    words = [chr(33 + place) for place in range(config.vocab_size - 1)]
    words.append(words[0] + words[1])
    writer.add_token_list(words)
    writer.add_token_types([1] * len(words))
    writer.add_token_merges([f"{words[0]} {words[1]}"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    names = {
        "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
        "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    }  # fmt: skip
    for name, tensor in model.state_dict().items():
        known = next(key for key in names if name.removesuffix(".weight").endswith(key))
        layer = f"blk.{name.split('.')[2]}." if ".layers." in name else ""
        array = tensor.numpy()
        if known in ("self_attn.q_proj", "self_attn.k_proj"):
            heads = config.num_attention_heads
            array = array.reshape(heads, 2, len(array) // heads // 2, -1).swapaxes(1, 2).reshape(array.shape)
        writer.add_tensor(f"{layer}{names[known]}.weight", array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_a_gguf_file_that_cannot_be_read_is_one_line(root, tmp_path):
    pytest.importorskip("gguf", reason="the extra gguf is not installed")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "bad.gguf").write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(MissingDataError, match=r"bad\.gguf cannot be read"):
        import_checkpoint(tmp_path / "source", root, "mine")
    assert list((root / "models").iterdir()) == []


def test_where_several_are_one_must_be_chosen(model, root, tmp_path):
    for name in ("one", "two"):
        shutil.copytree(model, tmp_path / "both" / name)
    with pytest.raises(UsageError, match="holds 2 checkpoints: one, two") as caught:
        import_checkpoint(tmp_path / "both", root, "mine")
    assert caught.value.mend == "Choose one with --member"
    with pytest.raises(UsageError, match="has no checkpoint 'three'"):
        import_checkpoint(tmp_path / "both", root, "mine", member="three")
    assert import_checkpoint(tmp_path / "both", root, "mine", member="two").is_dir()


def test_a_name_that_is_there_is_replaced_only_by_force(model, root):
    import_checkpoint(model, root, "mine")
    (root / "models" / "mine" / "own.txt").write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        import_checkpoint(model, root, "mine")
    import_checkpoint(model, root, "mine", force=True)
    assert not (root / "models" / "mine" / "own.txt").exists()


def pickled(model, path):
    for name in ("config.json", "pytorch_model.bin"):
        shutil.copy(model / name, path / name)


def empty(model, path):
    (path / "notes.md").write_text("nothing here")


@pytest.mark.parametrize(
    ("make", "says"),
    [(pickled, r"as a pickle \(pytorch_model.bin\), which could run code"), (empty, "holds no checkpoint")],
)
def test_what_holds_no_readable_checkpoint_is_refused(model, root, tmp_path, make, says):
    folder = tmp_path / "source"
    folder.mkdir()
    make(model, folder)
    with pytest.raises(MissingDataError, match=says):
        import_checkpoint(folder, root, "mine")
    assert not root.exists()


@pytest.mark.parametrize("name", ["../../outside.json", "/absolute.json", "c:\\windows.json"])
def test_a_member_that_leads_out_is_refused(model, root, tmp_path, name):
    path = zipped(model, tmp_path / "evil.zip")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, "{}")
    with pytest.raises(MissingDataError, match="leads out of it"):
        import_checkpoint(path, root, "mine")
    assert not root.exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(model, root, tmp_path, kind):
    path = tmp_path / "evil.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(model, "model")
        member = tarfile.TarInfo("model/tokenizer_config.json")
        member.type, member.linkname = kind, "/etc/passwd"
        archive.addfile(member)
    with pytest.raises(MissingDataError, match="is no plain file"):
        import_checkpoint(path, root, "mine")


@pytest.mark.parametrize("form", ["zip", "tar.gz", "tar"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.7])
def test_a_truncated_archive_is_one_line_and_leaves_nothing(model, root, tmp_path, form, share):
    path = tmp_path / f"cut.{form}"
    zipped(model, path) if form == "zip" else taped(model, path, "w:gz" if form == "tar.gz" else "w")
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(MissingDataError, match=r"is damaged or no archive|holds no checkpoint|as a pickle"):
        import_checkpoint(path, root, "mine")
    assert not list((root / "models").iterdir() if (root / "models").exists() else [])


def test_a_flipped_byte_of_the_weights_is_found(model, root, tmp_path):
    path = zipped(model, tmp_path / "flipped.zip")
    data = bytearray(path.read_bytes())
    start = data.find(b"model.safetensors") + 4000
    data[start] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(MissingDataError, match="Bad CRC-32"):
        import_checkpoint(path, root, "mine")
    assert list((root / "models").iterdir()) == []


def test_no_archive_and_no_file(root, tmp_path):
    path = tmp_path / "text.whl"
    path.write_text("hello")
    with pytest.raises(MissingDataError, match="damaged or no archive"):
        import_checkpoint(path, root, "mine")
    with pytest.raises(MissingDataError, match="is not there"):
        import_checkpoint(tmp_path / "nowhere.zip", root, "mine")


def test_a_data_folder_that_cannot_be_written_is_one_line(model, tmp_path):
    (tmp_path / "data").write_text("a file where the folder should be")
    with pytest.raises(StoreError, match="cannot be written"):
        import_checkpoint(model, tmp_path / "data", "mine")


def test_a_full_disk_leaves_nothing(model, root, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("benchsuite.models.zoo.importing.Source.copy", full)
    with pytest.raises(StoreError, match="No space left on device"):
        import_checkpoint(model, root, "mine")
    assert list((root / "models").iterdir()) == []
