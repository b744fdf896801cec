"""The student transformer: a decoder of blocks whose norms a placement decides."""

from __future__ import annotations

from benchsuite.models.student.shape import StudentShape
from benchsuite.models.student.student import Start, Student, build_student

__all__ = ["Start", "Student", "StudentShape", "build_student"]
