"""Finds a model's final norm by behaviour: the last norm whose output is what the trunk returns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from benchsuite.contracts.probe import FinalNorm, NotApplicableError
from benchsuite.models.norms.behaviour import Examination, examine
from benchsuite.models.norms.trace import trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch import Tensor, nn

    from benchsuite.contracts.probe import Evidence
    from benchsuite.models.norms.trace import Call, Trace

_MEND = "Give the module path of the norm that is meant"


@dataclass(frozen=True, eq=False)
class Found:
    """A final norm and what it is."""

    norm: FinalNorm
    examination: Examination


def find_final_norm(model: nn.Module, inputs: Mapping[str, Tensor], path: str | None = None) -> Found:
    """Return the final norm of ``model``.

    One forward pass shows which modules map hidden states to hidden states of the same shape. From the last to the
    first, the one that passes :func:`~benchsuite.models.norms.behaviour.examine` and whose output *equals* the trunk's
    last hidden state is the final norm. Where there is none (the last hidden state is projected, transposed, or taken
    before the norm), the last norm of the trunk's width that ran before the trunk returned is it, with the evidence
    ``order``.

    Args:
        model: any module; transformers models name their trunk's ``last_hidden_state``, of others the output counts.
        inputs: keyword arguments of one small batch.
        path: the module that is meant; the search is left out, the examination is not.

    Raises:
        NotApplicableError: there is no such norm, or ``path`` names none.
    """
    seen = trace(model, inputs)
    if path is not None:
        return _given(model, seen, path)
    judge = _Judge()
    return _by_output(seen, judge) or _by_order(seen, judge) or judge.give_up(seen)


def _given(model: nn.Module, seen: Trace, path: str) -> Found:
    try:
        module = model.get_submodule(path)
    except AttributeError:
        raise NotApplicableError(f"the model has no module {path!r}", "See model.named_modules()") from None
    # The same module may have run under another name (shared layers).
    width = next((call.width for call in reversed(seen.calls) if call.module is module), None)
    if width is None:
        raise NotApplicableError(f"{path!r} does not map hidden states to hidden states as a norm does", _MEND)
    examination = examine(module, width)
    if not examination.is_norm:
        raise NotApplicableError(f"{path!r} is no norm: {examination.reason}", _MEND)
    return Found(FinalNorm(path, width, "given"), examination)


class _Judge:
    """Examines each module once."""

    def __init__(self) -> None:
        self.verdicts: dict[tuple[nn.Module, int], Examination] = {}

    def norm(self, call: Call) -> Examination | None:
        """Return the examination of a call's module if it is a norm."""
        key = call.module, call.width
        if key not in self.verdicts:
            self.verdicts[key] = examine(*key)
        return self.verdicts[key] if self.verdicts[key].is_norm else None

    def last(self, calls: Iterable[Call]) -> tuple[Call, Examination] | None:
        """Return the last of ``calls`` whose module is a norm."""
        for call in sorted(calls, key=lambda call: -call.order):
            examination = self.norm(call)
            if examination is not None:
                return call, examination
        return None

    def give_up(self, seen: Trace) -> Found:
        """Say why there is no final norm."""
        if not seen.calls:
            raise NotApplicableError("no small module maps hidden states to hidden states of the same shape", _MEND)
        causes = Counter(verdict.reason for verdict in self.verdicts.values())
        told = "; ".join(f"{count} of them: {reason}" for reason, count in causes.most_common(3))
        raise NotApplicableError(
            f"none of the {len(self.verdicts)} modules that could be a norm is one ({told})", _MEND
        )


def _by_output(seen: Trace, judge: _Judge) -> Found | None:
    trunk = seen.trunk
    if trunk is None:
        return None
    equal = (c for c in seen.calls if c.output.shape == trunk.shape and torch.equal(c.output.float(), trunk.float()))
    return _found(judge.last(equal), "output")


def _by_order(seen: Trace, judge: _Judge) -> Found | None:
    inside = [call for call in seen.calls if call.order <= seen.end]
    width = None if seen.trunk is None else seen.trunk.shape[-1]
    # Where the trunk ends in a projection to another width, no norm has the trunk's.
    fitting = [call for call in inside if call.width == width]
    return _found(judge.last(fitting) or judge.last(inside), "order")


def _found(last: tuple[Call, Examination] | None, evidence: Evidence) -> Found | None:
    if last is None:
        return None
    call, examination = last
    return Found(FinalNorm(call.path, call.width, evidence), examination)
