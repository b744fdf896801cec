"""Molecules that are rebuilt from SMILES, as cards. Imports no torch: listing them is cheap."""

from __future__ import annotations

from benchsuite.contracts.cards import DatasetCard
from benchsuite.data.molecules.facts import FACTS, Facts


def _card(facts: Facts) -> DatasetCard:
    kind = "yes or no" if facts.target_type == "binary" else "one number"
    return DatasetCard(
        name=facts.name,
        target=f"benchsuite.data.molecules.moleculenet:{facts.name.replace('-', '_')}",
        summary=f"{facts.rows:,} molecules, {facts.summary} ({kind}); as ogbg-mol{facts.table}, rebuilt from SMILES.",
        licence="MIT (MoleculeNet as released with DeepChem); the measurements are public",
        source="Wu et al., Chemical Science 2018, arXiv 1703.00564; features and split after OGB, arXiv 2005.00687",
        files=(facts.file,),
        notes="benchsuite.data.molecules.moleculenet:report",
    )


DATASETS: tuple[DatasetCard, ...] = (
    *map(_card, FACTS.values()),
    DatasetCard(
        name="zinc-jtnn",
        target="benchsuite.data.molecules.zinc_jtnn:zinc_jtnn",
        summary="29,445 molecules of ZINC-250k, penalized logP by RDKit; a stand-in for ZINC-12k, rebuilt from SMILES.",
        licence="MIT (icml18-jtnn); ZINC is free to use and asks that large parts not be redistributed",
        source="Jin, Barzilay, Jaakkola, ICML 2018, arXiv 1802.04364; https://github.com/wengong-jin/icml18-jtnn",
        files=("zinc_jtnn/zinc_valid.smi.gz", "zinc_jtnn/zinc_test.smi.gz"),
    ),
)
