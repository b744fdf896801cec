"""A small collection, written in GIN's form and in TUDataset's."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchsuite.data.tu.facts import Facts

if TYPE_CHECKING:
    from pathlib import Path

TINY = Facts("tiny-set", "TINY-SET", graphs=24, nodes=94, classes=2)


@dataclass
class Tiny:
    """24 graphs of 2 to 6 nodes with labels 0 and 2, tags among 3, 5 and 9, and a few self loops."""

    root: Path
    facts: Facts = TINY
    labels: list[int] = field(default_factory=lambda: [0, 2] * 12)
    graphs: list[np.ndarray] = field(default_factory=list)
    tags: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self) -> None:
        draw = np.random.RandomState(3)
        for number in range(24):
            size = 2 + number % 5 if number < 23 else 5
            half = np.triu(draw.random_sample((size, size)) < 0.5, k=0 if number % 7 == 0 else 1)
            self.graphs.append(half | half.T)
            self.tags.append(draw.choice([3, 5, 9], size))

    @property
    def batch(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.graphs)), [len(g) for g in self.graphs])

    def gin(self) -> str:
        lines = [str(len(self.graphs))]
        for adjacent, tags, label in zip(self.graphs, self.tags, self.labels, strict=True):
            lines.append(f"{len(adjacent)} {label}")
            for row, tag in zip(adjacent, tags, strict=True):
                others = np.flatnonzero(row)
                lines.append(" ".join(map(str, [tag, len(others), *others])))
        return "\n".join(lines) + "\n"

    def raw(self) -> dict[str, str]:
        pairs, start = [], 1
        for adjacent in self.graphs:
            pairs += [f"{i + start}, {j + start}" for i, j in np.argwhere(adjacent)]
            start += len(adjacent)
        return {
            "A": "\n".join(pairs) + "\n",
            "graph_indicator": "\n".join(map(str, self.batch + 1)) + "\n",
            "graph_labels": "\n".join(map(str, self.labels)) + "\n",
            "node_labels": "\n".join(str(tag) for tags in self.tags for tag in tags) + "\n",
        }

    def files(self, form: str) -> dict[str, str]:
        if form == "gin":
            return {"TINYSET/TINYSET.txt": self.gin()}
        return {f"TINY-SET/TINY-SET_{part}.txt": text for part, text in self.raw().items()}

    def zip(self, form: str, where: str, extra: dict[str, str] | None = None) -> Path:
        path = self.root / where
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in (self.files(form) | (extra or {})).items():
                archive.writestr(name, text)
        return path

    def folder(self, form: str, where: str) -> Path:
        path = self.root / where
        path.mkdir(parents=True, exist_ok=True)
        for name, text in self.files(form).items():
            (path / name.rpartition("/")[2]).write_text(text)
        return path


@pytest.fixture
def tiny(tmp_path) -> Tiny:
    """Return a small collection; nothing is written yet."""
    return Tiny(tmp_path / "data")
