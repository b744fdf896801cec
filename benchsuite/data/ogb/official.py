"""Which files of OGB's data sets are the official ones, as far as that is known, and what was left out of them.

The sums are from the Git LFS pointers in the folder ``dataset`` of https://github.com/Sc1xya/knowledge-ex2 at commit
1fce6a9c; of ogbn-arxiv those of the edges and features alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchsuite.data.ogb.facts import FACTS
from benchsuite.data.ogb.folder import find
from benchsuite.data.ogb.keeping import sha256
from benchsuite.data.ogb.readers import parsed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchsuite.data.ogb.facts import Facts
    from benchsuite.data.ogb.folder import Folder

#: Data set to path below its folder to sha256, hex.
SHA256: Mapping[str, Mapping[str, str]] = {
    "ogbg-molhiv": {
        "raw/edge.csv.gz": "d279b2d408f553cdc6e8ff9712e8eb52ee8831e6f63d29431812e27bca119389",
        "raw/edge-feat.csv.gz": "a59f5bcf890de811555f5d3819a96f713b4f8b6204801f286991c197afacf836",
        "raw/graph-label.csv.gz": "88f950d08c606556cca1c1ffef05229f46d64043ad7fa617e8938a3ae9779993",
        "raw/node-feat.csv.gz": "1e875d13c6442622d2b4f3763e7b0ef48cf2c769828b087ef0efe91c3bdb574b",
        "raw/num-edge-list.csv.gz": "fa058f23514328fd69bc9c4c31fd8f5938c4ce18726855489d0c0e2dfeaddd37",
        "raw/num-node-list.csv.gz": "e26f7e29de4a3985c7f47482838c62f870c90c4d01871c57bfeae1b8d993a24b",
        "split/scaffold/test.csv.gz": "27485729d83edd6f47eb3b8daff69fdb32c9df6b36b17204ef87f8dc1a30eab1",
        "split/scaffold/train.csv.gz": "9f1e46e77897b3de3d19452cbd47c312e2844a0ec664c1c9dc897c10d12e42f0",
        "split/scaffold/valid.csv.gz": "eaf4d6b4630f9e689d2b203669674d0dc309673319e8ac32daa9e9ca90e2e1fa",
    },
    "ogbn-arxiv": {
        "raw/edge.csv.gz": "47629e986116407d27eff4c9d2e923f06bf5da5c85cbae93b660f530bc9355df",
        "raw/node-feat.csv.gz": "60a844c7aff2f129335d34da2f6b9271bd1cac03aff8c70c229e6f0d13624718",
    },
}


def official(folder: Folder) -> dict[str, bool | None]:
    """Return, for each file that is read, whether it is the official one by its sha256; None where that is unknown.

    A file that was packed anew holds the same numbers under another sum: False says that it is not OGB's own file, and
    no more.

    Raises:
        MissingDataError: a file is absent or cannot be read.
    """
    known = SHA256.get(folder.facts.name, {})
    names = {path.relative_to(folder.path).as_posix(): path for path in folder.files()}
    return {name: known[name] == sha256(path) if name in known else None for name, path in names.items()}


def report(name: str, root: Path | None) -> list[tuple[str, str]]:
    """Return the lines of :func:`notes` for the data set called ``name``."""
    return notes(FACTS[name], root)


def notes(facts: Facts, root: Path | None) -> list[tuple[str, str]]:
    """Return ``(heading, text)`` lines for a data set's report: its folder, its files, and what was left out.

    Args:
        facts: of the data set.
        root: the data folder, or None.

    Raises:
        MissingDataError: as :func:`benchsuite.data.ogb.readers.read_nodes`.
        StoreError: the cache cannot be written.
    """
    folder = find(facts, root)
    found = official(folder)
    heads = {True: "official", False: "not OGB's", None: "unknown"}
    said = {True: "by sha256", False: "not the official files by sha256", None: "no official sha256 is known"}
    lines = [("files", str(folder.path))]
    for verdict, head in heads.items():
        names = [name for name, each in found.items() if each is verdict]
        if names:
            all_of = "all that are read" if len(names) == len(found) else ", ".join(names)
            lines.append((head, f"{all_of} ({said[verdict]})"))
    counts = parsed(facts, root).notes
    lines.append(("left out", f"{int(counts['self_loops']):,} self loops, {int(counts['duplicates']):,} edges again"))
    return lines
