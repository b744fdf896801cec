"""Records and run files to read."""

from __future__ import annotations

import pytest

from benchsuite.store import CellRecord
from benchsuite.store.records import EndLine, EnvLine, PlanLine

ENV = EnvLine(env={"python": "3.11", "packages": {"torch": "2.5"}}).sealed()


class Desk:
    """Makes records and run files."""

    env = ENV

    def record(self, cell: str = "c", run: str = "r", seed: int = 0, **changes) -> CellRecord:
        key = {"task": "t", "task_version": "1", "config": "c", "data": "d", "protocol": "p/1", "device": "cpu"}
        key |= {"seed": seed, "methods": {"quantizer": {"name": "m", "version": "2", "params": {"bits": 8}}}}
        fields = {"run": run, "cell": cell, "key": key, "status": "ok", "env": ENV.hash, "started": "2026-01-01"}
        return CellRecord.model_validate({**fields, "seconds": 1.0, "alone": True, **changes}).sealed()

    def run(self, run: str, cells: int = 3, **changes) -> list:
        """Return the lines of a whole run; its numbers differ from those of other runs."""
        made = [
            self.record(
                f"{run}-{seed}",
                run,
                seed,
                metrics={"accuracy": 80.0 + seed + len(run)},
                measurements={"cost_ratio": 1.5 * seed, "gap": None, "drift": 1e-5 / (seed + 1)},
                samples={"cost_ratio": [0.1, None, 1e-7]},
                notes={"execution": {"layer": "float"}, "said": f'a {seed} \N{GREEK SMALL LETTER ALPHA} "quoted"'},
                **changes,
            )
            for seed in range(cells)
        ]
        plan = PlanLine(run=run, started="2026-01-01", done=[], todo=[record.cell for record in made])
        return [ENV, plan, *made, EndLine(run=run, finished="2026-01-01", status="finished", counts={"ok": cells})]

    def put(self, folder, name: str, *lines):
        """Write lines, or texts, as the run file ``name`` below ``folder``, and return its path."""
        path = folder / "results" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line if isinstance(line, str) else line.text() for line in lines))
        return path


@pytest.fixture
def desk() -> Desk:
    return Desk()
