"""Each check of a quantizer meets a method that breaks just its rule; all of them meet methods that keep the rules."""

from __future__ import annotations

import os
import random
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from benchsuite.errors import ProtocolError
from benchsuite.models.quantized import SiteQuantizedModel, WeightFiller
from benchsuite.plugin import MethodCard, Paper, Parameter, Reported, bits_parameter
from benchsuite.testing.checks import Specimen, check_name, method_checks, quantizer_checks
from benchsuite.testing.conduct_checks import process_is_left_as_it_was

SUMMARY = "For a test."


class Good:
    """Weights to the grid, nothing else; the base of all that breaks a rule."""

    model = SiteQuantizedModel

    def __init__(self, bits=8):
        self.bits = bits

    def quantize(self, job):
        for _, module in job.model.weights():
            module.weight_site.fill(WeightFiller(self.bits))
        return self.model(job.model)


def specimen_of(method, **card):
    target = f"{__name__}:{method.__name__}"
    fields = {"name": "specimen", "kind": "quantizer", "summary": SUMMARY, "parameters": (bits_parameter(),)}
    return Specimen(MethodCard(**(fields | {"target": target} | card)))


def failures(specimen):
    """Return the message of each check that fails, by the check's name."""
    found = {}
    for check in quantizer_checks():
        try:
            check(specimen)
        except ProtocolError as error:
            found[check_name(check)] = str(error)
    return found


# Methods that break one rule each.


class Double(Good):
    class model(SiteQuantizedModel):
        def predict(self, graph):
            return super().predict(graph).double()


class WrongWidth(Good):
    class model(SiteQuantizedModel):
        def predict(self, graph):
            return torch.cat([super().predict(graph)] * 2, 1)


class NanOnBlank(Good):
    class model(SiteQuantizedModel):
        def predict(self, graph):
            logits = super().predict(graph)
            return logits * torch.nan if graph.num_nodes and not graph.x.any() else logits


class NoEmptyGraph(Good):
    class model(SiteQuantizedModel):
        def predict(self, graph):
            graph.x.amax()
            return super().predict(graph)


class ScalePerCalibrationNode(Good):
    class model(SiteQuantizedModel):
        def predict(self, graph):
            return super().predict(graph) * torch.ones(60)[: graph.num_nodes, None]


class ByIndex(Good):
    class model(SiteQuantizedModel):
        def predict(self, graph):
            return super().predict(graph) * (1 + torch.arange(graph.num_nodes)[:, None] / 30)


class Drifting(Good):
    class model(SiteQuantizedModel):
        calls = 0

        def predict(self, graph):
            self.calls += 1
            return super().predict(graph) + 1e-6 * self.calls


class OtherBitsEachTime(Good):
    def quantize(self, job):
        with torch.no_grad():
            next(job.model.parameters()).add_(int.from_bytes(os.urandom(4), "little") / 2**32)
        return super().quantize(job)


class ChangesTheGraph(Good):
    def quantize(self, job):
        job.graph.x.clamp_(max=0.5)
        return super().quantize(job)


class PeeksBehindTrain(Good):
    def quantize(self, job):
        getattr(job.train, "__closure__", None)
        return super().quantize(job)


class MoreThreads(Good):
    def quantize(self, job):
        torch.set_num_threads(torch.get_num_threads() + 1)
        return super().quantize(job)


class Unpacked(Good):
    class model(SiteQuantizedModel):
        def state(self):
            return dict(self.model.named_parameters())


class StoresNumbers(Good):
    class model(SiteQuantizedModel):
        def state(self):
            return {**super().state(), "bits": 8}


class NamesLayers(Good):
    class model(SiteQuantizedModel):
        def execution(self):
            return {"layer0": "simulated"}


class NamesOtherWays(Good):
    class model(SiteQuantizedModel):
        def execution(self):
            return dict.fromkeys(super().execution(), "int8")


class TellsTensors(Good):
    class model(SiteQuantizedModel):
        def diagnostics(self):
            return {"scale": torch.ones(2)}


class TellsNan(Good):
    class model(SiteQuantizedModel):
        def diagnostics(self):
            return {"scale": float("nan")}


class StumblesOverAttention(Good):
    def quantize(self, job):
        if job.model.normalisation == "loops":
            raise ValueError("no static adjacency")
        return super().quantize(job)


class StumblesAtTwoBits(Good):
    def quantize(self, job):
        return super().quantize(job) if self.bits > 2 else 1 / 0


BROKEN = [
    (Double, "logits-have-shape-and-dtype", "torch.float64; wanted: torch.float32"),
    (WrongWidth, "logits-have-shape-and-dtype", "shape (60, 6); wanted: [nodes, classes] = (60, 3)"),
    (NanOnBlank, "logits-are-finite", "180 of 180 logits are NaN or infinite on a graph whose features are all zero"),
    (NoEmptyGraph, "small-graphs-are-predicted", "an empty graph: predict raised"),
    (ScalePerCalibrationNode, "unseen-graphs-are-predicted", "a larger unseen graph: predict raised RuntimeError"),
    (ByIndex, "nodes-may-be-renumbered", "of 60 nodes"),
    (Drifting, "predict-is-repeatable", "predicting the same graph again"),
    (OtherBitsEachTime, "same-seed-gives-same-logits", "two runs of one job differ"),
    (ChangesTheGraph, "inputs-are-untouched", "job.graph.x is not what it was"),
    (PeeksBehindTrain, "labels-are-left-alone", "job.train.__closure__"),
    (MoreThreads, "process-is-left-as-it-was", "torch's number of threads"),
    (Unpacked, "state-is-packed", "state() holds 66572 bytes, FP32's weights 66572; wanted: fewer at 8 bits"),
    (StoresNumbers, "state-is-packed", "state()['bits'] is int; wanted: a tensor"),
    (NamesLayers, "execution-names-the-products", "layer0, layers.0.aggregation"),
    (NamesOtherWays, "execution-names-the-products", "= 'int8'; wanted: one of integer, packed, simulated, float"),
    (TellsTensors, "diagnostics-are-json", "Tensor is not JSON serializable"),
    (TellsNan, "diagnostics-are-json", "not JSON compliant"),
    (StumblesOverAttention, "every-backbone-works-or-is-refused", "gat: quantize raised ValueError: no static"),
    (StumblesAtTwoBits, "declared-values-work", "bits=2: quantize raised ZeroDivisionError"),
]


@pytest.mark.parametrize(("method", "check", "words"), BROKEN, ids=[f"{m.__name__}" for m, _, _ in BROKEN])
def test_a_method_that_breaks_one_rule_fails_that_check_alone(method, check, words):
    found = failures(specimen_of(method))
    assert list(found) == [check]
    assert words in found[check]


def test_each_check_of_behaviour_has_a_method_that_fails_it():
    covered = {check for _, check, _ in BROKEN}
    everything = {check_name(check) for check in quantizer_checks()}
    of_the_card = {check_name(check) for check in method_checks("probe")} | {"target-quantizes"}
    assert covered | of_the_card == everything


def test_a_sound_method_passes_every_check():
    assert failures(specimen_of(Good)) == {}


# Failures that take others along.


class DrawsFromTorch(Good):
    def quantize(self, job):
        with torch.no_grad():
            job.model.layers[0].combination.weight.add_(torch.rand(1))
        return super().quantize(job)


class Silent(Good):
    def quantize(self, job):
        return None


class NoQuantize:
    def __init__(self, bits=8):
        self.bits = bits


def test_drawing_from_torchs_own_stream_shows_in_the_result_and_in_the_process():
    found = failures(specimen_of(DrawsFromTorch))
    assert {"same-seed-gives-same-logits", "process-is-left-as-it-was"} <= set(found)
    assert "torch's random state" in found["process-is-left-as-it-was"]


def test_a_method_that_returns_nothing_is_told_what_to_return():
    found = failures(specimen_of(Silent))
    assert "quantize returned NoneType, which has no predict()" in found["logits-have-shape-and-dtype"]


def test_a_target_without_quantize_is_named():
    assert "makes NoQuantize, which has no quantize()" in failures(specimen_of(NoQuantize))["target-quantizes"]


@pytest.mark.parametrize(
    ("card", "words"),
    [
        ({"target": "no_such_module:Method"}, "importing no_such_module raised ModuleNotFoundError"),
        ({"target": f"{__name__}:Missing"}, "has no 'Missing'"),
        ({"parameters": (Parameter(name="width", default=8, doc="No argument."),)}, "unexpected keyword argument"),
    ],
)
def test_a_target_that_cannot_be_made_fails_with_the_reason(card, words):
    assert words in failures(specimen_of(Good, **card))["target-loads"]


# Cards.

PAPER = Paper(title="A title", url="https://example.org", year=2024)
FIGURE = Reported(task="cora-gcn", metric="accuracy", value=81.5, source="Table 1")


@pytest.mark.parametrize(
    ("card", "check", "words"),
    [
        ({"contract": 99}, "card-is-valid", "contract=99 for kind 'quantizer'; wanted: version 1"),
        ({"reported": (FIGURE,)}, "card-names-its-sources", "1 published figures and no paper"),
        ({"paper": PAPER}, "card-names-its-sources", "a paper and no departures"),
    ],
)
def test_a_card_that_breaks_a_rule_fails_that_check_alone(card, check, words):
    found = failures(specimen_of(Good, **card))
    assert list(found) == [check]
    assert words in found[check]


def test_a_card_made_around_its_validation_is_refused():
    card = MethodCard.model_construct(name="Not A Name", kind="quantizer", target="x:Y", summary=SUMMARY)
    with pytest.raises(ProtocolError, match="name: String should match pattern"):
        quantizer_checks()[0](Specimen(card))


def test_a_published_method_with_its_departures_passes():
    card = {"paper": PAPER, "reported": (FIGURE,), "departures": ("None known.",)}
    assert failures(specimen_of(Good, **card)) == {}


# The process.


class Stains(Good):
    """Does to the process what the test put into :attr:`stain`."""

    stain = staticmethod(lambda: None)

    def quantize(self, job):
        type(self).stain()
        return super().quantize(job)


STAINS = {
    "torch's random state": lambda: torch.rand(1),
    "numpy's random state": lambda: np.random.rand(),
    "random's state": random.random,
    "torch's default dtype": lambda: torch.set_default_dtype(torch.float64),
    "torch's number of threads": lambda: torch.set_num_threads(3),
    "torch's grad mode": lambda: torch.set_grad_enabled(False),
    "torch's deterministic flag": lambda: torch.use_deterministic_algorithms(True),
    "the working directory": lambda: os.chdir("/"),
    "os.environ": lambda: os.environ.update(LEFT_BEHIND="1"),
    "warnings.filters": lambda: warnings.simplefilter("ignore"),
    "sys.path": lambda: sys.path.append("/nowhere"),
}


@pytest.mark.parametrize("name", STAINS)
def test_each_stain_on_the_process_is_found_and_washed_off(name, monkeypatch):
    monkeypatch.setattr(Stains, "stain", staticmethod(STAINS[name]))
    specimen = specimen_of(Stains)
    specimen.quantized()  # having been stained before must not hide it
    with pytest.raises(ProtocolError, match=name):
        process_is_left_as_it_was(specimen)
    monkeypatch.setattr(Stains, "stain", staticmethod(lambda: None))
    process_is_left_as_it_was(specimen_of(Stains))
    assert torch.is_grad_enabled()
    assert "LEFT_BEHIND" not in os.environ


def test_what_happens_once_as_with_a_late_import_is_forgiven(monkeypatch):
    once = iter([lambda: os.environ.update(LEFT_BEHIND="1")])
    monkeypatch.setattr(Stains, "stain", staticmethod(lambda: next(once, lambda: None)()))
    specimen = specimen_of(Stains)
    specimen.backbone = "gcn"  # or finding it out would use up the one time
    process_is_left_as_it_was(specimen)


# Refusals.


class RefusesAttention(Good):
    def quantize(self, job):
        if job.model.normalisation == "loops":
            raise ProtocolError("attention has no static adjacency")
        return super().quantize(job)


class RefusesAll(Good):
    def quantize(self, job):
        raise ProtocolError("not today")


class Joint(Good):
    def __init__(self, low=0.0, high=0.1):
        if low + high > 1:
            raise ProtocolError(f"low + high = {low + high} is more than 1")
        self.bits = 8


def test_a_refused_backbone_is_a_remark_and_the_next_one_is_used_for_the_rest():
    specimen = specimen_of(RefusesAttention)
    remarks = {check_name(check): check(specimen) for check in quantizer_checks()}
    told = remarks["every-backbone-works-or-is-refused"]
    assert told == "not applicable to gat (attention has no static adjacency)"
    assert specimen.backbone == "gcn"


def test_a_method_that_refuses_every_backbone_fails():
    found = failures(specimen_of(RefusesAll))["every-backbone-works-or-is-refused"]
    assert "quantize refuses gcn (not today), gat (not today)" in found


def test_a_value_that_another_parameter_forbids_is_a_remark():
    parameters = tuple(
        Parameter(name=name, default=default, doc="A probability.", low=0, high=1)
        for name, default in (("low", 0.0), ("high", 0.1))
    )
    check = next(check for check in quantizer_checks() if check_name(check) == "declared-values-work")
    remark = check(specimen_of(Joint, parameters=parameters))
    assert remark == "3 values tried; refused beside the other defaults: low=1.0"


def test_a_message_names_the_line_that_raised():
    message = failures(specimen_of(StumblesAtTwoBits))["declared-values-work"]
    lines = Path(__file__).read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "1 / 0" in text)
    assert f"See test_method_checks.py, line {line}" in message
