"""Groups of real citation graphs."""

from __future__ import annotations

import pytest
import torch
from benchsuite_topgq.groups import Groups
from benchsuite_topgq.toppin import group_keys

from benchsuite.plugin import MissingDataError
from benchsuite.testing.real import real_graph
from benchsuite.testing.toys import permute

pytestmark = pytest.mark.data


@pytest.mark.parametrize(
    ("name", "groups", "singletons"), [("cora", 1498, 1212), ("citeseer", 911, 689), ("pubmed", 7894, 6987)]
)
def test_groups_of_a_citation_graph(name, groups, singletons):
    # Counted with exact fractions, node by node.
    try:
        graph = real_graph(name)
    except MissingDataError as error:
        pytest.skip(str(error))
    found = Groups(graph, group_keys(graph, "toppin"))
    sizes = found.calibrated.sizes(len(found))
    assert (len(found), int((sizes == 1).sum())) == (groups, singletons)
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(0))
    assert torch.equal(Groups(permute(graph, order), group_keys(permute(graph, order), "toppin")).key, found.key)
