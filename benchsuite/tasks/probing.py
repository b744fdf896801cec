"""Probing for dead directions after the final norm (protocol ``dead-direction/1``).

The protocol is in ``docs/protocols/probing.md``; its worker side is :mod:`benchsuite.tasks.probing_bench`, its formulas
are in :mod:`benchsuite.tasks.probing_score`. The host side imports no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchsuite.contracts.probe import NotApplicableError
from benchsuite.contracts.task import Prepared
from benchsuite.errors import ProtocolError
from benchsuite.tasks.config import read_config
from benchsuite.tasks.probing_config import SubjectConfig
from benchsuite.tasks.probing_score import Spectrum
from benchsuite.tasks.probing_view import make_view, read_view, write_view

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchsuite.contracts.cards import TaskCard
    from benchsuite.contracts.task import CellInput, CellOutput, Places

_ARRAYS = {"singular": 1, "right": 2, "counts": 1, "epsilon": 0, "basis": 2, "present": 0}


class DeadDirection:
    """The task of every card whose protocol is ``dead-direction/1``.

    Args:
        card: its config is a :class:`~benchsuite.tasks.probing_config.SubjectConfig`.

    Raises:
        ProtocolError: the config is not.
    """

    def __init__(self, card: TaskCard) -> None:
        self.card = card
        self.config = read_config(card.name, card.config, SubjectConfig)

    def prepare(self, places: Places) -> Prepared:
        """Look for the checkpoint, hash it, and write what a worker is told of it.

        There are no labels to hold out: the ground truth is the model's own, and measured in :meth:`run` before the
        method gets a copy of the model.

        Raises:
            MissingDataError: the checkpoint is absent or damaged.
            StoreError: the cache cannot be written.
        """
        view = make_view(self.config, places.data)
        return Prepared(write_view(view, places.cache), view.content_hash(), {})

    def run(self, cell: CellInput) -> CellOutput:
        """Measure the ground truth, then let the method read the model.

        Raises:
            MissingDataError: the view or the checkpoint is damaged, or the text too short.
            ProtocolError: the model has no final norm ("not applicable, because"), the method broke its contract, or
                the device is not the CPU.
            StoreError: the cache cannot be written.
        """
        import torch

        from benchsuite.tasks.containment import contained
        from benchsuite.tasks.probing_bench import Bench
        from benchsuite.tasks.probing_subjects import material
        from benchsuite.tasks.seeds import derive

        if cell.device != "cpu":
            raise ProtocolError(f"probes run on the CPU, not on {cell.device!r}", "Leave the device out")
        with contained(derive(cell.seed, "global"), torch.device("cpu")):
            try:
                return Bench(cell, material(self.config, read_view(cell.view), cell.seed)).output()
            except NotApplicableError as error:
                mend = "Name the norm's module path in the task's config"
                raise ProtocolError(f"not applicable, because {error.message}", mend) from error

    def score(self, prepared: Prepared, output: CellOutput) -> dict[str, float]:
        """Return the verdict on the claim, its cosine with the dead direction, and its height above the noise floor.

        Raises:
            ProtocolError: the method called itself not applicable on a model that has a final norm; an array is
                missing or malformed; or there were fewer distinct tokens than features, so that no cosine is defined.
        """
        reason = output.notes.get("not_applicable")
        if reason is not None:
            raise ProtocolError(f"the probe says: not applicable, because {reason}")
        arrays = _checked(output.predictions)
        tokens, distinct = map(int, arrays["counts"])
        truth = Spectrum(arrays["singular"], arrays["right"], tokens, distinct, float(arrays["epsilon"]))
        basis = arrays["basis"]
        cosine = truth.cosine(basis)
        if cosine is None:
            raise ProtocolError(
                f"{distinct} distinct tokens for width {truth.width}: no cosine is defined "
                f"(variance along the claim over the mean: {truth.quotient(basis):.3g})",
                "Raise tokens_per_width in the task's config",
            )
        right = truth.verdict(basis, bool(arrays["present"]))
        return {"verdict": 100.0 * right, "cosine": cosine, "above_floor": truth.above_floor(basis)}


def _checked(arrays: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    for name, dimensions in _ARRAYS.items():
        array = arrays.get(name)
        if not isinstance(array, np.ndarray) or array.ndim != dimensions or not np.all(np.isfinite(array)):
            raise ProtocolError(f"the worker's array {name!r} is missing, misshapen or not finite")
    width = arrays["right"].shape[1]
    if (
        arrays["basis"].shape[1] != width
        or len(arrays["singular"]) != len(arrays["right"])
        or len(arrays["counts"]) != 2
    ):
        raise ProtocolError("the worker's arrays do not fit together")
    return arrays
