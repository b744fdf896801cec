"""Bring run files of other folders in: a union, file by file."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchsuite.errors import StoreError, UsageError
from benchsuite.store.scan import read_file, run_files, scan
from benchsuite.store.writer import sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@dataclass
class Merged:
    """What :func:`merge` did; names are relative to the results folder."""

    copied: list[str] = field(default_factory=list)
    grown: list[str] = field(default_factory=list)
    """Files that were here up to some line, and now are as long as the other's."""
    skipped: int = 0
    """Files that were here already."""
    torn: list[str] = field(default_factory=list)
    """Files whose last line was torn; they were brought in with it, and readers leave it out."""


def merge(out: Path, sources: Iterable[Path]) -> Merged:
    """Copy the run files below each source to ``<out>/results``, under the names that they have there.

    A file that is here already, under whatever name, is skipped. Since run files only ever grow, one that begins with
    all of ours is ours at a later time, and takes its place. Everything is verified before anything is written, and
    each file is there whole or not at all.

    Args:
        out: folder that holds ``results``; made where it is missing.
        sources: folders that hold ``results`` or are such a folder themselves.

    Raises:
        UsageError: a source is no folder or has no run files.
        StoreError: a file of the same name has other content, a line of a file cannot be used, or a file cannot be
            read or written.
    """
    results, merged = out / "results", Merged()
    ours = {path.relative_to(results).as_posix(): read_file(path) for path in run_files(results)}
    known = set(ours.values())
    wanted: dict[str, bytes] = {}
    for source in sources:
        for name, path in _files_of(source).items():
            data = read_file(path)
            if data in known or ours.get(name, b"").startswith(data):
                merged.skipped += 1
                continue
            _check(name, path, data, wanted.get(name, ours.get(name)), merged)
            wanted[name] = data
            known.add(data)
    for name, data in wanted.items():
        _write(results / name, data, replace=name in ours)
        (merged.grown if name in ours else merged.copied).append(name)
    return merged


def _files_of(source: Path) -> dict[str, Path]:
    folder = source / "results" if (source / "results").is_dir() else source
    if not folder.is_dir():
        raise UsageError(f"{source} is no folder", "Name folders that hold results, as --out does")
    found = {path.relative_to(folder).as_posix(): path for path in run_files(folder)}
    if not found:
        raise UsageError(f"there are no run files (*.jsonl) below {folder}")
    return found


def _check(name: str, path: Path, data: bytes, ours: bytes | None, merged: Merged) -> None:
    if ours is not None and not data.startswith(ours):
        mend = "Two runs never share a name: find out which of the two was changed, and leave the other out"
        raise StoreError(f"{path} and the file {name} that is here already differ", mend)
    end = data.rfind(b"\n") + 1
    for found in scan(data):
        if found.line is None and found.offset >= end:
            merged.torn.append(name)
        elif found.line is None:
            mend = "Nothing was merged. See benchsuite results verify in the folder that it comes from"
            raise StoreError(f"{path}, line {found.number}: {found.problem}", mend)


def _write(path: Path, data: bytes, *, replace: bool) -> None:
    """Write a file whole or not at all; without ``replace``, only where there is none of that name."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if not replace and path.exists():
            raise FileExistsError(0, "it has appeared meanwhile")
        beside.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        mend = "Make room, or name a folder that you may write with --out; what was merged before this file stays"
        raise StoreError(f"the results file {path} cannot be written: {error.strerror}", mend) from error
