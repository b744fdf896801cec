"""Teachers that the suite trains: what they learn, and that they are trained once."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional as F

from benchsuite.contracts.norm_placement import LayerNorms, StackNorms
from benchsuite.data.text import TokenisedText
from benchsuite.errors import MissingDataError, ProtocolError, StoreError, UsageError
from benchsuite.models.student import build_student
from benchsuite.models.teacher import PRESETS, TeacherRecipe, cached, load_teacher, tokenizer_file
from benchsuite.models.teacher.training import learning_rate, train

TOY = TeacherRecipe(width=16, heads=2, kv_heads=1, mlp=32, layers=1, context=12, steps=60, batch=8, learning_rate=1e-2)


def cycle(start, length=10):
    """Return a document in which each token follows from the one before: 2, 3, ..., 9, 2, 3, ..."""
    return [1, *(2 + (start + place) % 8 for place in range(length))]


TEXT = TokenisedText([cycle(start, 6 + start % 5) for start in range(24)], vocab=10, pad=0)


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Return a function that loads the toy teacher, with a cache of its own."""
    monkeypatch.setitem(PRESETS, "toy", TOY)
    return lambda text=TEXT, seed=0: load_teacher("train:toy", None, tmp_path, text, seed)


@pytest.fixture
def count(monkeypatch):
    """Return the list of the seeds that teachers were trained with."""
    seeds = []

    def counted(recipe, text, seed):
        seeds.append(seed)
        return train(recipe, text, seed)

    monkeypatch.setattr(cached, "train", counted)
    return seeds


def test_a_teacher_learns_what_there_is_to_learn(load):
    teacher, ids = load(), torch.tensor([cycle(3)])
    loss = F.cross_entropy(teacher.logits(ids)[0, 1:-1], ids[0, 2:])
    assert float(loss) < 0.3 < math.log(8)


def test_logits_are_float_without_gradient_and_padding_changes_none(load):
    teacher, ids = load(), torch.tensor([cycle(3)])
    bare, padded = teacher.logits(ids), teacher.logits(F.pad(ids, (0, 1)), F.pad(torch.ones_like(ids).bool(), (0, 1)))
    assert (bare.dtype, bare.shape, bare.requires_grad) == (torch.float32, (1, 11, 10), False)
    assert torch.allclose(bare, padded[:, :11], atol=1e-5)


def test_what_a_student_takes_is_the_teachers(load):
    """A student with the teacher's layers besides computes the teacher's logits."""
    teacher = load()
    pre = LayerNorms(norm_in=True)
    norms = StackNorms(((pre, pre),) * TOY.layers, entry=False, final=True)
    student = build_student(TOY.shape(10), norms, teacher.embedding, teacher.head, teacher.norm, 0)
    student.trunk.blocks.load_state_dict(teacher.module.trunk.blocks.state_dict())
    ids = torch.tensor([cycle(5)])
    assert torch.equal(student(ids).detach(), teacher.logits(ids))
    assert (teacher.vocab, teacher.width, teacher.pad, teacher.context) == (10, 16, 0, 12)
    assert not any(tensor.requires_grad for tensor in (teacher.embedding, teacher.head, teacher.norm))


def test_too_many_tokens_cost_one_line(load):
    with pytest.raises(ProtocolError, match="13 tokens do not fit into the teacher's context of 12"):
        load().logits(torch.ones(1, 13, dtype=torch.int64))


def test_a_teacher_is_trained_once_and_equal_asks_give_equal_weights(load, count):
    one, two = load(), load()
    assert count == [0]
    assert one.digest == two.digest
    assert torch.equal(one.head, two.head)


def test_another_seed_text_recipe_or_torch_is_another_teacher(load, count, monkeypatch):
    digests = [load().digest, load(seed=1).digest]
    digests.append(load(TokenisedText(TEXT.documents[1:], 10, 0)).digest)
    monkeypatch.setitem(PRESETS, "toy", replace(TOY, steps=3))
    digests.append(load().digest)
    monkeypatch.setattr(cached, "torch", SimpleNamespace(__version__="0.0"))
    digests.append(load().digest)
    assert len(set(digests)) == len(count) == 5


def test_training_repeats_bit_by_bit_whatever_the_global_stream():
    states = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        states.append(train(replace(TOY, steps=5), TEXT, 0).state_dict())
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


@pytest.mark.parametrize("damage", ["truncated", "flipped", "foreign", "empty"])
def test_a_damaged_file_is_trained_anew(load, count, tmp_path, damage):
    whole = load()
    (path,) = (tmp_path / "teachers").glob("*.safetensors")
    content = path.read_bytes()
    flipped = content[:-5] + bytes([content[-5] ^ 255]) + content[-4:]
    damaged = {"truncated": content[:-9], "flipped": flipped, "foreign": b"something else", "empty": b""}
    path.write_bytes(damaged[damage])
    assert torch.equal(load().head, whole.head)
    assert count == [0, 0]
    assert path.read_bytes() == content


def test_a_file_of_another_key_is_not_read(load, count, tmp_path):
    load()
    load(seed=1)
    one, two = (tmp_path / "teachers").glob("*.safetensors")
    one.write_bytes(two.read_bytes())
    load()
    load(seed=1)
    assert len(count) == 3


def test_a_loss_that_is_not_finite_names_the_step(load, monkeypatch):
    monkeypatch.setitem(PRESETS, "toy", replace(TOY, learning_rate=1e30, warmup=0.0))
    with pytest.raises(ProtocolError, match=r"the teacher's loss is nan at step \d+"):
        load()


def test_a_cache_that_cannot_be_written_costs_one_line(tmp_path, monkeypatch):
    monkeypatch.setitem(PRESETS, "toy", TOY)
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be written"):
        load_teacher("train:toy", None, tmp_path / "file", TEXT)


def test_the_learning_rate_rises_and_falls():
    recipe = replace(TOY, steps=100, warmup=0.1, learning_rate=1.0)
    rates = [learning_rate(recipe, step) for step in range(100)]
    assert rates[:10] == pytest.approx([0.1 * step for step in range(1, 11)])
    assert rates[10] == pytest.approx(1.0)
    assert rates[55] == pytest.approx(0.55)
    assert rates[99] == pytest.approx(0.1, abs=1e-3)
    assert rates[10:] == sorted(rates[10:], reverse=True)


def test_specs_that_name_no_teacher_cost_one_line(tmp_path):
    with pytest.raises(UsageError, match=r"no recipe 'qick' for a teacher\. Did you mean 'quick'"):
        load_teacher("train:qick", None, tmp_path, TEXT)
    for spec in ("qwen", "local:", "hub:", "stories", ""):
        with pytest.raises(UsageError, match=f"no teacher is called '{spec}'"):
            load_teacher(spec, None, tmp_path, TEXT)
        with pytest.raises(UsageError, match="no teacher is called"):
            tokenizer_file(spec, None)
    assert tokenizer_file("train:quick", None) is None
    with pytest.raises(MissingDataError, match="BENCHSUITE_DATA is not set"):
        tokenizer_file("stories260k", None)


@pytest.mark.parametrize("preset", ["quick", "small"])
def test_presets_make_valid_models(preset):
    shape = PRESETS[preset].shape(512)
    assert shape.layers == PRESETS[preset].layers
    assert shape.vocab == 512
