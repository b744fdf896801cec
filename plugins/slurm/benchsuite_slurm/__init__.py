"""Executor ``slurm``: cells as array jobs, through submitit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchsuite.plugin import hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping


@hookimpl
def benchsuite_executor(name: str, options: Mapping[str, Any]) -> Any:
    """Offer the executor ``slurm``; imports neither submitit nor the engine where another is asked for."""
    if name != "slurm":
        return None
    from benchsuite_slurm.executor import SlurmExecutor

    return SlurmExecutor(options)
