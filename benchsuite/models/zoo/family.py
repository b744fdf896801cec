"""What the table of model families is made of. Imports neither torch nor transformers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: ``layer``: centres and scales. ``rms``: scales alone.
Kind = Literal["layer", "rms"]
#: What a model is fed with; ``tokens-twice`` goes into an encoder and a decoder.
Food = Literal["tokens", "tokens-twice", "pixels"]

#: Pixels along one side of a picture and of one of its patches: 64 patches.
PICTURE, PATCH = 32, 4

#: No token is special where all ids are drawn at random.
_SPECIAL = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}


@dataclass(frozen=True)
class Size:
    """How large a model is built."""

    width: int = 32
    layers: int = 2
    heads: int = 4
    vocabulary: int = 199

    @property
    def head(self) -> int:
        """Width of one attention head."""
        return self.width // self.heads


#: What a configuration calls width, number of layers, number of heads and width of the feed-forward block.
Names = tuple[str, str, str, str]
COMMON: Names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
GPT: Names = ("n_embd", "n_layer", "n_head", "n_inner")


def _nothing(_size: Size) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class Family:
    """One architecture."""

    name: str
    architecture: str
    """Name of the model's class in transformers; its configuration's class is found through it."""
    kind: Kind
    norm: str
    """Module path of the final norm; ``{last}`` stands for the number of the last layer."""
    names: Names = COMMON
    extra: Callable[[Size], Mapping[str, Any]] = field(default=_nothing, repr=False)
    """Further fields of the configuration."""
    food: Food = "tokens"
    offset: float | None = 0.0
    """What the module adds to its ``weight`` to make the scale; None where it has no parameters."""
    by_order: bool = False
    """True where no norm's output is the trunk's last hidden state, so that the last one that ran is the final one."""

    def path(self, size: Size) -> str:
        """Return the module path of the final norm of a model of ``size``."""
        return self.norm.format(last=size.layers - 1)

    def settings(self, size: Size) -> dict[str, Any]:
        """Return the fields of the configuration."""
        width, layers, heads, ffn = self.names
        values = {width: size.width, layers: size.layers, heads: size.heads, ffn: 2 * size.width}
        words = {} if self.food == "pixels" else {"vocab_size": size.vocabulary, **_SPECIAL}
        return {**words, **values, **self.extra(size)}
