"""Executor ``ray``: cells as tasks of a Ray cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchsuite.plugin import hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping


@hookimpl
def benchsuite_executor(name: str, options: Mapping[str, Any]) -> Any:
    """Offer the executor ``ray``; imports neither Ray nor the engine where another is asked for."""
    if name != "ray":
        return None
    from benchsuite_ray.executor import RayExecutor

    return RayExecutor(options)
