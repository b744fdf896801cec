"""Recipes of the teachers that the suite trains itself."""

from __future__ import annotations

from dataclasses import dataclass

from benchsuite.models.student import StudentShape


@dataclass(frozen=True)
class TeacherRecipe:
    """A pre-norm Llama and how it is trained: AdamW on the mean cross entropy of the tokens.

    The learning rate rises linearly over the first ``warmup`` of the steps and falls as a cosine to a tenth.
    """

    width: int
    heads: int
    kv_heads: int
    mlp: int
    layers: int
    context: int
    steps: int
    batch: int
    """Documents per step."""
    learning_rate: float
    warmup: float = 0.2
    weight_decay: float = 0.1
    """Of matrices, the embedding among them; norms have none."""
    clip: float = 1.0
    """Largest norm of a step's gradient."""
    betas: tuple[float, float] = (0.9, 0.95)

    def shape(self, vocab: int) -> StudentShape:
        """Return the sizes of the decoder, all its layers in one block."""
        return StudentShape(
            vocab=vocab,
            width=self.width,
            heads=self.heads,
            kv_heads=self.kv_heads,
            mlp=self.mlp,
            blocks=1,
            layers_per_block=self.layers,
            context=self.context,
        )


PRESETS: dict[str, TeacherRecipe] = {
    "quick": TeacherRecipe(
        width=64, heads=2, kv_heads=1, mlp=172, layers=4, context=128, steps=250, batch=16, learning_rate=6e-3
    ),
    "small": TeacherRecipe(
        width=128, heads=4, kv_heads=2, mlp=344, layers=6, context=128, steps=2500, batch=16, learning_rate=2e-3
    ),
}
