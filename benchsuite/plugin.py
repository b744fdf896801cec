"""What plugin authors import: the hook marker, the cards, and the protocols of the four kinds.

Importing this module imports no torch: a card module may import it and nothing heavier.
"""

from __future__ import annotations

import pluggy

from benchsuite.contracts.cards import (
    CONTRACT_VERSIONS,
    KINDS,
    DatasetCard,
    Download,
    Falsifier,
    Kind,
    MethodCard,
    Metric,
    Paper,
    Parameter,
    Reported,
    TaskCard,
)
from benchsuite.contracts.curriculum import Budget, Curriculum, Phase
from benchsuite.contracts.dataset import GraphDataset, NodeDataset, Split, TargetType
from benchsuite.contracts.graph import Graph
from benchsuite.contracts.norm_placement import (
    Goal,
    LayerNorms,
    NodeRanking,
    NodeScale,
    NormPlacement,
    ScaleSite,
    Slot,
    StackNorms,
)
from benchsuite.contracts.probe import FinalNorm, NotApplicableError, Probe, Reading, Subject
from benchsuite.contracts.quantizer import (
    Execution,
    QuantizationJob,
    QuantizedModel,
    Quantizer,
    bits_parameter,
)
from benchsuite.contracts.task import CellInput, CellOutput, MethodSpec, Places, Prepared, Task
from benchsuite.errors import BenchsuiteError, MissingDataError, ProtocolError

hookimpl = pluggy.HookimplMarker("benchsuite")

__all__ = [
    "CONTRACT_VERSIONS",
    "KINDS",
    "BenchsuiteError",
    "Budget",
    "CellInput",
    "CellOutput",
    "Curriculum",
    "DatasetCard",
    "Download",
    "Execution",
    "Falsifier",
    "FinalNorm",
    "Goal",
    "Graph",
    "GraphDataset",
    "Kind",
    "LayerNorms",
    "MethodCard",
    "MethodSpec",
    "Metric",
    "MissingDataError",
    "NodeDataset",
    "NodeRanking",
    "NodeScale",
    "NormPlacement",
    "NotApplicableError",
    "Paper",
    "Parameter",
    "Phase",
    "Places",
    "Prepared",
    "Probe",
    "ProtocolError",
    "QuantizationJob",
    "QuantizedModel",
    "Quantizer",
    "Reading",
    "Reported",
    "ScaleSite",
    "Slot",
    "Split",
    "StackNorms",
    "Subject",
    "TargetType",
    "Task",
    "TaskCard",
    "bits_parameter",
    "hookimpl",
]
