"""The probe tasks that come with the suite: 14 families at random init, and trained checkpoints. Imports no torch."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchsuite.contracts.cards import Metric, TaskCard

if TYPE_CHECKING:
    from collections.abc import Iterator

PROTOCOL = "dead-direction/1"
METRICS = (
    Metric(name="verdict", unit="% right", digits=0),
    Metric(name="cosine", unit="", digits=5),
    Metric(name="above_floor", unit="decades", higher_is_better=False, digits=1),
)

#: Family, title, and what is particular about its final norm.
LAYER_NORM = (
    ("gpt2", "GPT-2", "pre-norm decoder"),
    ("gpt-neox", "GPT-NeoX", "parallel residual decoder"),
    ("opt", "OPT", "pre-norm decoder"),
    ("phi", "Phi", "parallel residual decoder"),
    ("cohere", "Cohere", "no bias, float32 inside"),
    ("nemotron", "Nemotron", "scale 1 + w"),
    ("mpt", "MPT", "no bias"),
    ("bert", "BERT", "post-norm encoder"),
    ("vit", "ViT", "vision encoder, random pixels"),
)
RMS_NORM = (
    ("llama", "Llama", "scale w"),
    ("qwen3", "Qwen3", "scale w"),
    ("gemma3", "Gemma 3", "scale 1 + w"),
    ("t5", "T5 decoder", "an RMSNorm that is called LayerNorm"),
    ("mamba", "Mamba", "state space model"),
)
#: Its recurrence runs token by token where its kernels are not installed.
FEWER_LAYERS = {"mamba": 2}
#: One is enough to see that probes work: the other kinds need the time more.
QUICK = frozenset({"gpt2"})

CHECKPOINT_FOLDER = "models"
"""Below ``BENCHSUITE_DATA``: each folder in it with a ``config.json`` becomes a task."""
_LONGEST = 64 - len("trained-")


def _card(
    name: str, summary: str, dataset: str, suites: tuple[str, ...], config: dict[str, Any], group: str = ""
) -> TaskCard:
    return TaskCard(
        name=name,
        target="benchsuite.tasks.probing:DeadDirection",
        summary=summary,
        factors=("probe",),
        dataset=dataset,
        protocol=PROTOCOL,
        metrics=METRICS,
        config=config,
        reference={"probe": "covariance-svd"},
        line_up=("dead-direction", "gamma-direction", "ones-direction", "random-direction"),
        group=group,
        suites=suites,
        seeds=10,
    )


def _random(family: str, title: str, detail: str, kind: str) -> TaskCard:
    suites = ("quick", "standard", "full") if family in QUICK else ("standard", "full")
    summary = f"Dead directions after the {kind} of {title} ({detail}), random init with a perturbed scale"
    config = {"family": family} | ({"layers": FEWER_LAYERS[family]} if family in FEWER_LAYERS else {})
    return _card(f"init-{family}", summary, "random-tokens", suites, config, group=f"init-{kind.lower()}")


def _trained(folder: str, summary: str, suites: tuple[str, ...], tokens_per_width: int = 8) -> TaskCard:
    name = slug(folder.rpartition("/")[2])
    config = {"checkpoint": folder, "tokens_per_width": tokens_per_width}
    return _card(f"trained-{name}", summary, name, suites, config)


def slug(name: str) -> str:
    """Return ``name`` in lower case, with hyphens for whatever a task's name cannot hold."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_LONGEST].strip("-")


TASKS: tuple[TaskCard, ...] = (
    *(_random(*row, "LayerNorm") for row in LAYER_NORM),
    *(_random(*row, "RMSNorm") for row in RMS_NORM),
    _trained(
        "stories260K",
        "Dead directions after the RMSNorm of stories260K (Llama, trained on TinyStories), English text",
        ("standard", "full"),
    ),
)


def local_tasks(root: Path | None) -> tuple[TaskCard, ...]:
    """Return a task for each checkpoint folder below ``root / "models"``, in order of name.

    Only names are looked at: what is in a folder is checked when its task is prepared. A folder whose name makes no
    name of a task, or the same as another's, is left out.

    Args:
        root: the data folder, or None.
    """
    found: dict[str, TaskCard] = {}
    for folder in _folders(root):
        summary = f"Dead directions after the final norm of the checkpoint {CHECKPOINT_FOLDER}/{folder}"
        if slug(folder):
            # As few tokens as the protocol allows: such a model may be large.
            card = _trained(f"{CHECKPOINT_FOLDER}/{folder}", summary, ("checkpoints",), tokens_per_width=4)
            found.setdefault(card.name, card)
    taken = {task.name for task in TASKS}
    return tuple(card for name, card in sorted(found.items()) if name not in taken)


def folder_behind(name: str, root: Path | None) -> str | None:
    """Return the folder below ``root`` that the task ``trained-<name>`` reads, or None where there is no such task.

    Args:
        name: as :func:`slug` returns it.
        root: the data folder, or None.
    """
    cards = (*TASKS, *local_tasks(root))
    return next((str(card.config["checkpoint"]) for card in cards if card.name == f"trained-{name}"), None)


def _folders(root: Path | None) -> Iterator[str]:
    """Yield the names of the folders that hold a configuration, sorted; none where nothing can be read.

    Hidden ones are left out: an import that is under way, or was cut short, lies in one.
    """
    try:
        entries = sorted(os.scandir(root / CHECKPOINT_FOLDER), key=lambda entry: entry.name) if root else []
    except OSError:
        return
    for entry in entries:
        hidden = entry.name.startswith(".")
        if not hidden and (Path(entry) / "config.json").is_file() and entry.name.isprintable():
            yield entry.name


def tasks() -> list[TaskCard]:
    """Return all probe tasks: the suite's own, and one for each checkpoint below ``BENCHSUITE_DATA``."""
    root = os.environ.get("BENCHSUITE_DATA")
    return [*TASKS, *local_tasks(Path(root) if root else None)]
