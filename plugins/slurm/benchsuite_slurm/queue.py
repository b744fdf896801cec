"""Which jobs there still are.

submitit asks ``sacct`` for that, which many clusters do not keep; ``squeue`` is there on all of them. One call tells of
all jobs, and Slurm is not asked more often than a person would.
"""

from __future__ import annotations

import os
import subprocess
import time
from typing import Any

#: Seconds between two calls.
EVERY = 5.0

#: Seconds that a call may take.
LIMIT = 60.0


class Queue:
    """Tells whether a job of submitit's has ended.

    Args:
        cluster: ``slurm``, or ``local`` where jobs are processes of this machine.
    """

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._asked = float("-inf")
        self._jobs: set[str] | None = None

    def submitted(self) -> None:
        """Hear that there are new jobs: what is known of the queue is older than they are."""
        self._asked, self._jobs = time.monotonic(), None

    def ended(self, job: Any) -> bool:
        """Whether a job has ended; where Slurm does not answer, it has not."""
        if self._cluster == "local":
            return bool(job.done())
        if time.monotonic() - self._asked >= EVERY:
            self._asked, self._jobs = time.monotonic(), _queued()
        return self._jobs is not None and job.job_id not in self._jobs


def _queued() -> set[str] | None:
    """Return the ids of this user's jobs that wait or run, those of arrays as ``<array>_<index>``; None for silence."""
    command = ["squeue", "--noheader", "--array", "--user", str(os.getuid()), "--format", "%i"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return set(done.stdout.split())
