"""Leaderboards, made from records and cards and from nothing else."""

from benchsuite.boards.publish import check_boards, write_boards
from benchsuite.boards.screen import render_screen

__all__ = ["check_boards", "render_screen", "write_boards"]
