"""Checkpoints from local folders: of transformers and of llama2.c, their tokenizers, and what is wrong with them."""

from __future__ import annotations

import gzip
import json
import struct

import numpy as np
import pytest
import safetensors.torch
import torch

from benchsuite.errors import MissingDataError
from benchsuite.models.norms import find_final_norm
from benchsuite.models.zoo.build import quiet, transformers
from benchsuite.models.zoo.checkpoints import encode, files_of, format_of, load, vocabulary_of
from benchsuite.models.zoo.llama2c import BOS, Tokenizer, load_llama, read_header
from benchsuite.tasks.probing_config import SubjectConfig
from benchsuite.tasks.probing_subjects import WINDOW, material
from benchsuite.tasks.probing_view import make_view, read_view, write_view

TEXT = "the cat sat on the mat and the dog sat on the cat . " * 60
GREEDY = (
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. "
    "One day, she saw a big, red ball."
)
"""The beginning of the sample in llama2.c, doc/stories260K.md."""


# Made here


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A data folder with a small GPT-2 and its tokenizer, as transformers saves them, and a text."""
    from tokenizers import Tokenizer as Fast
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    root = tmp_path_factory.mktemp("data")
    folder = root / "models" / "tiny"
    words = {word: place for place, word in enumerate(["[UNK]", *sorted(set(TEXT.split()))])}
    sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": len(words), "bos_token_id": 0, "eos_token_id": 0}
    with quiet(), torch.random.fork_rng():
        torch.manual_seed(0)
        model = transformers().GPT2LMHeadModel(transformers().GPT2Config(**sizes))
        model.transformer.ln_f.weight.data.uniform_(0.5, 2)
        model.save_pretrained(folder)
    fast = Fast(WordLevel(words, unk_token="[UNK]"))
    fast.pre_tokenizer = Whitespace()
    fast.save(str(folder / "tokenizer.json"))
    (root / "text.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    return root


@pytest.fixture
def copied(saved, tmp_path):
    """A copy that may be damaged."""
    import shutil

    return shutil.copytree(saved, tmp_path / "data")


def config(**fields):
    return SubjectConfig(**{"checkpoint": "models/tiny", "text": "text.txt.gz", "tokens_per_width": 4, **fields})


def write_llama(folder, shared=True, seed=0):
    """Write a llama2.c checkpoint of random weights and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    d, h, layers, heads, groups, vocabulary, context = 16, 24, 2, 4, 2, 300, 32
    path = folder / f"{folder.name}.bin"
    path.write_bytes(struct.pack("<7i", d, h, layers, heads, groups, vocabulary if shared else -vocabulary, context))
    tables = 2 * context * (d // heads) // 2
    per_layer = d + d * d + 2 * (d * d // 2) + d * d + d + 3 * d * h
    floats = vocabulary * d + layers * per_layer + d + tables + (0 if shared else vocabulary * d)
    with path.open("ab") as file:
        file.write(np.random.default_rng(seed).normal(0, 0.3, floats).astype("<f4").tobytes())
    tokens = [b"<unk>", b"\n<s>\n", b"\n</s>\n", *(b"<0x%02X>" % byte for byte in range(256)), b" ", b"a", b"b", b" a"]
    tokens += [b"ab", b" ab"]
    scores = [0.0] * (len(tokens) - 3) + [1.0, 3.0, 2.0]
    body = b"".join(struct.pack("<fi", s, len(t)) + t for s, t in zip(scores, tokens, strict=True))
    (folder / "tok300.bin").write_bytes(struct.pack("<i", 6) + body)
    return folder


def test_a_transformers_folder_is_loaded_without_its_head(saved):
    folder = saved / "models" / "tiny"
    assert format_of(folder) == "transformers"
    assert [path.name for path in files_of(folder)] == ["config.json", "model.safetensors", "tokenizer.json"]
    model = load(folder)
    assert not model.training
    assert type(model).__name__ == "GPT2Model"
    found = find_final_norm(model, {"input_ids": torch.tensor([[0, 1, 2]])})
    stored = safetensors.torch.load_file(folder / "model.safetensors")["transformer.ln_f.weight"]
    torch.testing.assert_close(found.examination.gamma, stored.double(), atol=1e-5, rtol=0)


def test_two_halves_of_the_text_go_to_probe_and_truth(saved, tmp_path):
    view = make_view(config(), saved)
    whole = encode(saved / "models" / "tiny", TEXT, 10**6)
    assert [*view.probe, *view.truth] == whole
    assert abs(len(view.probe) - len(view.truth)) <= 1
    made = material(config(), read_view(write_view(view, tmp_path)), 0)
    assert made.truth[0]["input_ids"].shape == (1, WINDOW)
    for part, ids in ((made.probe, view.probe), (made.truth, view.truth)):
        row = part[0]["input_ids"][0].tolist()
        assert any(list(ids[i : i + WINDOW]) == row for i in range(len(ids)))
    assert made.notes["tokens_from"] == "text.txt.gz"


def test_without_a_text_or_a_tokenizer_ids_are_random_and_the_record_says_so(copied):
    for lost in (copied / "text.txt.gz", copied / "models" / "tiny" / "tokenizer.json"):
        lost.unlink()
        view = make_view(config(), copied)
        assert view.probe == view.truth == ()
        made = material(config(), view, 0)
        assert made.notes["tokens_from"] == "random"
        assert made.truth[0]["input_ids"].max() < view.vocabulary


def test_the_hash_is_of_the_content_and_not_of_the_place(saved, copied):
    assert make_view(config(), saved).content_hash() == make_view(config(), copied).content_hash()
    (copied / "text.txt.gz").write_bytes(gzip.compress(TEXT[10:].encode()))
    assert make_view(config(), saved).content_hash() != make_view(config(), copied).content_hash()


def test_a_checkpoint_that_changed_after_it_was_prepared_is_refused(copied, tmp_path):
    path = write_view(make_view(config(), copied), tmp_path / "cache")
    weights = copied / "models" / "tiny" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    with pytest.raises(MissingDataError, match=r"model\.safetensors of the checkpoint .* has changed"):
        read_view(path)


def test_weights_that_are_missing_are_not_made_up(copied):
    path = copied / "models" / "tiny" / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    del tensors["transformer.ln_f.weight"]
    safetensors.torch.save_file(tensors, path, metadata={"format": "pt"})
    with pytest.raises(MissingDataError, match=r"lacks 1 weights: ln_f\.weight"):
        load(copied / "models" / "tiny")


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("config.json", "{", "names no vocab_size"),
        ("config.json", "{}", "names no vocab_size"),
        ("config.json", '{"vocab_size": 3}', "has the id .*, the model knows 3"),
        ("tokenizer.json", "{", "tokenizer .* cannot be read"),
        ("../../text.txt.gz", "no gzip", "text .* cannot be read"),
    ],
)
def test_a_damaged_folder_is_refused_when_it_is_prepared(copied, file, content, told):
    (copied / "models" / "tiny" / file).write_text(content)
    with pytest.raises(MissingDataError, match=told):
        make_view(config(), copied)


def test_a_config_of_no_known_architecture_cannot_be_loaded(copied):
    folder = copied / "models" / "tiny"
    (folder / "config.json").write_text(json.dumps({"vocab_size": 10, "model_type": "no-such-model"}))
    with pytest.raises(MissingDataError, match="cannot be loaded"):
        load(folder)


def test_an_absent_checkpoint_is_missing_data(tmp_path):
    with pytest.raises(MissingDataError, match="BENCHSUITE_DATA, which is not set"):
        make_view(config(), None)
    with pytest.raises(MissingDataError, match="no checkpoint in"):
        make_view(config(), tmp_path)


def test_a_text_that_is_too_short_is_refused(copied):
    (copied / "text.txt.gz").write_bytes(gzip.compress(b"the cat sat " * 20))
    with pytest.raises(MissingDataError, match="the text has 30 tokens for one half"):
        material(config(), make_view(config(), copied), 0)


# llama2.c


def test_a_llama_checkpoint_is_read_as_llama2c_computes(tmp_path):
    """An independent oracle: llama2.c's forward in NumPy, rotating neighbouring pairs."""
    folder = write_llama(tmp_path / "models" / "tiny")
    assert format_of(folder) == "llama2c"
    assert vocabulary_of(folder) == 300
    ids = [1, 17, 250, 3, 99]
    with torch.no_grad():
        logits = load(folder)(torch.tensor([ids])).logits[0]
    np.testing.assert_allclose(logits.numpy(), _llama2c(folder / "tiny.bin", ids), rtol=1e-3, atol=1e-3)


def test_a_head_of_its_own_is_read(tmp_path):
    model = load_llama(write_llama(tmp_path / "own", shared=False) / "own.bin")
    assert not torch.equal(model.lm_head.weight, model.model.embed_tokens.weight)
    stored = np.fromfile(tmp_path / "own" / "own.bin", "<f4", offset=28)
    np.testing.assert_array_equal(model.lm_head.weight.detach().numpy().ravel(), stored[-300 * 16 :])


def _llama2c(path, ids):
    d, h, layers, heads, groups, vocabulary, _ = np.fromfile(path, "<i4", 7).tolist()
    flat = np.fromfile(path, "<f4", offset=28).astype(np.float64)
    place = 0

    def take(*shape):
        nonlocal place
        size = int(np.prod(shape))
        place += size
        return flat[place - size : place].reshape(shape)

    size, kv = d // heads, groups * (d // heads)
    embedding, norm1 = take(vocabulary, d), take(layers, d)
    wq, wk, wv, wo = take(layers, d, d), take(layers, kv, d), take(layers, kv, d), take(layers, d, d)
    norm2 = take(layers, d)
    w1, w2, w3, last = take(layers, h, d), take(layers, d, h), take(layers, h, d), take(d)

    def rms(x, weight):
        return weight * x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)

    def rotate(x):
        turned = x.copy()
        for position in range(len(x)):
            for pair in range(0, size, 2):
                angle = position / 10000 ** (pair / size)
                one, other = x[position, :, pair].copy(), x[position, :, pair + 1].copy()
                turned[position, :, pair] = one * np.cos(angle) - other * np.sin(angle)
                turned[position, :, pair + 1] = one * np.sin(angle) + other * np.cos(angle)
        return turned

    x = embedding[ids]
    n = len(ids)
    for layer in range(layers):
        y = rms(x, norm1[layer])
        q = rotate((y @ wq[layer].T).reshape(n, heads, size))
        k = rotate((y @ wk[layer].T).reshape(n, groups, size))
        v = (y @ wv[layer].T).reshape(n, groups, size)
        mixed = np.zeros((n, heads, size))
        for head in range(heads):
            group = head // (heads // groups)
            scores = q[:, head] @ k[:, group].T / np.sqrt(size)
            scores[np.triu_indices(n, 1)] = -np.inf
            weights = np.exp(scores - scores.max(1, keepdims=True))
            mixed[:, head] = weights / weights.sum(1, keepdims=True) @ v[:, group]
        x = x + mixed.reshape(n, d) @ wo[layer].T
        y = rms(x, norm2[layer])
        gate = y @ w1[layer].T
        x = x + (gate / (1 + np.exp(-gate)) * (y @ w3[layer].T)) @ w2[layer].T
    return rms(x, last) @ embedding.T


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda data: data[:20], "ends within its header"),
        (lambda data: data[:-4], "a checkpoint of its sizes has"),
        (lambda data: data + b"1234", "a checkpoint of its sizes has"),
        (lambda data: b"\x00" * len(data), "no llama2.c checkpoint"),
        (lambda data: b"\x7f" * len(data), "no llama2.c checkpoint"),
        (lambda data: struct.pack("<7i", 16, 24, 2, 3, 2, 300, 32) + data[28:], "no llama2.c checkpoint"),
    ],
)
def test_a_damaged_llama_checkpoint_is_refused(tmp_path, damage, told):
    path = write_llama(tmp_path / "tiny") / "tiny.bin"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(MissingDataError, match=told):
        read_header(path)
    with pytest.raises(MissingDataError, match="cannot be read"):
        read_header(tmp_path / "nowhere.bin")


def test_the_tokenizer_merges_the_best_pair_first(tmp_path):
    tokenizer = Tokenizer(write_llama(tmp_path / "tiny") / "tok300.bin")
    space, a, b, space_a, ab, space_ab = range(259, 265)
    # " ab": merging "ab" (3) goes before " a" (1); then " " and "ab" make " ab".
    assert tokenizer.encode("ab") == [space_ab]
    assert tokenizer.encode("a") == [space_a]
    assert tokenizer.encode("aab") == [space_a, ab]
    assert tokenizer.encode("é") == [space, 3 + 0xC3, 3 + 0xA9]
    assert tokenizer.encode("") == []
    assert tokenizer.decode([BOS, *tokenizer.encode("abé b a")]) == "abé b a"
    assert b not in tokenizer.encode("ab")
    assert a not in tokenizer.encode("ab")


@pytest.mark.parametrize("cut", [1, 5, 9])
def test_a_truncated_tokenizer_is_refused(tmp_path, cut):
    path = write_llama(tmp_path / "tiny") / "tok300.bin"
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(MissingDataError, match="truncated"):
        Tokenizer(path)


# Real


@pytest.mark.data
def test_stories260k_tells_its_story(data_root):
    folder = data_root / "stories260K"
    model, tokenizer = load(folder), Tokenizer(folder / "tok512.bin")
    ids = [BOS]
    with torch.no_grad():
        while len(ids) < 60:
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
    story = tokenizer.decode(ids)
    assert story.startswith(GREEDY)
    assert tokenizer.encode(story) == ids[1:]


@pytest.mark.data
def test_stories260k_has_no_dead_direction(data_root):
    from benchsuite.models.norms import outputs_at
    from benchsuite.tasks.probing_bench import spectrum

    chosen = SubjectConfig(checkpoint="stories260K")
    made = material(chosen, make_view(chosen, data_root), 0)
    assert (made.site, made.found.examination.nature) == ("model.norm", "rms")
    truth = spectrum(outputs_at(made.model, made.site, made.truth))
    gamma = made.found.examination.gamma.numpy()
    u = (1 / gamma) / np.linalg.norm(1 / gamma)
    assert truth.kernel == 0
    assert truth.quotient(u[None]) > 1e-3
    assert truth.verdict(u[None], present=False)
