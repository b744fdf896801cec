"""Checks of what a quantizer does to what it is lent, and of what its result tells about itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

import torch
from torch import Tensor

from benchsuite.contracts.quantizer import Execution
from benchsuite.errors import UsageError
from benchsuite.testing.findings import finding
from benchsuite.testing.sealed import looks
from benchsuite.testing.toys import toy_graph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchsuite.contracts.cards import Scalar
    from benchsuite.contracts.graph import Graph
    from benchsuite.contracts.quantizer import QuantizationJob, QuantizedModel
    from benchsuite.testing.specimen import Specimen


def inputs_are_untouched(specimen: Specimen) -> None:
    """The job's graph and every predicted graph are left as they were."""
    job = specimen.job()
    other = toy_graph(nodes=40, features=job.graph.num_features, seed=5)
    before = {name: tensor.clone() for name, tensor in _lent(job, other)}
    model = specimen.quantize(job)
    specimen.predict(model, job.graph)
    specimen.predict(model, other)
    for name, tensor in _lent(job, other):
        if tensor.shape != before[name].shape or not torch.equal(tensor, before[name]):
            mend = "Clone before you change in place (methods of torch that end in _ do)"
            raise finding(f"{name} is not what it was", "inputs untouched", mend)


def labels_are_left_alone(specimen: Specimen) -> None:
    """The job's callables are called, never looked into: the labels lie behind them."""
    job = specimen.job()
    specimen.quantize(job)
    found = looks(job)
    if found:
        mend = "Call job.train(model) and use what it returns"
        raise finding(f"quantize reads {', '.join(dict.fromkeys(found))}", "no look behind job.train", mend)


def process_is_left_as_it_was(specimen: Specimen) -> None:
    """Random streams, dtype, threads, grad mode, folder, environment and warning filters are left as they were."""
    changed = _changes(specimen)
    if changed:  # a library that the method imports late may set something once; only what happens again is its own
        again = _changes(specimen)
        changed = [name for name in changed if name in again]
    if changed:
        mend = "Use job.generator, context managers (torch.no_grad(), warnings.catch_warnings()) and local values"
        raise finding(f"quantize or predict changes {', '.join(changed)}", "the process as it was", mend)


def state_is_packed(specimen: Specimen) -> str | None:
    """``state()`` maps names to tensors that hold fewer bytes than the FP32 weights, unless everything ran in float."""
    # Wide enough that parameters kept per node or group do not outweigh the weights, as they may on a toy.
    job = specimen.job(features=256, hidden=64)
    full = sum(p.numel() * p.element_size() for p in job.model.parameters())
    model = specimen.quantize(job, **_eight_bits(specimen))
    stored = sum(tensor.numel() * tensor.element_size() for tensor in _tensors(specimen, model))
    reference = set(_mapping(specimen, model, "execution").values()) == {"float"}
    if stored >= full and not reference:
        mend = "Return packed codes and their scales, as benchsuite.models.quantized.WeightFiller.packed does"
        raise finding(f"state() holds {stored} bytes, FP32's weights {full}", "fewer at 8 bits", mend)
    return f"{stored} bytes, FP32 {full}" + (" (runs in float: a reference)" if reference else "")


def execution_names_the_products(specimen: Specimen) -> None:
    """``execution()`` says of each product of the model how it ran, and of nothing else."""
    model = specimen.job().model
    wanted = {name for name, _ in (*model.combinations(), *model.aggregations())}
    ran = _mapping(specimen, specimen.quantized(), "execution")
    if set(ran) != wanted:
        odd = ", ".join(sorted(set(ran) ^ wanted))
        mend = "Name them as model.combinations() and model.aggregations() do"
        raise finding(f"execution() and the model's products differ in {odd}", ", ".join(sorted(wanted)), mend)
    allowed = get_args(Execution)
    for name, value in ran.items():
        if value not in allowed:
            raise finding(f"execution()[{name!r}] = {value!r}", "one of " + ", ".join(allowed), "Say how it ran")


def diagnostics_are_json(specimen: Specimen) -> None:
    """``diagnostics()`` is a mapping that JSON can hold; it may be empty."""
    told = _mapping(specimen, specimen.quantized(), "diagnostics")
    try:
        json.dumps(dict(told), allow_nan=False)
    except (TypeError, ValueError) as error:
        mend = "Convert tensors with .item() or .tolist(), and leave out NaN"
        raise finding(f"diagnostics() cannot be written as JSON ({error})", "JSON values", mend) from error


def _lent(job: QuantizationJob, other: Graph) -> Iterator[tuple[str, Tensor]]:
    yield "job.graph.x", job.graph.x
    yield "job.graph.edge_index", job.graph.edge_index
    yield "the predicted graph's x", other.x
    yield "the predicted graph's edge_index", other.edge_index


def _changes(specimen: Specimen) -> list[str]:
    """Return the names of the shared state that one whole life of the method changes; importing it is not looked at."""
    job = specimen.job()
    specimen.changed.clear()
    model = specimen.quantize(job)
    specimen.predict(model, job.graph)
    for question in ("state", "execution", "diagnostics"):
        specimen.ask(model, question)
    return list(dict.fromkeys(specimen.changed))


def _eight_bits(specimen: Specimen) -> dict[str, Scalar]:
    try:
        return {"bits": specimen.card.parameter("bits").check(8)}
    except UsageError:
        return {}


def _mapping(specimen: Specimen, model: QuantizedModel, method: str) -> Mapping[str, Any]:
    told = specimen.ask(model, method)
    if not isinstance(told, Mapping) or not all(isinstance(key, str) for key in told):
        raise finding(f"{method}() returned {type(told).__name__}", "a mapping with names as keys", "Return a dict")
    return told


def _tensors(specimen: Specimen, model: QuantizedModel) -> list[Tensor]:
    state = _mapping(specimen, model, "state")
    for name, tensor in state.items():
        if not isinstance(tensor, Tensor):
            mend = "Store every number that predict needs as a tensor"
            raise finding(f"state()[{name!r}] is {type(tensor).__name__}", "a tensor", mend)
    return list(state.values())
