"""The placements: which norms and scales each layer has, given the depth."""

from __future__ import annotations

from benchsuite.plugin import LayerNorms, StackNorms


def _uniform(depth: int, branch: LayerNorms, *, entry: bool = False, final: bool = False) -> StackNorms:
    """Return a stack whose branches, attention and feed-forward alike, are all ``branch``."""
    return StackNorms(((branch, branch),) * depth, entry=entry, final=final)


class Pre:
    """``h <- h + F(N h)``, and a final norm (GPT-2, Llama)."""

    def stack(self, depth: int) -> StackNorms:
        """Return the norms of ``depth`` layers."""
        return _uniform(depth, LayerNorms(norm_in=True), final=True)


class Post:
    """``h <- N(h + F h)``, and an entry norm on the embeddings in place of the final norm."""

    def stack(self, depth: int) -> StackNorms:
        """Return the norms of ``depth`` layers."""
        return _uniform(depth, LayerNorms(norm_res=True), entry=True)


class Sandwich:
    """``h <- h + N(F(N h))``, and a final norm.

    Args:
        entry: put a norm on the embeddings too.
    """

    def __init__(self, entry: bool = False) -> None:
        self.entry = entry

    def stack(self, depth: int) -> StackNorms:
        """Return the norms of ``depth`` layers."""
        return _uniform(depth, LayerNorms(norm_in=True, norm_out=True), entry=self.entry, final=True)


class DeepNorm:
    """``h <- N(alpha h + F h)`` with alpha = (2 depth)^1/4; branches start smaller by (8 depth)^-1/4.

    Args:
        entry: put a norm on the embeddings.
    """

    def __init__(self, entry: bool = False) -> None:
        self.entry = entry

    def stack(self, depth: int) -> StackNorms:
        """Return the norms of ``depth`` layers."""
        branch = LayerNorms(norm_res=True, alpha=(2 * depth) ** 0.25, gain=(8 * depth) ** -0.25)
        return _uniform(depth, branch, entry=self.entry)
