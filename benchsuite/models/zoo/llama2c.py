"""Reads the checkpoints and tokenizers of llama2.c (https://github.com/karpathy/llama2.c, MIT), version 0.

A checkpoint is seven int32 (width, hidden width, layers, heads, key-value heads, vocabulary, context) and then float32
arrays, each for all layers: token embedding; attention norm; query, key, value, output; feed-forward norm; gate, down,
up; final norm; two tables of rotary angles; and the head, where the vocabulary is written as a negative number. The
rotary embedding turns neighbouring pairs, transformers' turns one half against the other, so the rows of query and
key are put in another order.

A tokenizer is an int32 (longest token) and for each token a float32 score, an int32 length and its bytes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor, nn

_HEADER = struct.Struct("<7i")
_MEND = "Get the file again: github.com/karpathy/llama2.c names the source"
BOS, EOS, FIRST_BYTE = 1, 2, 3


@dataclass(frozen=True)
class Header:
    """The sizes of a checkpoint."""

    width: int
    hidden: int
    layers: int
    heads: int
    groups: int
    """Key-value heads."""
    vocabulary: int
    context: int
    shared: bool
    """Whether the head is the embedding."""

    def arrays(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return name and shape of each array, in the file's order."""
        d, h, n, v = self.width, self.hidden, self.layers, self.vocabulary
        head = d // self.heads
        kv = self.groups * head
        found = [
            ("embed_tokens", (v, d)),
            ("input_layernorm", (n, d)),
            ("self_attn.q_proj", (n, d, d)),
            ("self_attn.k_proj", (n, kv, d)),
            ("self_attn.v_proj", (n, kv, d)),
            ("self_attn.o_proj", (n, d, d)),
            ("post_attention_layernorm", (n, d)),
            ("mlp.gate_proj", (n, h, d)),
            ("mlp.down_proj", (n, d, h)),
            ("mlp.up_proj", (n, h, d)),
            ("norm", (d,)),
            ("rotary", (2, self.context, head // 2)),
        ]
        return found if self.shared else [*found, ("lm_head", (v, d))]


def read_header(path: Path) -> Header:
    """Return the sizes that the checkpoint at ``path`` states.

    Raises:
        MissingDataError: it is absent or truncated, or its sizes fit neither each other nor the file.
    """
    try:
        with path.open("rb") as file:
            start = file.read(_HEADER.size)
        length = path.stat().st_size
    except OSError as error:
        raise MissingDataError(f"the checkpoint {path} cannot be read: {error.strerror}", _MEND) from error
    if len(start) < _HEADER.size:
        raise MissingDataError(f"the checkpoint {path} ends within its header", _MEND)
    d, h, n, heads, groups, v, context = _HEADER.unpack(start)
    sizes = (d, h, n, heads, groups, abs(v), context)
    if min(sizes) < 1 or max(sizes) > 2**24 or d % heads or heads % groups or (d // heads) % 2:
        raise MissingDataError(f"{path} is no llama2.c checkpoint: its header reads {sizes}", _MEND)
    header = Header(d, h, n, heads, groups, abs(v), context, shared=v > 0)
    wanted = _HEADER.size + 4 * sum(int(np.prod(shape)) for _, shape in header.arrays())
    if length != wanted:
        raise MissingDataError(f"{path} has {length:,} bytes; a checkpoint of its sizes has {wanted:,}", _MEND)
    return header


def load_llama(path: Path) -> nn.Module:
    """Return the checkpoint as a transformers ``LlamaForCausalLM``, float32, in eval mode.

    Raises:
        MissingDataError: see :func:`read_header`.
    """
    from benchsuite.models.zoo.build import quiet, transformers

    header = read_header(path)
    with quiet():
        config = transformers().LlamaConfig(
            hidden_size=header.width,
            intermediate_size=header.hidden,
            num_hidden_layers=header.layers,
            num_attention_heads=header.heads,
            num_key_value_heads=header.groups,
            vocab_size=header.vocabulary,
            max_position_embeddings=header.context,
            rms_norm_eps=1e-5,
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
            tie_word_embeddings=header.shared,
            bos_token_id=BOS,
            eos_token_id=EOS,
        )
        model: nn.Module = transformers().LlamaForCausalLM(config)
    model.load_state_dict(_state(path, header))
    return model.eval()


def _state(path: Path, header: Header) -> dict[str, Tensor]:
    """Return the checkpoint's weights under transformers' names."""
    import torch

    values = np.fromfile(path, dtype="<f4", offset=_HEADER.size)
    state: dict[str, Tensor] = {}
    start = 0
    for name, shape in header.arrays():
        size = int(np.prod(shape))
        array = torch.from_numpy(values[start : start + size].reshape(shape).copy())
        start += size
        if name in ("embed_tokens", "norm"):
            state[f"model.{name}.weight"] = array
        elif name == "lm_head":
            state["lm_head.weight"] = array
        elif name != "rotary":
            state |= {f"model.layers.{i}.{name}.weight": _halves(name, each, header) for i, each in enumerate(array)}
    if header.shared:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    return state


def _halves(name: str, weight: Tensor, header: Header) -> Tensor:
    """Bring the rows of query and key from neighbouring pairs into two halves, head by head."""
    if name not in ("self_attn.q_proj", "self_attn.k_proj"):
        return weight
    head = header.width // header.heads
    pairs = weight.reshape(-1, head // 2, 2, header.width)
    return pairs.transpose(1, 2).reshape(weight.shape)


class Tokenizer:
    """llama2.c's byte-pair encoder: of all adjacent pairs that are a token, the one with the best score is merged.

    Args:
        path: of the tokenizer's file.

    Raises:
        MissingDataError: it is absent or truncated.
    """

    def __init__(self, path: Path) -> None:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise MissingDataError(f"the tokenizer {path} cannot be read: {error.strerror}", _MEND) from error
        self.tokens: list[bytes] = []
        self.scores: list[float] = []
        place = 4
        try:
            while place < len(data):
                score, length = struct.unpack_from("<fi", data, place)
                place += 8
                if length < 0 or place + length > len(data):
                    raise MissingDataError(f"the tokenizer {path} is truncated or no tokenizer of llama2.c", _MEND)
                self.tokens.append(data[place : place + length])
                self.scores.append(score)
                place += length
        except struct.error as error:
            raise MissingDataError(f"the tokenizer {path} is truncated", _MEND) from error

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        return {token: place for place, token in reversed(list(enumerate(self.tokens)))}

    def encode(self, text: str) -> list[int]:
        """Return the ids of ``text``, without BOS. As llama2.c does, a space is put before it."""
        ids: list[int] = []
        for character in f" {text}" if text else "":
            known = self._ids.get(character.encode())
            ids += [known] if known is not None else [FIRST_BYTE + byte for byte in character.encode()]
        while (place := self._best(ids)) is not None:
            ids[place : place + 2] = [self._ids[self.tokens[ids[place]] + self.tokens[ids[place + 1]]]]
        return ids

    def _best(self, ids: list[int]) -> int | None:
        """Return where the adjacent pair of the best score begins, the first of equals; None where none is a token."""
        best, found = -1e10, None
        for place, (left, right) in enumerate(pairwise(ids)):
            merged = self._ids.get(self.tokens[left] + self.tokens[right])
            if merged is not None and self.scores[merged] > best:
                best, found = self.scores[merged], place
        return found

    def decode(self, ids: list[int]) -> str:
        """Return the text of ``ids``; BOS and EOS have none, and the space after BOS is dropped, as llama2.c does."""
        parts: list[bytes] = []
        before = None
        for place in ids:
            piece = self.tokens[place]
            if FIRST_BYTE <= place < FIRST_BYTE + 256:
                piece = bytes([place - FIRST_BYTE])
            elif place <= EOS:
                piece = b""
            elif before == BOS and piece.startswith(b" "):
                piece = piece[1:]
            parts.append(piece)
            before = place
        return b"".join(parts).decode(errors="replace")
