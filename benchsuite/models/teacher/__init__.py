"""Teachers: small ones that the suite trains, and any causal language model of transformers."""

from __future__ import annotations

from benchsuite.models.teacher.loading import load_teacher, tokenizer_file
from benchsuite.models.teacher.recipes import PRESETS, TeacherRecipe
from benchsuite.models.teacher.teacher import Teacher, TeacherText

__all__ = ["PRESETS", "Teacher", "TeacherRecipe", "TeacherText", "load_teacher", "tokenizer_file"]
