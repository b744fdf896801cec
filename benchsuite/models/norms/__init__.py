"""The final norm of a model: found, classified and read by what it does, never by what it is called."""

from __future__ import annotations

from benchsuite.models.norms.activations import outputs_at
from benchsuite.models.norms.behaviour import Examination, examine
from benchsuite.models.norms.finder import Found, find_final_norm

__all__ = ["Examination", "Found", "examine", "find_final_norm", "outputs_at"]
