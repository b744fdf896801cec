"""Scores a claim about dead directions against the spectrum of activations. NumPy alone; the formulas of the protocol.

With Z the ``[n, d]`` activations minus their mean, in float64, and Z = U diag(s) V^T, the mean eigenvalue of their
covariance is sum(s^2) / (n d), and the variance along a unit vector u is ||Z u||^2 / n = ||diag(s) V^T u||^2 / n. Both
are taken from singular values: the route over the Gram matrix (u^T C u, or eigenvalues of C) cannot see below 1e-16 of
the largest eigenvalue, and returns negative ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

ALIGNED = 0.9999
"""Least cosine of a right claim (arXiv 2606.19491 reports it for 9 of 9 LayerNorm models)."""
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The centred activations at one site, as far as dead directions need them."""

    singular: np.ndarray
    """``[min(n, d)]`` float64, falling."""
    right: np.ndarray
    """``[min(n, d), d]`` float64, right singular vectors as rows."""
    tokens: int
    """n: rows of the data matrix."""
    distinct: int
    """Rows that differ from one another."""
    epsilon: float
    """Rounding step of the dtype of the forward pass; it sets the noise floor, whatever the SVD runs in."""

    @property
    def width(self) -> int:
        """d: number of features."""
        return int(self.right.shape[1])

    @property
    def mean_eigenvalue(self) -> float:
        """Mean over all d eigenvalues of the covariance."""
        return float(np.square(self.singular).sum()) / (self.tokens * self.width)

    @property
    def tolerance(self) -> float:
        """Singular values up to here may be rounding: max(n, d) * epsilon * s_1."""
        return max(self.tokens, self.width) * self.epsilon * float(self.singular[0])

    @property
    def floor(self) -> float:
        """The variance that belongs to :attr:`tolerance`, over the mean eigenvalue."""
        return self.tolerance**2 / self.tokens / self.mean_eigenvalue

    @property
    def kernel(self) -> int | None:
        """How many directions are dead.

        None where there are fewer distinct rows than features: some would be dead whatever the model is.
        """
        if self.distinct < self.width:
            return None
        return int((self.singular <= self.tolerance).sum())

    def quotient(self, basis: np.ndarray) -> float:
        """Return the largest variance in the span of ``basis``, over the mean eigenvalue. Defined for any n.

        Args:
            basis: ``[k, d]``, orthonormal rows.
        """
        largest = np.linalg.norm(self.singular[:, None] * (self.right @ basis.T), ord=2)
        return float(largest) ** 2 / self.tokens / self.mean_eigenvalue

    def cosine(self, basis: np.ndarray) -> float | None:
        """Return the cosine of the largest angle between ``basis`` and the dead directions.

        Where no direction is dead the one of least variance stands for them, as in the paper. None where the kernel
        is not known: with n < d "the" bottom vector is one of many.

        Args:
            basis: ``[k, d]``, orthonormal rows.
        """
        if self.kernel is None:
            return None
        bottom = self.right[-max(self.kernel, 1) :]
        return min(1.0, float(np.linalg.svd(basis @ bottom.T, compute_uv=False)[-1]))

    def above_floor(self, basis: np.ndarray) -> float:
        """Return how many decades the variance along ``basis`` is above the noise floor; negative below it."""
        return math.log10(max(self.quotient(basis), _TINY) / self.floor)

    def verdict(self, basis: np.ndarray, present: bool) -> bool:
        """Return whether a claim is right.

        A claim that dead directions are there is right where as many are dead as it names, it points where they are,
        and what varies along it is below the noise floor. A claim that none is there is right where none is.
        """
        dead = self.kernel
        if dead is None or not present:
            return dead == 0 and not present
        aligned = self.cosine(basis) or 0.0
        return dead == len(basis) and aligned >= ALIGNED and self.above_floor(basis) <= 0


def orthonormal(rows: np.ndarray) -> np.ndarray | None:
    """Return an orthonormal basis of the span of ``rows``; None where they are not independent.

    Args:
        rows: ``[k, d]`` float64, finite.
    """
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    if not len(rows) or len(rows) > rows.shape[1] or not np.all(largest > 0):
        return None
    rows = rows / largest  # squares of very small entries would vanish
    _, singular, right = np.linalg.svd(rows / np.linalg.norm(rows, axis=1, keepdims=True), full_matrices=False)
    return right if singular[-1] > 1e-6 else None
