"""Turns a ``.gguf`` file (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md) into a transformers folder.

Its quantized matrices become float32, with the error that quantization left; norms and biases are kept in float32.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from benchsuite.errors import MissingDataError, StoreError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from benchsuite.archives import Source

_log = logging.getLogger(__name__)

GGUF = ".gguf"
_NEEDED = ("gguf", "accelerate")
"""What transformers reads such files with."""
_MEND = "Get it again; if it is whole, its architecture is none of those that transformers reads from GGUF"


def convert(source: Source, name: str, target: Path) -> None:
    """Write the model and the tokenizer of the file ``name`` of ``source`` to the folder ``target``.

    That is ``model.safetensors`` (float32; several from some GB on), ``config.json`` and ``tokenizer.json``.

    Raises:
        UsageError: a library that is needed is not installed.
        MissingDataError: the file is damaged, of an architecture that transformers does not know, or lacks weights.
        StoreError: ``target`` cannot be written.
    """
    file = PurePosixPath(name).name
    for library in _NEEDED:
        if importlib.util.find_spec(library) is None:
            message = f"{file} is a GGUF file, which needs the library {library}"
            raise UsageError(message, "Run: pip install 'benchsuite[gguf]'")
    source.copy(name, target / file)
    _log.info("%s: turning it into float32 safetensors, a minute or more", file)
    read, tokenizer = _read(target, file)
    _save(read, tokenizer, target)
    # safetensors lets nobody but the user read what it writes; the other files have the rights that are usual here.
    for weights in target.glob("*.safetensors"):
        weights.chmod((target / "config.json").stat().st_mode)
    (target / file).unlink()


def _read(folder: Path, file: str) -> tuple[Any, Any]:
    """Return the model as transformers reads it, and the tokenizer."""
    import torch

    from benchsuite.models.zoo.build import quiet, transformers

    options: dict[str, Any] = {"gguf_file": file, "local_files_only": True, "trust_remote_code": False}
    # Its reader draws a progress bar that no setting turns off.
    with quiet(), contextlib.redirect_stderr(io.StringIO()):
        try:
            model, loading = transformers().AutoModelForCausalLM.from_pretrained(
                folder, dtype=torch.float32, output_loading_info=True, **options
            )
            tokenizer = transformers().AutoTokenizer.from_pretrained(folder, **options)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the tokenizers library panics, which is no Exception
            raise MissingDataError(f"{file} cannot be read: {_cause(error)}", _MEND) from error
    lacking = sorted(loading["missing_keys"])
    if lacking:
        # They were filled in at random: a probe of them would look like a finding.
        few = ", ".join(lacking[:3])
        raise MissingDataError(f"{file} lacks {len(lacking)} weights of its model: {few}", "Get the whole file")
    return model, tokenizer


def _save(read: Any, tokenizer: Any, folder: Path) -> None:
    import torch

    from benchsuite.models.zoo.build import quiet, transformers

    with quiet():
        # What was read keeps the mark of a quantized model, and transformers would not save it.
        config = read.config
        if hasattr(config, "quantization_config"):
            del config.quantization_config
        with torch.device("meta"):  # a second set of weights might not fit beside the first
            model = transformers().AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        model.load_state_dict(read.state_dict(), assign=True)
        try:
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
        except OSError:
            raise
        except Exception as error:  # of safetensors and tokenizers, which say a full disk in their own ways
            message = f"{folder.parent} cannot be written: {_cause(error)}"
            raise StoreError(message, "Mend the folder or the disk") from error


def _cause(error: BaseException) -> str:
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
