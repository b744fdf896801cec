"""Trained checkpoints from local folders: a transformers folder with safetensors, or llama2.c's files. No network."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from benchsuite.errors import MissingDataError
from benchsuite.models.zoo.llama2c import BOS, Tokenizer, load_llama, read_header

if TYPE_CHECKING:
    from pathlib import Path

    from torch import nn

Format = Literal["transformers", "llama2c"]

#: Weights that a folder may lack: a pooler comes after the final norm, and many checkpoints were saved without it.
_DISPENSABLE = "pooler."
_MEND = "A folder holds config.json, *.safetensors and tokenizer.json, or NAME.bin and tok*.bin of llama2.c"


def format_of(folder: Path) -> Format:
    """Return what kind of checkpoint ``folder`` holds.

    Raises:
        MissingDataError: there is none.
    """
    if (folder / "config.json").is_file() and any(folder.glob("*.safetensors")):
        return "transformers"
    if _llama_file(folder).is_file() and _tokenizer_file(folder) is not None:
        return "llama2c"
    raise MissingDataError(f"there is no checkpoint in {folder}", _MEND)


def files_of(folder: Path) -> list[Path]:
    """Return the files that decide what the model is and how text becomes tokens, sorted by name.

    Raises:
        MissingDataError: there is no checkpoint.
    """
    if format_of(folder) == "llama2c":
        tokenizer = _tokenizer_file(folder)
        return [_llama_file(folder), *([tokenizer] if tokenizer else [])]
    found = [folder / "config.json", *folder.glob("*.safetensors"), folder / "tokenizer.json"]
    return sorted(path for path in found if path.is_file())


def load(folder: Path) -> nn.Module:
    """Return the model, float32, in eval mode; of a transformers folder the trunk alone, without a head.

    Raises:
        MissingDataError: there is no checkpoint, or its weights are not all there: a probe of weights that were
            filled in at random would look like a finding.
    """
    return load_llama(_llama_file(folder)) if format_of(folder) == "llama2c" else _load_transformers(folder)


def _load_transformers(folder: Path) -> nn.Module:
    import torch
    from safetensors import SafetensorError

    from benchsuite.models.zoo.build import quiet, transformers

    options = {"local_files_only": True, "use_safetensors": True, "trust_remote_code": False}
    model: nn.Module
    loading: dict[str, Any]
    with quiet():
        try:
            model, loading = transformers().AutoModel.from_pretrained(
                folder, dtype=torch.float32, output_loading_info=True, **options
            )
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            cause = " ".join(str(error).split())[:200]
            raise MissingDataError(f"the checkpoint in {folder} cannot be loaded: {cause}", _MEND) from error
    lacking = sorted(name for name in loading["missing_keys"] if not name.startswith(_DISPENSABLE))
    if lacking:
        few = ", ".join(lacking[:3])
        raise MissingDataError(f"the checkpoint in {folder} lacks {len(lacking)} weights: {few}", _MEND)
    return model.eval()


def encode(folder: Path, text: str, most: int) -> list[int] | None:
    """Return at most ``most`` ids of ``text``, or None where the folder has no tokenizer.

    Raises:
        MissingDataError: there is no checkpoint, or its tokenizer is damaged.
    """
    if format_of(folder) == "llama2c":
        return _encode_lines(folder, text, most)
    path = folder / "tokenizer.json"
    if not path.is_file():
        return None
    from tokenizers import Tokenizer as Fast

    try:
        fast = Fast.from_file(str(path))
    except Exception as error:
        raise MissingDataError(f"the tokenizer {path} cannot be read: {error}", _MEND) from error
    fast.no_truncation()
    # A token has at least one character in nearly all text; where it has not, there are fewer ids, which is allowed.
    ids: list[int] = fast.encode(text[: 16 * most], add_special_tokens=False).ids
    return ids[:most]


def _encode_lines(folder: Path, text: str, most: int) -> list[int]:
    path = _tokenizer_file(folder)
    if path is None:
        raise MissingDataError(f"there is no tokenizer in {folder}", _MEND)
    tokenizer = Tokenizer(path)
    ids: list[int] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        ids += [BOS, *tokenizer.encode(line)]
        if len(ids) >= most:
            break
    return ids[:most]


def vocabulary_of(folder: Path) -> int:
    """Return how many token ids the model knows.

    Raises:
        MissingDataError: there is no checkpoint, or it takes no tokens.
    """
    if format_of(folder) == "llama2c":
        return read_header(_llama_file(folder)).vocabulary
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return int(config.get("vocab_size") or config["text_config"]["vocab_size"])
    except (ValueError, KeyError, TypeError) as error:
        raise MissingDataError(f"{folder / 'config.json'} names no vocab_size", "Only models of tokens fit") from error


def _llama_file(folder: Path) -> Path:
    return folder / f"{folder.name}.bin"


def _tokenizer_file(folder: Path) -> Path | None:
    return next(iter(sorted(folder.glob("tok*.bin"))), None)
