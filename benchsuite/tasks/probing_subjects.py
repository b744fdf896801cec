"""The model under the probe and its tokens, for one seed. Worker side."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from benchsuite.errors import MissingDataError
from benchsuite.models.norms import find_final_norm
from benchsuite.models.zoo.build import SEQUENCE, build, feed, perturb
from benchsuite.models.zoo.checkpoints import load
from benchsuite.models.zoo.families import family_of
from benchsuite.models.zoo.family import Size
from benchsuite.tasks.probing_config import LEAST
from benchsuite.tasks.seeds import derive

if TYPE_CHECKING:
    from pydantic import JsonValue
    from torch import Tensor, nn

    from benchsuite.contracts.probe import FinalNorm
    from benchsuite.models.norms import Found
    from benchsuite.tasks.probing_config import SubjectConfig
    from benchsuite.tasks.probing_view import View

Batch = dict[str, "Tensor"]

WINDOW = 64
"""Tokens in one window of text."""
AT_ONCE = 16
"""Windows in one batch: what a large model needs for 1,024 tokens is what a probe needs of memory."""


@dataclass(frozen=True, eq=False)
class Material:
    """What one seed of a task is about."""

    model: nn.Module
    """In eval mode, float32. The task's own: no method ever sees it."""
    probe: tuple[Batch, ...]
    """What the method may run the model on."""
    truth: tuple[Batch, ...]
    """What the task measures on; drawn apart from ``probe``."""
    norm: str | None = None
    """Path of the final norm where it is known beforehand: from the table of families, or from the task's config."""
    given: str | None = None
    """Path from the task's config alone: then the search is left out."""
    notes: dict[str, JsonValue] = field(default_factory=dict)

    @cached_property
    def found(self) -> Found:
        """The final norm as found by behaviour. The table of families is not asked.

        Raises:
            NotApplicableError: there is none, or the config's path names none.
        """
        sample = {name: tensor[:1] for name, tensor in self.probe[0].items()}
        return find_final_norm(self.model, sample, self.given)

    def final_norm(self) -> FinalNorm:
        """Return where a method is told that the final norm is; raises as :attr:`found`."""
        return self.found.norm

    @property
    def site(self) -> str:
        """Where the task measures: the known path, else the one that was found; raises as :attr:`found`."""
        return self.norm or self.found.norm.path


def material(config: SubjectConfig, view: View, seed: int) -> Material:
    """Return the model and the tokens of ``seed``.

    Raises:
        MissingDataError: the checkpoint is damaged, or its text too short.
        UsageError: there is no such family.
    """
    return _family(config, seed) if config.family else _checkpoint(config, view, seed)


def _generator(seed: int, *axes: str) -> torch.Generator:
    return torch.Generator().manual_seed(derive(seed, *axes))


def _family(config: SubjectConfig, seed: int) -> Material:
    family = family_of(config.family or "")
    size = Size(config.width, config.layers, config.heads, config.vocabulary)
    model = build(family, size, derive(seed, "initial"))
    perturb(model, family, size, _generator(seed, "scale"))
    # A picture has 64 patches, and a class token besides in most families.
    per_item = 64 if family.food == "pixels" else SEQUENCE
    items = -(-config.tokens_per_width * config.width // per_item)
    batches = [feed(family, size, items, _generator(seed, "tokens", part)) for part in ("probe", "truth")]
    norm = config.norm or family.path(size)
    return Material(model, (batches[0],), (batches[1],), norm, config.norm, _notes(model, "random"))


def _checkpoint(config: SubjectConfig, view: View, seed: int) -> Material:
    model = _loaded(view.folder or "", tuple(view.hashes.items()))
    first = torch.tensor([[0, 1]]) % view.vocabulary
    width = find_final_norm(model, _arguments(model, first), config.norm).norm.width
    windows = -(-config.tokens_per_width * width // WINDOW)
    parts = [
        _windows(ids, windows, LEAST * width, view.vocabulary, _generator(seed, "tokens", part))
        for part, ids in (("probe", view.probe), ("truth", view.truth))
    ]
    probe, truth = (tuple(_arguments(model, ids) for ids in torch.split(part, AT_ONCE)) for part in parts)
    notes = _notes(model, config.text if view.truth else "random")
    return Material(model, probe, truth, config.norm, config.norm, notes)


@lru_cache(maxsize=1)
def _loaded(folder: str, _hashes: tuple[tuple[str, str], ...]) -> nn.Module:
    """Return the checkpoint; a warm worker loads it once."""
    return load(Path(folder))


def _windows(ids: tuple[int, ...], count: int, least: int, vocabulary: int, generator: torch.Generator) -> Tensor:
    """Return ``[count, WINDOW]`` ids: pieces of a text at random places, or random ids where there is no text."""
    if not ids:
        return torch.randint(0, vocabulary, (count, WINDOW), generator=generator)
    if len(ids) < max(least, 2 * WINDOW):
        raise MissingDataError(
            f"the text has {len(ids)} tokens for one half of the protocol, which needs {max(least, 2 * WINDOW)}",
            "Name a longer text in the task's config",
        )
    places = torch.randperm(len(ids) - WINDOW, generator=generator)[:count]
    return torch.tensor(ids).unfold(0, WINDOW, 1)[places]


def _arguments(model: nn.Module, ids: Tensor) -> Batch:
    config = getattr(model, "config", None)
    twice = getattr(config, "is_encoder_decoder", False)
    return {"input_ids": ids, "decoder_input_ids": ids} if twice else {"input_ids": ids}


def _notes(model: nn.Module, origin: str) -> dict[str, JsonValue]:
    return {"tokens_from": origin, "parameters": sum(parameter.numel() for parameter in model.parameters())}
