"""What a run ran on: gathered once per run, without importing any of what it names."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import benchsuite
from benchsuite.store.records import EnvLine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

#: Distributions whose version may change a figure.
PACKAGES = (
    "torch",
    "torch-geometric",
    "numpy",
    "scipy",
    "scikit-learn",
    "pandas",
    "safetensors",
    "transformers",
    "tokenizers",
)

#: Threads that a cell may use. Part of the timing protocol, so no option.
THREADS = 1


def environment(plugins: Mapping[str, list[str]] | None = None) -> EnvLine:
    """Return the environment line, sealed.

    Args:
        plugins: provenance lines by plugin, from the hook ``benchsuite_environment``.
    """
    env: dict[str, JsonValue] = {
        "benchsuite": benchsuite.__version__,
        "git": git_state(Path(benchsuite.__file__).resolve().parent.parent),
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpu": _cpu_model(),
        "cores": _cores(),
        "memory_bytes": _memory(),
        "threads": THREADS,
        "plugins": {name: list(lines) for name, lines in (plugins or {}).items()},
    }
    return EnvLine(env=env).sealed()


def git_state(root: Path) -> dict[str, JsonValue] | None:
    """Return commit and whether the tree differs from it; None where ``root`` is no checkout or git is missing."""
    if not (root / ".git").exists():
        return None
    commit = _git(root, "rev-parse", "HEAD")
    if commit is None:
        return None
    # Records and boards lie in the checkout and change with every run: they are no change of the code.
    changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)leaderboards")
    return {"commit": commit, "dirty": changed != ""}


def _git(root: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(root), *arguments]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True, env=clean)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model"))]
    return names[0] if names else platform.processor() or platform.machine()


def _cores() -> dict[str, JsonValue]:
    import psutil

    return {"physical": psutil.cpu_count(logical=False), "logical": psutil.cpu_count(logical=True)}


def _memory() -> int:
    import psutil

    return int(psutil.virtual_memory().total)
