"""Builds small models of a family: random weights, random inputs, and a scale of the final norm that says something."""

from __future__ import annotations

import importlib
import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from benchsuite.models.zoo.family import PICTURE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor, nn

    from benchsuite.models.zoo.family import Family, Size

SEQUENCE = 16
"""Tokens in one sequence."""
SMALLEST, LARGEST = 0.5, 2.0
"""Magnitudes of a perturbed scale; uniform in the logarithm between them."""
NEGATIVE = 0.3
"""Share of negative entries in a perturbed scale."""


def transformers() -> Any:
    """Import transformers. Late, because that takes seconds; untyped, because type checkers need minutes for it."""
    return importlib.import_module("transformers")


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers from logging below the level of errors: a tiny configuration breaks many of its habits.

    It shows no progress bars either: their lock is a semaphore, which a worker that is stopped would leave behind.
    """
    logging = transformers().logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def build(family: Family, size: Size, seed: int) -> nn.Module:
    """Return a model with random weights, float32, in eval mode; the same for the same seed.

    Args:
        family: of :data:`benchsuite.models.zoo.families.FAMILIES`.
        size: width, layers, heads and vocabulary.
        seed: of the weights; torch's global random stream is left as it was.
    """
    with quiet(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        architecture = getattr(transformers(), family.architecture)
        model: nn.Module = architecture(architecture.config_class(**family.settings(size)))
    return model.eval()


def perturb(model: nn.Module, family: Family, size: Size, generator: torch.Generator) -> None:
    """Give the final norm a random scale, and a random bias where it has one; in place.

    At initialisation a scale is all ones, so its inverse, itself and the all-ones vector are one direction, and no
    probe could be told from another. Magnitudes are log-uniform in ``SMALLEST..LARGEST``; about ``NEGATIVE`` of the
    entries are negative, and always the first. A norm without parameters stays as it is.
    """
    if family.offset is None:
        return
    norm = model.get_submodule(family.path(size))
    parameters = dict(norm.named_parameters(recurse=False))
    with torch.no_grad():
        weight = parameters["weight"]
        weight.copy_(random_scale(len(weight), generator) - family.offset)
        if "bias" in parameters:
            parameters["bias"].copy_(0.5 * torch.randn(len(weight), generator=generator))


def random_scale(width: int, generator: torch.Generator) -> Tensor:
    """Return a random scale ``[width]`` float32, see :func:`perturb`."""
    low, high = math.log(SMALLEST), math.log(LARGEST)
    magnitude = torch.exp(low + (high - low) * torch.rand(width, generator=generator))
    negative = torch.rand(width, generator=generator) < NEGATIVE
    negative[0] = True
    return torch.where(negative, -magnitude, magnitude)


def feed(family: Family, size: Size, items: int, generator: torch.Generator) -> dict[str, Tensor]:
    """Return random keyword arguments for a model: sequences of ``SEQUENCE`` ids, or pictures.

    Args:
        family: decides which arguments there are.
        size: of the model.
        items: number of sequences or pictures.
        generator: of the ids or pixels.
    """
    if family.food == "pixels":
        return {"pixel_values": torch.randn(items, 3, PICTURE, PICTURE, generator=generator)}
    names = ["input_ids", "decoder_input_ids"] if family.food == "tokens-twice" else ["input_ids"]
    return {name: torch.randint(size.vocabulary, (items, SEQUENCE), generator=generator) for name in names}
