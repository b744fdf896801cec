"""What measuring a dead direction costs, and what reading it from the parameters costs, on a 12-layer model.

Measuring is a forward pass over four tokens per unit of width and the SVD of the activations (``covariance-svd``).
Reading is a handful of calls of the norm module alone (``dead-direction``). Every measurement stands between two
readings in one process on one thread (``benchsuite.tasks.timing``), so that the ratio is one of neighbours::

    python benchmarks/probe_cost.py             # the shape of GPT-2: 12 layers, width 768; a minute
    python benchmarks/probe_cost.py --check     # exit code 1 where the goal is missed
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from benchsuite.plugin import Reading, Subject
    from benchsuite.tasks.probing_subjects import Material
    from benchsuite.tasks.timing import Clock, Timing

PLUGINS = Path(__file__).parents[1] / "plugins"
TIMES_CHEAPER = 1000.0
"""Goal: reading costs at most a thousandth of measuring."""
TOKENS_PER_WIDTH = 4
"""What the protocol needs at least."""


def method(folder: str, target: str) -> Any:
    """Return an instance of a plugin's method with its defaults."""
    sys.path.insert(0, str(PLUGINS / folder))
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)()


def prepared(family: str, width: int, layers: int, seed: int) -> Material:
    """Return a model and its tokens, with the final norm found already."""
    from benchsuite.tasks.probing_config import SubjectConfig
    from benchsuite.tasks.probing_subjects import material
    from benchsuite.tasks.probing_view import View

    config = SubjectConfig(family=family, width=width, layers=layers, heads=12, tokens_per_width=TOKENS_PER_WIDTH)
    found = material(config, View(), seed)
    found.final_norm()
    return found


def subject_of(material: Material) -> Subject:
    """Return what both methods are given."""
    import torch

    from benchsuite.plugin import Subject

    generator = torch.Generator().manual_seed(0)
    return Subject(material.model, lambda: iter(material.probe), torch.float32, material.final_norm, generator)


def measure(subject: Subject) -> tuple[Timing[Reading], Timing[Reading]]:
    """Time measuring between readings, and measuring between forward passes."""
    import torch

    from benchsuite.tasks.timing import interleave

    reading = method("dead-direction", "benchsuite_dead_direction.method:DeadDirection")
    measuring = method("probe-controls", "benchsuite_probe_controls.covariance:CovarianceSvd")
    device = torch.device("cpu")

    def call(clock: Clock) -> Reading:
        with clock:
            result: Reading = measuring.probe(subject)
        return result

    def forward() -> None:
        with torch.no_grad():
            for batch in subject.batches():
                subject.model(**batch)

    return interleave(lambda: reading.probe(subject), call, device), interleave(forward, call, device)


@click.command()
@click.option("--family", default="gpt2", show_default=True, help="A family of benchsuite.models.zoo.families.")
@click.option("--width", default=768, show_default=True, type=click.IntRange(min=8))
@click.option("--layers", default=12, show_default=True, type=click.IntRange(min=1))
@click.option("--seed", default=0, show_default=True)
@click.option("--check", is_flag=True, help="Exit with code 1 where the goal is missed.")
def main(family: str, width: int, layers: int, seed: int, check: bool) -> None:
    """Print how many readings one measurement costs."""
    import torch

    torch.set_num_threads(1)
    material = prepared(family, width, layers, seed)
    against_reading, against_forward = measure(subject_of(material))
    tokens = TOKENS_PER_WIDTH * width
    click.echo(f"{family}, {layers} layers, width {width}, {tokens} tokens, seed {seed}, one thread")
    click.echo(f"  forward and SVD    {1e3 * against_reading.seconds:>12.2f} ms")
    click.echo(f"    of that forward  {1e3 * against_forward.forward_seconds:>12.2f} ms")
    click.echo(f"  parameters only    {1e3 * against_reading.forward_seconds:>12.3f} ms")
    ratio = against_reading.cost_ratio
    click.echo(
        f"  (forward + SVD) : (parameters only) = {ratio:.0f} : 1   "
        f"n={len(against_reading.call)}, drift {against_reading.drift:.2f}"
    )
    click.echo(
        f"  forward : (parameters only) = {against_forward.forward_seconds / against_reading.forward_seconds:.0f} : 1"
    )
    met = ratio >= TIMES_CHEAPER
    click.echo(f"{'met   ' if met else 'MISSED'}  measuring at least {TIMES_CHEAPER:g} times dearer than reading")
    sys.exit(0 if met or not check else 1)


if __name__ == "__main__":
    main()
