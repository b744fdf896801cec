"""The sizes of a student transformer."""

from __future__ import annotations

from dataclasses import dataclass

from benchsuite.errors import UsageError


@dataclass(frozen=True)
class StudentShape:
    """Sizes of a decoder transformer of ``blocks`` blocks of ``layers_per_block`` layers each.

    Raises:
        UsageError: sizes that do not fit each other.
    """

    vocab: int
    width: int
    heads: int
    """Of the queries; each has ``width / heads`` features, an even number."""
    kv_heads: int
    """Of keys and values; each serves ``heads / kv_heads`` query heads."""
    mlp: int
    """Width between the two products of the feed-forward branch."""
    blocks: int
    layers_per_block: int
    context: int
    """Largest number of tokens in a sequence."""
    rope_theta: float = 10000.0
    eps: float = 1e-5
    """Of every RMSNorm."""

    def __post_init__(self) -> None:
        sizes = (self.vocab, self.width, self.heads, self.kv_heads, self.mlp, self.blocks, self.layers_per_block)
        if min(*sizes, self.context) < 1:
            raise UsageError(f"a transformer has no size below 1: {self}")
        if self.width % self.heads or self.head_width % 2:
            raise UsageError(
                f"width {self.width} over {self.heads} heads is no even number of features", "Rotary pairs need one"
            )
        if self.heads % self.kv_heads:
            raise UsageError(f"{self.heads} heads cannot share {self.kv_heads} key-value heads evenly")

    @property
    def head_width(self) -> int:
        """Features per head."""
        return self.width // self.heads

    @property
    def layers(self) -> int:
        """Layers of all blocks together."""
        return self.blocks * self.layers_per_block
