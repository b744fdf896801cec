"""The distillation tasks that come with the suite. Imports no torch."""

from __future__ import annotations

from typing import Any

from benchsuite.contracts.cards import Metric, TaskCard

PROTOCOL = "distillation/1"
CROSS_ENTROPY = Metric(name="cross_entropy", unit="nats", higher_is_better=False, digits=4)

#: Sizes that let a whole 2 x 2 of placements and curricula finish while one waits. It shows that everything works:
#: every arm is far from its teacher, and nothing is to be concluded from the order of the arms.
QUICK: dict[str, Any] = {
    "teacher": "train:quick",
    "corpus": "cpython-docs",
    "passage": 160,
    "vocab": 512,
    "width": 64,
    "heads": 4,
    "kv_heads": 2,
    "mlp": 128,
    "blocks": 2,
    "layers_per_block": 1,
    "context": 64,
    "batch": 16,
    "phase": 40,
    "held_out": 48,
    "learning_rate": 2e-3,
    "warmup": 0.1,
    "curve_points": 20,
}

#: On one thread half a minute for joint, 75 s for grow: 8 seeds of 2 x 3 arms in three quarters of an hour.
SMALL: dict[str, Any] = {
    "teacher": "train:small",
    "corpus": "gutenberg",
    "vocab": 1024,
    "width": 128,
    "heads": 4,
    "kv_heads": 2,
    "mlp": 344,
    "blocks": 3,
    "layers_per_block": 1,
    "context": 64,
    "batch": 16,
    "phase": 200,
    "held_out": 256,
    "learning_rate": 2e-3,
    "warmup": 0.04,
}

#: As published: arXiv 2608.13156. 64 documents of 972 tokens on average make its 3.11 B tokens of 50,000 steps.
QWEN3_8B: dict[str, Any] = {
    "teacher": "hub:Qwen/Qwen3-8B-Base",
    "corpus": "folder:fineweb-edu-10bt",
    "passage": 10**9,
    "vocab": 151669,
    "width": 4096,
    "heads": 32,
    "kv_heads": 8,
    "mlp": 12288,
    "blocks": 3,
    "layers_per_block": 3,
    "context": 8192,
    "batch": 64,
    "phase": 50_000,
    "held_out": 4833,
    "learning_rate": 1e-4,
    "precision": "bfloat16",
    "tokens_per_document": 972.0,
    "teacher_parameters": 8_190_735_360,
}


def _task(
    name: str, summary: str, dataset: str, config: dict[str, Any], suites: tuple[str, ...], seeds: int
) -> TaskCard:
    return TaskCard(
        name=name,
        target="benchsuite.tasks.distillation.task:Distillation",
        summary=summary,
        factors=("norm_placement", "curriculum"),
        dataset=dataset,
        protocol=PROTOCOL,
        metrics=(CROSS_ENTROPY,),
        config=config,
        reference={"norm_placement": "pre", "curriculum": "joint"},
        line_up=("pre", "post", "joint", "grow"),
        suites=suites,
        seeds=seeds,
    )


TASKS: tuple[TaskCard, ...] = (
    _task(
        "distill-quick",
        "A student of 2 blocks learns from a small teacher on the help topics of Python: does every arm run",
        "cpython-docs",
        QUICK,
        ("quick",),
        2,
    ),
    _task(
        "distill-small",
        "A student of 3 blocks learns from a teacher of 6 layers on seven novels: norm placement by depth curriculum",
        "gutenberg",
        SMALL,
        ("small", "full"),
        8,
    ),
    _task(
        "distill-qwen3-8b",
        "The published setting: Qwen3-8B-Base into 3 blocks of 3 layers on FineWeb-Edu; not for one machine",
        "fineweb-edu",
        QWEN3_8B,
        ("paper",),
        1,
    ),
)
