"""Teachers that somebody else trained: a folder of transformers or of llama2c, or a name of the Hugging Face hub."""

from __future__ import annotations

import hashlib
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from benchsuite.contracts.probe import NotApplicableError
from benchsuite.errors import MissingDataError, ProtocolError
from benchsuite.models.norms import find_final_norm
from benchsuite.models.teacher.teacher import Teacher
from benchsuite.models.zoo import checkpoints
from benchsuite.models.zoo.build import quiet, transformers

if TYPE_CHECKING:
    from collections.abc import Mapping

STORIES = "stories260k"
LOCAL, HUB = "local:", "hub:"
_STORIES_FOLDER = "stories260K"
_PROBE_TOKENS = 8
_CHUNK = 2**24


def folder_of(spec: str, data: Path | None) -> Path:
    """Return where the files of a pretrained teacher lie; nothing is downloaded.

    Args:
        spec: ``stories260k``, ``local:FOLDER`` or ``hub:OWNER/NAME``.
        data: the data folder (``BENCHSUITE_DATA``), or None.

    Raises:
        MissingDataError: they are nowhere.
    """
    if spec == STORIES:
        return _stories(data)
    if spec.startswith(LOCAL):
        return Path(spec.removeprefix(LOCAL)).expanduser()
    return _hub(spec.removeprefix(HUB), data)


def _stories(data: Path | None) -> Path:
    if data is None:
        raise MissingDataError(
            f"teacher {STORIES!r} needs files, and BENCHSUITE_DATA is not set",
            f"Put stories260K.bin and tok512.bin of karpathy/tinyllamas into its folder {_STORIES_FOLDER}",
        )
    return data / _STORIES_FOLDER


def _hub(name: str, data: Path | None) -> Path:
    """Return a model's folder below the data folder, or else in the Hugging Face cache."""
    if data is not None and (data / "models" / name).is_dir():
        return data / "models" / name
    hub = importlib.import_module("huggingface_hub")
    try:
        return Path(hub.snapshot_download(name, local_files_only=True))
    except (hub.errors.LocalEntryNotFoundError, hub.errors.HFValidationError) as error:
        raise MissingDataError(
            f"teacher {name!r} is neither in BENCHSUITE_DATA's models/{name} nor in the Hugging Face cache, and a run "
            "downloads nothing",
            f"On a machine with a network: hf download {name} (HF_HOME names the cache)",
        ) from error


def tokenizer_path(folder: Path) -> Path:
    """Return the tokenizer's file in a checkpoint's folder; whether it is there is for its reader to say.

    Raises:
        MissingDataError: there is no checkpoint in the folder.
    """
    if checkpoints.format_of(folder) == "llama2c":
        return checkpoints.files_of(folder)[1]
    return folder / "tokenizer.json"


def pretrained(
    spec: str, folder: Path, vocab: int, pad: int, device: str | torch.device, dtype: torch.dtype
) -> Teacher:
    """Return the causal language model in ``folder`` as a teacher.

    Args:
        spec: its name.
        folder: of transformers or of llama2c.
        vocab: of the tokenizer. Rows of the model behind it are cut.
        pad: id of the padding.
        device: where it will run.
        dtype: of its weights. The tensors for the student are float32 whatever it is.

    Raises:
        MissingDataError: the checkpoint is absent, damaged or incomplete.
        ProtocolError: it knows fewer tokens than the tokenizer, or its final norm is no RMSNorm.
    """
    model = _load(folder, dtype).requires_grad_(False).eval()
    embedding, head = _ends(model, folder)
    rows = min(len(embedding), len(head))
    if rows < vocab:
        raise ProtocolError(
            f"teacher and student vocabularies differ: the tokenizer has {vocab:,} tokens, teacher {spec!r} {rows:,}",
            "Use the teacher's own tokenizer",
        )
    settings = model.config.get_text_config().to_dict()  # type: ignore[operator, union-attr]
    return Teacher(
        name=spec,
        vocab=vocab,
        pad=pad,
        context=int(settings.get("max_position_embeddings") or 2048),
        digest=_digest(folder),
        embedding=embedding[:vocab].float().clone(),
        head=head[:vocab].float().clone(),
        norm=_final_scale(model, spec),
        eps=float(settings.get("rms_norm_eps") or settings.get("layer_norm_epsilon") or 1e-5),
        rope_theta=_theta(settings),
        module=_Logits(model).to(device),
    )


class _Logits(nn.Module):
    """A transformers model that takes ids and gives logits, and nothing else."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.model(input_ids=tokens, use_cache=False).logits
        return logits


def _load(folder: Path, dtype: torch.dtype) -> nn.Module:
    if checkpoints.format_of(folder) == "llama2c":
        return checkpoints.load(folder).to(dtype)
    options = {"local_files_only": True, "use_safetensors": True, "trust_remote_code": False}
    mend = "A folder holds config.json and *.safetensors of a causal language model"
    model: nn.Module
    with quiet():
        try:
            model, loading = transformers().AutoModelForCausalLM.from_pretrained(
                folder, dtype=dtype, output_loading_info=True, **options
            )
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            cause = " ".join(str(error).split())[:200]
            raise MissingDataError(f"the teacher in {folder} cannot be loaded: {cause}", mend) from error
    if loading["missing_keys"]:
        few = ", ".join(sorted(loading["missing_keys"])[:3])
        raise MissingDataError(f"the teacher in {folder} lacks {len(loading['missing_keys'])} weights: {few}", mend)
    return model


def _ends(model: Any, folder: Path) -> tuple[Tensor, Tensor]:
    """Return the embedding and the head, ``[rows, width]`` each.

    Raises:
        ProtocolError: the model lacks one, or they have different widths.
    """
    embedding, head = model.get_input_embeddings(), model.get_output_embeddings()
    if embedding is None or head is None or embedding.weight.shape[1:] != head.weight.shape[1:]:
        raise ProtocolError(
            f"the model in {folder} has no embedding and head of one width", "A student takes both from its teacher"
        )
    return embedding.weight.data, head.weight.data


def _final_scale(model: nn.Module, spec: str) -> Tensor:
    """Return the scale of the final norm, ``[width]`` float32, as the norm applies it (some store it less one)."""
    tokens = torch.arange(_PROBE_TOKENS)[None]
    mend = "A student has RMSNorms, and its boundary norm starts as the teacher's"
    try:
        found = find_final_norm(model, {"input_ids": tokens})
    except NotApplicableError as error:
        raise ProtocolError(f"teacher {spec!r} has no final norm: {error.message}", mend) from error
    if found.examination.nature != "rms" or found.examination.gamma is None:
        raise ProtocolError(f"the final norm of teacher {spec!r}, {found.norm.path}, is no RMSNorm", mend)
    return found.examination.gamma.float()


def _theta(settings: Mapping[str, Any]) -> float:
    rotary = settings.get("rope_parameters") or {}
    return float(rotary.get("rope_theta") or settings.get("rope_theta") or 10000.0)


def _digest(folder: Path) -> str:
    """Return the sha256 (hex) of the files that decide what the model is."""
    digest = hashlib.sha256()
    for path in checkpoints.files_of(folder):
        digest.update(f"{path.name} {path.stat().st_size}\n".encode())
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()
