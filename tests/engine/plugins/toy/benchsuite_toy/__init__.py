"""Tasks and methods for the engine's own tests: no torch, and every way to misbehave."""

from __future__ import annotations

from benchsuite.plugin import MethodCard, Metric, Parameter, TaskCard, bits_parameter, hookimpl

WAYS = (
    "raise", "nan", "shape", "objects", "exit", "exit-zero", "exit-python", "interrupt", "kill", "loop", "loud",
    "memory", "late-death", "child", "nothing", "notes", "surrogate", "infinite", "kill-parent", "thread",
)  # fmt: skip


@hookimpl
def benchsuite_methods():
    how = Parameter(name="how", default="raise", choices=WAYS, doc="What to do wrong.")
    share = Parameter(name="share", default=0.5, low=0.0, high=1.0, doc="Share of right answers.")
    return [
        MethodCard(
            name="toy-reference", kind="quantizer", target="benchsuite_toy.methods:Right", summary="Always right."
        ),
        MethodCard(
            name="toy-good",
            kind="quantizer",
            target="benchsuite_toy.methods:Share",
            summary="Right for a share of the answers.",
            version="1",
            parameters=(bits_parameter(), share),
        ),
        MethodCard(
            name="toy-bad",
            kind="quantizer",
            target="benchsuite_toy.methods:Bad",
            summary="Does one thing wrong.",
            parameters=(how,),
        ),
        MethodCard(
            name="toy-slow",
            kind="quantizer",
            target="benchsuite_toy.methods:Slow",
            summary="Takes its time.",
            parameters=(Parameter(name="seconds", default=0.1, low=0.0, doc="How long."),),
        ),
        MethodCard(
            name="toy-broken", kind="quantizer", target="benchsuite_toy.no_such_module:Gone", summary="Has no code."
        ),
        MethodCard(
            name="toy-norm", kind="norm_placement", target="benchsuite_toy.methods:Right", summary="A placement."
        ),
        MethodCard(
            name="toy-prenorm", kind="norm_placement", target="benchsuite_toy.methods:Right", summary="Another."
        ),
        MethodCard(name="toy-joint", kind="curriculum", target="benchsuite_toy.methods:Right", summary="A curriculum."),
        MethodCard(name="toy-stages", kind="curriculum", target="benchsuite_toy.methods:Right", summary="Another."),
        MethodCard(name="toy-probe", kind="probe", target="benchsuite_toy.methods:Right", summary="Fits no task here."),
    ]


@hookimpl
def benchsuite_tasks():
    accuracy = Metric(name="accuracy", unit="%")
    shared = {"target": "benchsuite_toy.task:Toy", "dataset": "toy", "protocol": "toy/1", "metrics": (accuracy,)}
    one = {**shared, "factors": ("quantizer",), "reference": {"quantizer": "toy-reference"}}
    two = {**shared, "factors": ("norm_placement", "curriculum")}
    return [
        TaskCard(
            name="toy-one",
            summary="Ten answers.",
            suites=("toy",),
            line_up=("toy-good", "of-no-plugin"),
            seeds=3,
            config={"answers": 10},
            **one,
        ),
        TaskCard(name="toy-more", summary="Twenty answers.", suites=("toy",), seeds=2, config={"answers": 20}, **one),
        TaskCard(name="toy-absent", summary="No data.", suites=("gone",), config={"missing": True}, **one),
        TaskCard(
            name="toy-two",
            summary="Two factors.",
            seeds=1,
            config={"answers": 4},
            reference={"norm_placement": "toy-norm", "curriculum": "toy-joint"},
            **two,
        ),
    ]
