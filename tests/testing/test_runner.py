"""The methods' checks run in a worker that a hang, a crash or a talkative plugin cannot harm."""

from __future__ import annotations

from benchsuite.testing.folder import PluginFolder
from benchsuite.testing.runner import run_method_checks

METHODS = """
import os, time
from benchsuite.models.quantized import SiteQuantizedModel

class Hanging:
    def quantize(self, job):
        time.sleep(300)

class Crashing:
    def quantize(self, job):
        os._exit(7)

class Talking:
    def quantize(self, job):
        print("hello")
        return SiteQuantizedModel(job.model)

class Probe:
    pass
"""

CARDS = """
from benchsuite.plugin import MethodCard, hookimpl

@hookimpl
def benchsuite_methods():
    return [
        MethodCard(name=name, kind=kind, target="benchsuite_{name}.method:" + target, summary="x")
        for name, kind, target in {methods}
    ]
"""


def run(write_plugin, name, methods, limit):
    """Return the outcomes of each of ``methods`` (name, kind, class)."""
    folder = write_plugin(name, METHODS, **{"__init__.py": CARDS.format(name=name, methods=methods)})
    info, cards = PluginFolder(folder).load()
    told = list(run_method_checks(cards, info.search_path, limit))
    return {card.name: [outcome for outcome in told if outcome.subject == card.name] for card in cards}


def test_a_method_that_hangs_fails_once_and_the_checks_end(write_plugin):
    told = run(write_plugin, "hanging", [("hangs", "quantizer", "Hanging")], limit=3.0)["hangs"]
    assert [outcome.check for outcome in told if not outcome.passed] == ["logits-have-shape-and-dtype"]
    assert "it did not end within 3 s" in told[-1].found
    assert "other checks were left out" in told[-1].found


def test_a_crash_costs_its_method_alone_and_prints_stay_off_stdout(write_plugin, capfd):
    methods = [("a-crash", "quantizer", "Crashing"), ("b-sound", "quantizer", "Talking"), ("c-probe", "probe", "Probe")]
    told = run(write_plugin, "several", methods, limit=120.0)
    assert [outcome.check for outcome in told["a-crash"] if not outcome.passed] == ["logits-have-shape-and-dtype"]
    assert "the process died with exit code 7" in told["a-crash"][-1].found
    assert [outcome.found for outcome in told["b-sound"] if not outcome.passed] == []
    assert len(told["b-sound"]) > 15
    assert [outcome.check for outcome in told["c-probe"]] == ["card-is-valid", "card-names-its-sources", "target-loads"]
    captured = capfd.readouterr()
    assert "hello" not in captured.out
    assert "hello" in captured.err
