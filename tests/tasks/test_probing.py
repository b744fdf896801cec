"""A probe task from its card to its score: right claims, wrong claims, and probes that break their contract."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from benchsuite.contracts.probe import FinalNorm, NotApplicableError, Reading
from benchsuite.contracts.task import CellInput, CellOutput, MethodSpec, Places
from benchsuite.errors import MissingDataError, ProtocolError
from benchsuite.models.norms import examine, outputs_at
from benchsuite.models.zoo.families import FAMILIES
from benchsuite.tasks import probe_cards
from benchsuite.tasks.config import read_config
from benchsuite.tasks.probing import DeadDirection
from benchsuite.tasks.probing_bench import Bench, spectrum
from benchsuite.tasks.probing_config import SubjectConfig
from benchsuite.tasks.probing_subjects import Material, material
from benchsuite.tasks.probing_view import View

SMALL = {"width": 16, "layers": 1, "vocabulary": 64}


def card(**config):
    (gpt2,) = (each for each in probe_cards.TASKS if each.name == "init-gpt2")
    return gpt2.model_copy(update={"config": {"family": "gpt2", **SMALL, **config}})


@dataclass(frozen=True)
class Given(MethodSpec):
    """A method that is there already."""

    instance: Any = field(default=None)

    def make(self):
        return self.instance


def given(probe):
    """Return a method whose ``probe`` is the function ``probe``."""
    holder = type("Holder", (), {"probe": staticmethod(probe)})
    return Given("given", "tests:given", {}, instance=holder())


class Setting:
    def __init__(self, cache, **config):
        self.task = DeadDirection(card(**config))
        self.places = Places(None, cache)
        self.prepared = self.task.prepare(self.places)

    def run(self, probe, seed=0) -> CellOutput:
        cell = CellInput(self.prepared.view, self.places.cache, seed, {"probe": given(probe)})
        return self.task.run(cell)

    def score(self, probe, seed=0):
        return self.task.score(self.prepared, self.run(probe, seed))


@pytest.fixture
def setting(tmp_path):
    return Setting(tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A task, its prepared data, and what one right cell sent back."""
    setting = Setting(tmp_path_factory.mktemp("cache"))
    return setting.task, setting.prepared, setting.run(inverse)


def scale_of(subject):
    site = subject.final_norm()
    return site.path, examine(subject.model.get_submodule(site.path), site.width).gamma


def inverse(subject):
    path, gamma = scale_of(subject)
    return Reading("parameters", {path: (1 / gamma)[None]}, present=True)


# The cards


def test_nine_layer_norm_and_five_rms_norm_families_and_one_checkpoint():
    names = [task.name for task in probe_cards.TASKS]
    families = {task.config["family"] for task in probe_cards.TASKS if "family" in task.config}
    assert (len(names), len(set(names)), len(families)) == (15, 15, 14)
    kinds = [FAMILIES[family].kind for family in families]
    assert (kinds.count("layer"), kinds.count("rms")) == (9, 5)
    assert {f for f, *_ in probe_cards.RMS_NORM} == {f for f in families if FAMILIES[f].kind == "rms"}
    of_group = {task.config["family"]: task.group for task in probe_cards.TASKS if task.group}
    assert of_group == {family: f"init-{FAMILIES[family].kind}norm" for family in families}
    # The all-ones control says nothing where there is no scale.
    assert all(FAMILIES[family].offset is not None for family in families)


def test_quick_has_one_and_standard_all():
    suites = [task.suites for task in probe_cards.TASKS]
    assert sum("quick" in each for each in suites) == 1
    assert all("standard" in each and "full" in each for each in suites)
    assert all(task.seeds == 10 for task in probe_cards.TASKS)


@pytest.mark.parametrize("name", [task.config["family"] for task in probe_cards.TASKS if "family" in task.config])
def test_the_truth_of_each_family_is_what_its_norm_says(name):
    found = material(read_config("t", {"family": name, "width": 32, "layers": 1}, SubjectConfig), View(), 0)
    truth = spectrum(outputs_at(found.model, found.site, found.truth))
    assert truth.kernel == (1 if FAMILIES[name].kind == "layer" else 0)
    assert truth.distinct >= 4 * truth.width
    # Far from the limit on either side.
    assert truth.singular[-2] > 10 * truth.tolerance
    assert not truth.tolerance / 10 < truth.singular[-1] < 10 * truth.tolerance


def test_local_checkpoints_become_tasks(tmp_path):
    # The hidden one is what an import leaves behind that was killed.
    for name in ("My_Model.v2", "other", "my-model-v2", "!!", ".other.0123456789ab"):
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "config.json").write_text("{}")
    (tmp_path / "models" / "empty").mkdir()
    tasks = probe_cards.local_tasks(tmp_path)
    assert [task.name for task in tasks] == ["trained-my-model-v2", "trained-other"]
    assert tasks[0].config["checkpoint"] == "models/My_Model.v2"
    assert tasks[0].suites == ("checkpoints",)
    assert probe_cards.local_tasks(tmp_path / "nowhere") == probe_cards.local_tasks(None) == ()
    behind = {name: probe_cards.folder_behind(name, tmp_path) for name in ("my-model-v2", "stories260k", "third")}
    assert behind == {"my-model-v2": "models/My_Model.v2", "stories260k": "stories260K", "third": None}


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({}, "either a family or a checkpoint"),
        ({"family": "gpt2", "checkpoint": "models/x"}, "either a family or a checkpoint"),
        ({"family": "gpt2", "tokens_per_width": 3}, "tokens_per_width"),
        ({"family": "gpt2", "colour": 1}, "colour"),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(config, told):
    with pytest.raises(ProtocolError, match=told):
        read_config("t", config, SubjectConfig)


# Claims


def test_the_inverse_scale_is_right(setting):
    output = setting.run(inverse)
    scores = setting.task.score(setting.prepared, output)
    assert scores["verdict"] == 100
    assert 0.9999 <= scores["cosine"] <= 1
    assert scores["above_floor"] < 0
    assert output.measurements["kernel_dimension"] == 1
    assert output.measurements["forward_passes"] == 0
    assert output.measurements["tokens"] == 8 * 16
    assert output.measurements["cost_ratio"] > 0
    assert output.notes["found"] == {"path": "transformer.ln_f", "evidence": "output", "kind": "layer"}
    assert output.notes["determinism"]["class"] == "bitwise"


def test_the_scale_itself_and_a_denial_are_wrong(setting):
    def scale(subject):
        path, gamma = scale_of(subject)
        return Reading("parameters", {path: gamma[None]}, present=True)

    def denial(subject):
        return replace(inverse(subject), present=False)

    wrong = setting.score(scale)
    assert (wrong["verdict"], wrong["cosine"] < 0.99, wrong["above_floor"] > 3) == (0, True, True)
    assert setting.score(denial)["verdict"] == 0


def test_after_an_rms_norm_a_claim_is_wrong_and_a_denial_right(tmp_path):
    setting = Setting(tmp_path, family="llama")
    assert setting.score(inverse)["verdict"] == 0
    right = setting.score(lambda subject: replace(inverse(subject), present=False))
    assert (right["verdict"], right["above_floor"] > 3) == (100, True)


def test_methods_share_model_and_tokens_of_a_seed_and_seeds_do_not(setting):
    def other(subject):
        return Reading("parameters", {subject.final_norm().path: torch.eye(16).double()[:1]}, present=True)

    one, same, next_seed = setting.run(inverse), setting.run(other), setting.run(inverse, seed=1)
    for name in ("singular", "right", "counts"):
        assert np.array_equal(one.predictions[name], same.predictions[name])
    assert not np.array_equal(one.predictions["singular"], next_seed.predictions["singular"])


def test_the_method_does_not_see_the_tokens_that_are_measured(setting):
    seen = []

    def look(subject):
        seen.extend(batch["input_ids"] for batch in subject.batches())
        return inverse(subject)

    setting.run(look)
    truth = material(setting.task.config, View(), 0).truth[0]["input_ids"]
    assert all(not torch.equal(ids, truth) for ids in seen)


def test_the_truth_is_the_task_s_own(setting):
    """What a method does to what it is handed moves nothing."""
    honest = setting.run(inverse)

    def meddle(subject):
        for batch in subject.batches():
            batch["input_ids"].zero_()
        return inverse(subject)

    assert np.array_equal(setting.run(meddle).predictions["singular"], honest.predictions["singular"])


def test_several_directions_are_one_claim(setting):
    def both(subject):
        path, gamma = scale_of(subject)
        return Reading("parameters", {path: torch.stack([1 / gamma, gamma])}, present=True)

    assert setting.score(both)["verdict"] == 0
    assert setting.run(both).predictions["basis"].shape == (2, 16)


def test_a_method_s_own_stream_is_the_same_in_every_call(setting):
    def draw(subject):
        row = torch.randn(1, 16, generator=subject.generator, dtype=torch.float64)
        return Reading("parameters", {subject.final_norm().path: row}, present=True)

    output = setting.run(draw)
    assert output.notes["determinism"]["class"] == "bitwise"
    assert np.array_equal(output.predictions["basis"], setting.run(draw).predictions["basis"])
    assert not np.array_equal(output.predictions["basis"], setting.run(draw, seed=1).predictions["basis"])


# Broken contracts


def at_norm(values, **fields):
    return lambda subject: Reading("parameters", {subject.final_norm().path: values}, **{"present": True, **fields})


EYE = torch.eye(16, dtype=torch.float64)


@pytest.mark.parametrize(
    ("probe", "told"),
    [
        (lambda subject: None, "returned NoneType, not a Reading"),
        (lambda subject: Reading("guess"), "access is 'guess'"),
        (lambda subject: Reading("parameters"), "the reading is of no site"),
        (lambda subject: Reading("parameters", {"transformer.h.0": EYE[:1]}, True), "measures at 'transformer.ln_f'"),
        (lambda subject: Reading("parameters", {"nowhere": EYE[:1]}, True), "of 'nowhere'"),
        (at_norm(EYE[:1], present=None), "does not say whether"),
        (at_norm(EYE[:1].float()), "no float64 matrix"),
        (at_norm(EYE[0]), "no float64 matrix"),
        (at_norm(EYE[:1] * torch.nan), "not finite"),
        (at_norm(EYE[[0, 0]]), "not independent"),
        (at_norm(EYE[:0]), "not independent, or none"),
        (at_norm(EYE[:1, :8]), "8 entries, the norm 16"),
        (at_norm(EYE[:1], diagnostics={"tensor": EYE}), "cannot be recorded"),
    ],
)
def test_a_reading_that_breaks_the_contract_is_named(setting, probe, told):
    with pytest.raises(ProtocolError, match=told):
        setting.run(probe)


def change(subject):
    with torch.no_grad():
        subject.model.lm_head.weight.add_(1)


def hook(subject):
    subject.model.transformer.ln_f.register_forward_hook(lambda *_: None)


def train(subject):
    subject.model.train()


def run(subject):
    subject.model(**next(subject.batches()))


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (change, "changed the model: .*weight has other values"),
        (hook, "changed the model: transformer.ln_f still has a hook"),
        (train, "changed the model: it is in training mode"),
        (run, "says access='parameters', but ran the model 1 times"),
    ],
)
def test_a_probe_leaves_the_model_as_it_was_and_says_what_it_used(setting, act, told):
    def probe(subject):
        act(subject)
        return inverse(subject)

    with pytest.raises(ProtocolError, match=told):
        setting.run(probe)


def test_a_forward_is_counted_and_allowed_where_it_is_said(setting):
    def probe(subject):
        run(subject)
        return replace(inverse(subject), access="forward")

    assert setting.run(probe).measurements["forward_passes"] == 1


# Not applicable


def test_a_method_may_say_that_it_is_not_applicable(setting):
    def raises(_subject):
        raise NotApplicableError("it is Tuesday")

    for probe in (raises, lambda _: Reading("parameters", not_applicable="it is Tuesday")):
        output = setting.run(probe)
        assert output.notes["not_applicable"] == "it is Tuesday"
        assert output.measurements["quotient"] is None
        with pytest.raises(ProtocolError, match="not applicable, because it is Tuesday"):
            setting.task.score(setting.prepared, output)


def test_a_model_without_a_final_norm_is_not_applicable(setting, monkeypatch):
    bare = Material(nn.Sequential(nn.Linear(16, 16), nn.Tanh()).eval(), ({"input": torch.randn(64, 16)},) * 2, ())
    with pytest.raises(NotApplicableError, match="could be a norm"):
        Bench(CellInput(setting.prepared.view, setting.places.cache, 0, {"probe": given(inverse)}), bare)
    monkeypatch.setattr("benchsuite.tasks.probing_subjects.material", lambda *_: bare)
    with pytest.raises(ProtocolError, match="not applicable, because none of the 1 modules"):
        setting.run(inverse)


def test_a_path_in_the_config_is_where_the_task_measures(tmp_path):
    setting = Setting(tmp_path, norm="transformer.h.0.ln_1")
    output = setting.run(inverse)
    assert output.notes["site"] == "transformer.h.0.ln_1"
    assert output.notes["found"]["evidence"] == "given"
    assert setting.score(inverse)["verdict"] == 100
    with pytest.raises(ProtocolError, match="not applicable, because the model has no module 'nowhere'"):
        Setting(tmp_path, norm="nowhere").run(inverse)


def test_fewer_distinct_tokens_than_features_give_a_quotient_and_no_cosine(setting):
    output = setting.run(inverse)
    few = replace(output, predictions={**output.predictions, "counts": np.array([128, 15])})
    with pytest.raises(ProtocolError, match=r"15 distinct tokens for width 16: no cosine .* over the mean: \d"):
        setting.task.score(setting.prepared, few)


# What the host is sent


@pytest.mark.parametrize("name", ["singular", "right", "counts", "epsilon", "basis", "present"])
@pytest.mark.parametrize("damage", ["missing", "misshapen", "infinite"])
def test_damaged_arrays_are_refused(whole, name, damage):
    task, prepared, output = whole
    arrays = dict(output.predictions)
    if damage == "missing":
        del arrays[name]
    elif damage == "misshapen":
        arrays[name] = arrays[name][None]
    else:
        arrays[name] = np.full(arrays[name].shape, np.inf)
    with pytest.raises(ProtocolError, match="the worker's array"):
        task.score(prepared, replace(output, predictions=arrays))


def test_arrays_that_do_not_fit_together_are_refused(whole):
    task, prepared, output = whole
    for name, wrong in (("basis", np.eye(15)), ("singular", np.ones(15)), ("counts", np.ones(3))):
        with pytest.raises(ProtocolError, match="do not fit together"):
            task.score(prepared, replace(output, predictions={**output.predictions, name: wrong}))


def test_only_the_cpu(setting):
    cell = CellInput(setting.prepared.view, setting.places.cache, 0, {"probe": given(inverse)}, "cuda")
    with pytest.raises(ProtocolError, match="'cuda'"):
        setting.task.run(cell)


def test_a_view_that_was_changed_or_lost_is_noticed(setting):
    setting.prepared.view.write_bytes(setting.prepared.view.read_bytes() + b" ")
    with pytest.raises(MissingDataError, match="damaged"):
        setting.run(inverse)
    setting.prepared.view.unlink()
    with pytest.raises(MissingDataError, match="cannot be read"):
        setting.run(inverse)


def test_the_final_norm_that_a_method_is_told_is_the_one_that_is_measured(setting):
    told = []

    def look(subject):
        told.append(subject.final_norm())
        return inverse(subject)

    setting.run(look)
    assert told[0] == FinalNorm("transformer.ln_f", 16, "output")
