"""How long ``benchsuite --help`` takes, against a bare click program with as many commands.

Both run as whole processes, in turn, so that whatever else the machine does hits both. The ratio is to stay at or below
1.3: commands are imported when they run, and help comes from a table.

Run: ``python benchmarks/startup.py [-n PAIRS]``
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchsuite.cli.main import COMMANDS

LIMIT = 1.3

#: What a console script does.
SCRIPT = "import sys; from {module} import main; sys.exit(main())"


def bare_program() -> str:
    """Return the source of a click program with the same commands and help lines, and nothing else."""
    lines = ["import click", "@click.group()", "def main():", "    '''Nothing but click.'''"]
    for name, entry in COMMANDS.items():
        lines += [f"@main.command({name!r})", f"def {name}_command():", f"    {entry.help!r}"]
    return "\n".join(lines) + "\n"


def seconds(module: str, folder: Path) -> float:
    """Return how long ``main`` of ``module`` takes to print its help, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", SCRIPT.format(module=module), "--help"]
    start = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def measure(pairs: int) -> tuple[list[float], list[float]]:
    """Return the seconds of both programs, interleaved, after one unmeasured run of each."""
    ours, bare = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bare_click_program.py").write_text(bare_program(), encoding="utf-8")
        for _ in range(pairs + 1):
            bare.append(seconds("bare_click_program", folder))
            ours.append(seconds("benchsuite.cli.main", folder))
    return ours[1:], bare[1:]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Start-up time of benchsuite --help against a bare click program.")
    parser.add_argument("-n", type=int, default=20, metavar="PAIRS", help="pairs of runs (default: 20)")
    pairs = parser.parse_args().n
    if pairs < 1:
        parser.error("-n takes 1 or more")
    ours, bare = measure(pairs)
    ratio = statistics.median(a / b for a, b in zip(ours, bare, strict=True))
    print(f"benchsuite --help   {statistics.median(ours) * 1e3:7.1f} ms (median of {pairs})")
    print(f"bare click program  {statistics.median(bare) * 1e3:7.1f} ms")
    print(f"ratio               {ratio:7.2f}    (median of pairs; at most {LIMIT})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
