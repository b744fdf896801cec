"""Bring a trained checkpoint that lies in an archive or a folder below ``BENCHSUITE_DATA/models``.

Nothing of the archive is run or unpickled. Members are read one by one and written under names of our choosing.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from benchsuite.archives import open_source, written_whole
from benchsuite.errors import MissingDataError, UsageError
from benchsuite.models.zoo.gguf_file import GGUF, convert

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchsuite.archives import Source

__all__ = ["default_name", "find_member", "import_checkpoint"]

#: What is taken of a transformers folder: weights, configuration, tokenizer.
_TAKEN = (".safetensors", ".json", ".txt")
_PICKLE = re.compile(r"(pytorch_model[^/]*\.bin|\.pt|\.pth|\.ckpt|\.pkl)$")
_ARCHIVE = re.compile(r"\.(whl|zip|tgz|gguf|tar(\.\w+)?)$", re.IGNORECASE)
_VERSION = re.compile(r"-v?\d+(\.\d+)+(\.?(a|b|rc|post|dev)\d+)?$")


def default_name(path: Path) -> str:
    """Return what a checkpoint is called that is imported from ``path`` without a name.

    Of a wheel that is its distribution's name; of another archive what stands before ``.zip`` and the like, and before
    a version as in ``mine-1.0``; of a folder its name.
    """
    name = Path(os.path.abspath(path)).name  # noqa: PTH100 (".." has a name this way, and a link keeps its own)
    if path.is_dir():
        return name
    if name.lower().endswith(".whl"):
        return name.partition("-")[0]
    return _VERSION.sub("", _ARCHIVE.sub("", name))


def find_member(source: Source, wanted: str | None) -> str:
    """Return the folder with ``config.json`` and ``*.safetensors``, or the ``.gguf`` file, that ``source`` holds.

    Args:
        source: of :func:`~benchsuite.archives.open_source`.
        wanted: which one, where there are several; None where there is one.

    Raises:
        MissingDataError: there is none; where there are pickles, the line says why they are not read.
        UsageError: there are several, or none is ``wanted``.
    """
    found = _checkpoints(source.names)
    if not found:
        pickled = next(filter(_PICKLE.search, source.names), None)
        if pickled is not None:
            raise MissingDataError(
                f"{source.path} holds its weights as a pickle ({pickled}), which could run code and is not read",
                "Convert it to safetensors where you trust it",
            )
        raise MissingDataError(
            f"{source.path} holds no checkpoint: neither config.json beside *.safetensors, nor a .gguf file",
            "docs/data.md says which checkpoints and data sets can be imported",
        )
    if wanted is not None:
        if str(PurePosixPath(wanted)) not in found:
            raise UsageError(f"{source.path} has no checkpoint {wanted!r}", f"It has {', '.join(found)}")
        return str(PurePosixPath(wanted))
    if len(found) > 1:
        several = f"{len(found)} checkpoints: {', '.join(found)}"
        raise UsageError(f"{source.path} holds {several}", "Choose one with --member")
    return found[0]


def _checkpoints(names: Sequence[str]) -> list[str]:
    folders = {str(PurePosixPath(name).parent) for name in names if name.endswith(".safetensors")}
    whole = {folder for folder in folders if str(PurePosixPath(folder, "config.json")) in names}
    return sorted([*whole, *(name for name in names if name.lower().endswith(GGUF))])


def import_checkpoint(path: Path, root: Path, name: str, member: str | None = None, force: bool = False) -> Path:
    """Copy the checkpoint in ``path`` to ``root/models/name`` and return that folder. It is there whole, or not at all.

    A ``.gguf`` file is turned into float32 safetensors.

    Args:
        path: an archive or a folder.
        root: the data folder.
        name: of the new folder.
        member: which checkpoint, where the archive holds several.
        force: replace a folder that is there.

    Raises:
        UsageError: the folder is there already, ``member`` is needed or unknown, or a library lacks.
        MissingDataError: the archive is absent, damaged, hostile, or holds no checkpoint that can be read.
        StoreError: the data folder cannot be written.
    """
    if not path.exists():
        raise MissingDataError(f"{path} is not there", "Name an archive or a folder")
    target = root / "models" / name
    if target.exists() and not force:
        raise UsageError(f"{target} is there already", "Choose another --name, or replace it with --force")
    with open_source(path) as source:
        found = find_member(source, member)
        with written_whole(target, target.parent, force) as folder:
            if found.lower().endswith(GGUF):
                convert(source, found, folder)
            else:
                _take(source, found, folder)
                _require_sound(folder, path)
    return target


def _take(source: Source, folder: str, target: Path) -> None:
    for name in source.names:
        inner = PurePosixPath(name)
        if str(inner.parent) == folder and inner.suffix in _TAKEN:
            source.copy(name, target / inner.name)


def _require_sound(folder: Path, path: Path) -> None:
    """Refuse what an archive may hold although it is whole itself: cut weights, a pointer of Git LFS, a missing shard.

    Headers alone are read. What else a model needs is checked when its task is prepared.

    Raises:
        MissingDataError: a file is no safetensors or no JSON, or shards are missing.
    """
    import safetensors

    mend = "Get it again, from where its files are whole"
    for file in sorted(folder.glob("*.safetensors")):
        try:
            with safetensors.safe_open(file, framework="numpy"):
                pass
        except safetensors.SafetensorError as error:
            raise MissingDataError(f"{file.name} in {path} is damaged or no safetensors: {error}", mend) from error
    _read_json(folder / "config.json", path)
    for index in folder.glob("*.safetensors.index.json"):
        shards = {str(shard) for shard in _weight_map(index, path).values()}
        absent = sorted(shard for shard in shards if not (folder / PurePosixPath(shard).name).is_file())
        if absent:
            raise MissingDataError(f"{path} lacks {', '.join(absent)}, which {index.name} names", mend)


def _weight_map(index: Path, path: Path) -> dict[str, str]:
    read = _read_json(index, path)
    found = read.get("weight_map") if isinstance(read, dict) else None
    return found if isinstance(found, dict) else {}


def _read_json(file: Path, path: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise MissingDataError(f"{file.name} in {path} is no JSON: {error}", "Get it again") from error
