"""One quantizer under test: made from its card, run on toy jobs, every error of its own turned into a finding."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import importlib
import inspect
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from benchsuite.contracts.graph import Graph
from benchsuite.engine.process_state import preserved
from benchsuite.errors import ProtocolError
from benchsuite.models.backbones import BACKBONES
from benchsuite.testing.findings import NotApplicable, attempt, finding
from benchsuite.testing.sealed import seal
from benchsuite.testing.toys import toy_graph, toy_job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchsuite.contracts.cards import MethodCard, Scalar
    from benchsuite.contracts.quantizer import QuantizationJob, QuantizedModel, Quantizer

#: GCN first: nearly every method takes it, and it is the fastest.
ORDER = ("gcn", *sorted(set(BACKBONES) - {"gcn"}))


class Specimen:
    """A quantizer under test.

    Whatever the method does to the process's shared state is undone after each call, so that one check cannot spoil
    the next.

    Args:
        card: of the method; its target must be importable.
    """

    def __init__(self, card: MethodCard) -> None:
        self.card = card
        self.changed: list[str] = []
        """Names of the shared state that calls so far have changed (and that was put back)."""
        self._results: dict[str, QuantizedModel | ProtocolError] = {}

    def __str__(self) -> str:
        return self.card.name

    @cached_property
    def factory(self) -> Callable[..., Quantizer]:
        """The card's target.

        Raises:
            ProtocolError: it cannot be imported or does not exist.
        """
        module_name, _, attribute = self.card.target.partition(":")
        needs = ", ".join(self.card.requires) or "no other distribution"
        try:
            module = importlib.import_module(module_name)
        except Exception as error:  # an import runs foreign code
            found = f"importing {module_name} raised {type(error).__name__}: {error}"
            raise finding(found, "a module that imports", f"The card requires {needs}; is that all?") from error
        if not hasattr(module, attribute):
            raise finding(f"{module_name} has no {attribute!r}", f"the target {self.card.target!r}", "Mend the target")
        return cast("Callable[..., Quantizer]", getattr(module, attribute))

    @cached_property
    def home(self) -> Path | None:
        """The folder of the method's code, where it has one."""
        try:
            return Path(inspect.getfile(self.factory)).parent
        except (OSError, TypeError):
            return None

    @cached_property
    def backbone(self) -> str:
        """The first backbone that the method does not refuse.

        Raises:
            ProtocolError: it refuses all of them.
        """
        for name in ORDER:
            if not isinstance(self._result(name), NotApplicable):
                return name
        raise finding("quantize refuses every backbone", f"at least one of {', '.join(ORDER)}", "Take one of them")

    def make(self, **params: Scalar) -> Quantizer:
        """Return the method with ``params``; the others at the card's defaults.

        Raises:
            ProtocolError: the constructor raised.
        """
        resolved = self.card.resolve(params)
        with self._guarded():
            return attempt(f"{_call(self.card.name, resolved)}", lambda: self.factory(**resolved), self.home)

    def job(self, backbone: str | None = None, features: int = 12, hidden: int = 8) -> QuantizationJob:
        """Return a fresh, sealed toy job; the same arguments give an equal job.

        Args:
            backbone: name; by default :attr:`backbone`.
            features: width of the node features.
            hidden: width of the hidden layer.
        """
        base = _base(backbone or self.backbone, features, hidden)
        graph = Graph(base.graph.x.clone(), base.graph.edge_index.clone())
        generator = torch.Generator().manual_seed(0)
        return seal(dataclasses.replace(base, model=copy.deepcopy(base.model), graph=graph, generator=generator))

    def quantize(self, job: QuantizationJob, **params: Scalar) -> QuantizedModel:
        """Return what the method makes of ``job``.

        Raises:
            NotApplicable: the method refused by a ProtocolError of its own.
            ProtocolError: it raised anything else.
        """
        method = self.make(**params)
        with self._guarded():
            try:
                return attempt("quantize", lambda: method.quantize(job), self.home)
            except ProtocolError as error:
                if isinstance(error.__cause__, ProtocolError):
                    raise NotApplicable(error.__cause__.message, error.__cause__.mend) from error
                raise

    def quantized(self, backbone: str | None = None) -> QuantizedModel:
        """Return the method's result on the toy job of ``backbone`` at default parameters, made once.

        Raises:
            ProtocolError: the method raised.
        """
        result = self._result(backbone or self.backbone)
        if isinstance(result, ProtocolError):
            raise result
        return result

    def predict(self, model: QuantizedModel, graph: Graph) -> Tensor:
        """Return ``model.predict(graph)``, detached.

        Raises:
            ProtocolError: it raised, or did not return a tensor.
        """
        logits = self.ask(model, "predict", graph)
        if not isinstance(logits, Tensor):
            mend = "Return the logits as a torch tensor"
            raise finding(f"predict returned {type(logits).__name__}", "a tensor", mend)
        return logits.detach()

    def ask(self, model: QuantizedModel, method: str, *args: Any) -> Any:
        """Return ``model.method(*args)``.

        Raises:
            ProtocolError: there is no such method, or it raised.
        """
        if not callable(getattr(model, method, None)):
            found = f"quantize returned {type(model).__name__}, which has no {method}()"
            raise finding(found, "a QuantizedModel", "benchsuite.models.quantized.SiteQuantizedModel is one")
        with self._guarded():
            return attempt(method, lambda: getattr(model, method)(*args), self.home)

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        changed: list[str] = []
        try:
            with _one_thread(), preserved() as changed:
                yield
        finally:
            self.changed += changed

    def _result(self, backbone: str) -> QuantizedModel | ProtocolError:
        if backbone not in self._results:
            try:
                self._results[backbone] = self.quantize(self.job(backbone))
            except ProtocolError as error:
                self._results[backbone] = error
        return self._results[backbone]


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Run the block as a cell runs; on graphs this small more threads cost more than they bring."""
    with preserved():
        torch.set_num_threads(1)
        yield


@functools.lru_cache(maxsize=8)
def _base(backbone: str, features: int, hidden: int) -> QuantizationJob:
    """Return the job that others are copies of: its model is trained once."""
    with _one_thread():
        return toy_job(backbone, graph=toy_graph(features=features), hidden=hidden)


def _call(name: str, params: dict[str, Scalar]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in params.items())})"
