"""TopGQ: topology groups, one calibration forward, dual-axis scale absorption (Kwon et al., DAC 2026)."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from benchsuite.models.adjacency import adjacency
from benchsuite.models.quantized import SiteQuantizedModel
from benchsuite.models.ranges import RangeFiller
from benchsuite_topgq.absorption import Pick, Selection, candidates, select
from benchsuite_topgq.grids import NodeGrid, RoundedWeight
from benchsuite_topgq.groups import Groups
from benchsuite_topgq.phases import Phases
from benchsuite_topgq.toppin import Grouping, group_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import JsonValue

    from benchsuite.models.adjacency import Adjacency
    from benchsuite.models.backbone import Backbone
    from benchsuite.models.sites import Aggregation, Site
    from benchsuite.plugin import Graph, QuantizationJob


class TopGQ:
    """Post-training quantization with parameters per group of nodes of equal TopPIN.

    Args:
        bits: width of weights, activations and adjacency values.
        neighbours: number of groups that an unseen node stands between.
        selection: what the error that chooses between dual-axis and column-wise quantization is taken on.
        grouping: what nodes are grouped by; all but ``toppin`` are controls.
    """

    def __init__(
        self,
        bits: int = 8,
        neighbours: int = 3,
        selection: Selection = "activation",
        grouping: Grouping = "toppin",
    ) -> None:
        self.bits = bits
        self.neighbours = neighbours
        self.selection = selection
        self.grouping = grouping
        self.seconds: dict[str, float] = {}
        """Seconds that each phase of the last :meth:`quantize` took."""

    def quantize(self, job: QuantizationJob) -> TopGQModel:
        """Return the quantized model, from one float forward over the calibration graph."""
        phases = Phases()
        with torch.no_grad():
            groups = self._groups(job, phases)
            calibration = Calibration(groups, self.bits, self.selection, phases)
            calibration.run(job.model, job.graph)
            with phases("weights"):
                for _, module in job.model.weights():
                    module.weight_site.fill(RoundedWeight(self.bits, module.weight))
        self.seconds = phases.seconds
        return TopGQModel(job.model, groups, calibration.picks)

    def _groups(self, job: QuantizationJob, phases: Phases) -> Groups:
        seed = None
        if self.grouping == "random":
            seed = int(torch.randint(2**62, (), generator=job.generator, device=job.generator.device))
        with phases("toppin"):
            key = group_keys(job.graph, self.grouping)
        with phases("grouping"):
            return Groups(job.graph, key, self.grouping, self.neighbours, seed)


class Calibration:
    """Fits every grid and every product while one float forward passes by, then puts them in place.

    Args:
        groups: the groups of the calibration graph.
        bits: width.
        selection: see :class:`TopGQ`.
        phases: the clock.
    """

    def __init__(self, groups: Groups, bits: int, selection: Selection, phases: Phases) -> None:
        self.groups, self.bits, self.selection, self.phases = groups, bits, selection, phases
        self.grids: dict[nn.Module, NodeGrid | RangeFiller] = {}
        self.picks: dict[str, Pick] = {}
        self._last: tuple[Tensor, NodeGrid | RangeFiller] | None = None

    def run(self, model: Backbone, graph: Graph) -> None:
        """Run the forward of ``model`` on ``graph``, once, and fill the model."""
        with self.phases("adjacency"):
            adjacency(graph, model.normalisation)
        with ExitStack() as hooks, self.phases("calibration forward"):
            for _, combination in model.combinations():
                hooks.enter_context(combination.input_site.register_forward_pre_hook(self._observe_input))
            for name, aggregation in model.aggregations():
                hooks.enter_context(aggregation.register_forward_hook(self._observe_product(name)))
            model(graph)
        for _, combination in model.combinations():
            combination.input_site.fill(self.grids[combination.input_site])
        for name, aggregation in model.aggregations():
            aggregation.replace(self.picks[name].operator)

    def _observe_input(self, site: nn.Module, args: tuple[Tensor, Adjacency]) -> None:
        x = args[0]
        if self._last is None or self._last[0] is not x:  # GraphSAGE's two combinations share their input and its grid
            with self.phases("statistics"):
                self._last = x, self._fit(cast("Site", site), x)
        self.grids[site] = self._last[1]

    def _fit(self, site: Site, x: Tensor) -> NodeGrid | RangeFiller:
        if site.axes[0] == "node":
            return NodeGrid.fit(self.groups, self.bits, x)
        # Behind a pooling a row is a graph, which has no group: one range for all.
        filler = RangeFiller(self.bits).to(x.device)
        filler.observe(x)
        return filler.eval()

    def _observe_product(self, name: str) -> Callable[[nn.Module, tuple[Adjacency, Tensor, Tensor], Tensor], None]:
        def observe(module: nn.Module, args: tuple[Adjacency, Tensor, Tensor], product: Tensor) -> None:
            where, value, x = args
            sender = where.col if cast("Aggregation", module).by_entry else None
            with self.phases("statistics"):
                pair = candidates(self.groups, self.bits, x, sender)
            with self.phases("selection"):
                self.picks[name] = select(pair, self.selection, where, value, x, product)
            if value is where.value:
                with self.phases("adjacency"):
                    self.picks[name].operator.adjacency_codes(where, value)

        return observe


class TopGQModel(SiteQuantizedModel):
    """A backbone with TopGQ's grids and products in place.

    Args:
        model: the filled backbone.
        groups: the groups its parameters belong to.
        picks: what became of each aggregation, by name.
    """

    def __init__(self, model: Backbone, groups: Groups, picks: Mapping[str, Pick]) -> None:
        super().__init__(model)
        self.groups = groups
        self.picks = dict(picks)

    def diagnostics(self) -> Mapping[str, JsonValue]:
        """Return the picks with both errors, the groups' figures and what they cost to store."""
        number, sizes = len(self.groups), self.groups.calibrated.sizes(len(self.groups))
        nodes = len(self.groups.calibrated.index)
        shared = sum(b.numel() * b.element_size() for b in self.model.buffers())
        return {
            "picks": {name: _described(pick) for name, pick in self.picks.items()},
            "groups": number,
            "groups_per_node": number / nodes if nodes else None,
            "singleton_groups": int((sizes == 1).sum()),
            "parameter_bytes": shared,
            "unseen_exact_hits": self.groups.unseen_hits,
        }


def _described(pick: Pick) -> dict[str, JsonValue]:
    return {
        "pick": "column" if pick.operator.node_scale is None else "dual-axis",
        "dual_axis_mse": pick.dual_axis_mse,
        "column_mse": pick.column_mse,
    }
