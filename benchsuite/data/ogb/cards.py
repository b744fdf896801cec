"""OGB's data sets, as cards. Imports no torch: listing them is cheap."""

from __future__ import annotations

from benchsuite.contracts.cards import DatasetCard, Download
from benchsuite.data.ogb.facts import FACTS, PLACES, Facts


def _card(facts: Facts) -> DatasetCard:
    csv = tuple(f"{facts.folder}/{table}.csv*" for table in facts.tables)
    split = tuple(f"{facts.folder}/{part}.csv*" for part in facts.parts)
    binary = (f"{facts.folder}/raw/data.npz", f"{facts.folder}/raw/{facts.label}.npz", *split)
    below = [tuple(f"{place}{file}" for file in form) for place in PLACES for form in (csv, binary)]
    return DatasetCard(
        name=facts.name,
        target=f"benchsuite.data.ogb.readers:{facts.name.replace('-', '_')}",
        summary=facts.summary,
        licence=facts.licence,
        source=f"Hu et al., NeurIPS 2020, arXiv 2005.00687; {facts.source}",
        files=below[0],
        layouts=tuple(below[1:]),
        folder=facts.folder,
        notes="benchsuite.data.ogb.official:report",
        downloads=(Download(url=facts.url),),
    )


DATASETS: tuple[DatasetCard, ...] = tuple(map(_card, FACTS.values()))
