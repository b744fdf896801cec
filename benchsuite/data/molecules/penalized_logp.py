"""Penalized logP as ZINC's regression target has it: solubility less difficulty of synthesis less long rings.

Each of the three is normalised by its mean and deviation over the 250,000 molecules of ZINC-250k, as the target of
ZINC-12k is (``logP_SA_cycle_normalized``; Kusner et al., ICML 2017, arXiv 1703.01925; the constants are those that
GCPN's code published, You et al., NeurIPS 2018, arXiv 1806.02473).
"""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = 6
"""Rings up to so many atoms cost nothing."""


class Normal(NamedTuple):
    """Mean and standard deviation over ZINC-250k."""

    mean: float
    deviation: float

    def scaled(self, value: float) -> float:
        """Return ``value`` less the mean, in deviations."""
        return (value - self.mean) / self.deviation


LOGP = Normal(2.4570953396190123, 1.434324401111988)
SYNTHESIS = Normal(-3.0525811293166134, 0.8335207024513095)
RING = Normal(-0.0485696876403053, 0.2860212110245455)


def penalized_logp(molecule: Any) -> float:
    """Return the target of an ``rdkit.Chem.Mol`` with an atom.

    The longest ring is that of RDKit's smallest set of smallest rings. The published code takes networkx's cycle basis,
    which depends on the order of atoms and names longer rings in 4 of 1,000 molecules.
    """
    logp = importlib.import_module("rdkit.Chem.Crippen").MolLogP(molecule)
    longest = max((len(ring) for ring in molecule.GetRingInfo().AtomRings()), default=0)
    ring = max(longest - LONG, 0)
    return LOGP.scaled(logp) + SYNTHESIS.scaled(-_synthesis_score()(molecule)) + RING.scaled(-ring)


@cache
def _synthesis_score() -> Callable[[Any], float]:
    """Return the score of synthetic accessibility (Ertl and Schuffenhauer 2009) that RDKit's wheel has.

    It lies outside the package proper, as a module with a table beside it; both are RDKit's own and installed with it.
    """
    folder = Path(importlib.import_module("rdkit.RDConfig").RDContribDir) / "SA_Score"
    spec = importlib.util.spec_from_file_location("benchsuite_sascorer", folder / "sascorer.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"no module can be read from {folder}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves its table open
        module.readFragmentScores()
    score: Callable[[Any], float] = module.calculateScore
    return score
