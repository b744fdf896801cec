"""Checks of what a quantized model predicts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from benchsuite.engine.process_state import preserved, stir
from benchsuite.errors import BenchsuiteError, ProtocolError
from benchsuite.testing.findings import NotApplicable, finding
from benchsuite.testing.specimen import ORDER
from benchsuite.testing.toys import permute, toy_graph, union

if TYPE_CHECKING:
    from benchsuite.contracts.cards import Parameter, Scalar
    from benchsuite.contracts.graph import Graph
    from benchsuite.testing.specimen import Specimen

#: Renumbering nodes reorders float sums, and a sum that lies on a rounding edge may then fall on its other side: one
#: quantum at that node. So nearly all nodes must stay equal but for float error, and none may move far.
EQUAL, FAR, NEARLY_ALL = 1e-4, 0.05, 0.95


def logits_have_shape_and_dtype(specimen: Specimen) -> None:
    """Logits are ``[nodes, classes]`` float32."""
    job = specimen.job()
    wanted = (job.graph.num_nodes, int(job.model(job.graph).shape[1]))
    logits = specimen.predict(specimen.quantized(), job.graph)
    if tuple(logits.shape) != wanted:
        raise finding(f"logits of shape {tuple(logits.shape)}", f"[nodes, classes] = {wanted}", "Mend predict")
    if logits.dtype != torch.float32:
        raise finding(f"logits of {logits.dtype}", "torch.float32", "Convert what predict returns with .float()")


def logits_are_finite(specimen: Specimen) -> None:
    """No logit is NaN or infinite, also where every feature is zero."""
    graph = specimen.job().graph
    blank = type(graph)(torch.zeros_like(graph.x), graph.edge_index)
    for name, view in {"the calibration graph": graph, "a graph whose features are all zero": blank}.items():
        _check_finite(specimen.predict(specimen.quantized(), view), name)


def same_seed_gives_same_logits(specimen: Specimen) -> None:
    """The same job gives the same logits to the last bit, whatever state the process's random streams are in."""
    both = []
    for seed in (1, 2):
        with preserved():
            stir(seed)
            job = specimen.job()
            both.append(specimen.predict(specimen.quantize(job), job.graph))
    gap = _gap(*both)
    if gap > 0:
        found = f"two runs of one job differ by up to {gap:.3g} in their logits"
        raise finding(found, "the same bits", "Draw from job.generator, never from torch's, numpy's or random's own")


def predict_is_repeatable(specimen: Specimen) -> None:
    """Predicting a graph again gives the same logits, also after another graph."""
    job = specimen.job()
    model = specimen.quantize(job)
    first = specimen.predict(model, job.graph)
    specimen.predict(model, toy_graph(nodes=40, features=job.graph.num_features, seed=5))
    gap = _gap(first, specimen.predict(model, job.graph))
    if gap > 0:
        found = f"predicting the same graph again changes the logits by up to {gap:.3g}"
        raise finding(
            found, "the same bits", "Leave the model in eval mode and let predict update no range and no mask"
        )


def nodes_may_be_renumbered(specimen: Specimen) -> None:
    """Renumbering the nodes of a graph renumbers the predictions and changes nothing else."""
    model, graph = specimen.quantized(), specimen.job().graph
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(3))
    before = _rows(specimen.predict(model, graph), graph.num_nodes)[order]
    after = _rows(specimen.predict(model, permute(graph, order)), graph.num_nodes)
    span = float(before.max() - before.min()) or 1.0
    change = (before - after).abs().nan_to_num(0.0).amax(1) / span
    moved = int((change > EQUAL).sum())
    if moved > (1 - NEARLY_ALL) * graph.num_nodes or float(change.max()) > FAR:
        found = (
            f"renumbering the nodes moves the logits of {moved} of {graph.num_nodes} nodes, by up to "
            f"{100 * float(change.max()):.2g} % of their span"
        )
        mend = "Take parameters from a node's features and neighbourhood, never from its index"
        raise finding(found, "the same logits at the new places", mend)


def small_graphs_are_predicted(specimen: Specimen) -> None:
    """A graph without nodes, one with a single node and one without edges are predicted."""
    width = specimen.job().graph.num_features
    lonely = toy_graph(nodes=5, features=width)
    graphs = {
        "an empty graph": toy_graph(nodes=0, features=width),
        "a single node": toy_graph(nodes=1, features=width),
        "a graph without edges": type(lonely)(lonely.x, lonely.edge_index[:, :0]),
    }
    mend = "An empty tensor has no maximum: test numel() before reducing"
    for name, graph in graphs.items():
        _check_unseen(specimen, name, graph, mend)


def unseen_graphs_are_predicted(specimen: Specimen) -> None:
    """A larger graph that calibration never saw, and a disjoint union of two, are predicted."""
    width = specimen.job().graph.num_features
    larger = toy_graph(nodes=150, features=width, seed=7, degree=9.0)
    mend = "Keep nothing in the model whose size is the number of calibration nodes"
    _check_unseen(specimen, "a larger unseen graph", larger, mend)
    _check_unseen(specimen, "a union of two graphs", union(larger, toy_graph(features=width, seed=8)), mend)


def every_backbone_works_or_is_refused(specimen: Specimen) -> str | None:
    """Each backbone is either quantized or refused by a ProtocolError that says why."""
    refused = []
    for backbone in ORDER:
        try:
            logits = specimen.predict(specimen.quantized(backbone), specimen.job(backbone).graph)
        except NotApplicable as refusal:
            refused.append(f"{backbone} ({refusal.message})")
            continue
        except ProtocolError as error:
            mend = f"Make it work, or raise ProtocolError in quantize to say that it is not applicable. {error.mend}"
            raise finding(f"{backbone}: {error.message}", "logits or a refusal", mend) from error
        _check_finite(logits, f"{backbone} on the calibration graph")
    if len(refused) == len(ORDER):
        raise finding(f"quantize refuses {', '.join(refused)}", "at least one backbone", "Take one of them")
    return f"not applicable to {', '.join(refused)}" if refused else None


def declared_values_work(specimen: Specimen) -> str:
    """Every choice and both ends of every parameter's declared range construct, quantize and predict."""
    values = [(parameter, value) for parameter in specimen.card.parameters for value in _edges(parameter)]
    refused = [f"{p.name}={value!r}" for p, value in values if not _works(specimen, p, value)]
    remark = f"{len(values)} values tried"
    return f"{remark}; refused beside the other defaults: {', '.join(refused)}" if refused else remark


def _edges(parameter: Parameter) -> list[Scalar]:
    """Return the choices of ``parameter``, or both ends of its range, with its grid; without the default."""
    if isinstance(parameter.default, bool):
        values: list[Scalar] = [True, False]
    elif parameter.choices:
        values = list(parameter.choices)
    else:
        kind = type(parameter.default)
        values = [kind(end) for end in (parameter.low, parameter.high) if end is not None]
    return [value for value in dict.fromkeys([*values, *parameter.grid]) if value != parameter.default]


def _works(specimen: Specimen, parameter: Parameter, value: Scalar) -> bool:
    """Tell whether ``value`` works; False where the constructor refuses it because of another parameter's default."""
    job = specimen.job()
    setting = f"{parameter.name}={value!r}"
    mend = f"Make it work, or narrow the domain that the card declares for {parameter.name!r}"
    try:
        logits = specimen.predict(specimen.quantize(job, **{parameter.name: value}), job.graph)
    except ProtocolError as error:
        if _is_joint(error.__cause__, specimen, parameter):
            return False
        raise finding(f"{setting}: {error.message}", "a declared value works", f"{mend}. {error.mend}") from error
    if not bool(logits.isfinite().all()):
        raise finding(f"{setting} gives logits that are not finite", "finite numbers", mend)
    return True


def _is_joint(cause: BaseException | None, specimen: Specimen, parameter: Parameter) -> bool:
    """Tell whether a refusal names another parameter too: a card has no word for what two values must keep together."""
    others = [other.name for other in specimen.card.parameters if other.name != parameter.name]
    return isinstance(cause, BenchsuiteError) and any(name in re.findall(r"\w+", cause.message) for name in others)


def _check_unseen(specimen: Specimen, name: str, graph: Graph, mend: str) -> None:
    model = specimen.quantized()
    classes = specimen.predict(model, specimen.job().graph).shape[1:]
    try:
        logits = specimen.predict(model, graph)
    except ProtocolError as error:
        raise finding(f"{name}: {error.message}", "logits", f"{mend}. {error.mend}") from error
    wanted = (graph.num_nodes, *classes)
    if tuple(logits.shape) != wanted:
        raise finding(f"{name}: logits of shape {tuple(logits.shape)}", f"{wanted}", mend)
    _check_finite(logits, name)


def _check_finite(logits: Tensor, where: str) -> None:
    bad = int((~logits.isfinite()).sum())
    if bad:
        found = f"{bad} of {logits.numel()} logits are NaN or infinite on {where}"
        raise finding(found, "finite numbers", "Look for a scale of zero: an empty or constant range divides by it")


def _rows(logits: Tensor, nodes: int) -> Tensor:
    if logits.dim() != 2 or logits.shape[0] != nodes:
        raise finding(f"logits of shape {tuple(logits.shape)}", f"a row for each of {nodes} nodes", "Mend predict")
    return logits


def _gap(one: Tensor, other: Tensor) -> float:
    """Return the largest difference; NaN equals NaN, and another shape is infinitely far."""
    if one.shape != other.shape:
        return float("inf")
    gap = torch.where(one.isnan() & other.isnan(), torch.zeros_like(one), (one - other).abs())
    return float(gap.nan_to_num(float("inf")).max()) if gap.numel() else 0.0
