"""Every way in which a plugin may be bad: the right status, its name in the record, and nobody else is harmed."""

from __future__ import annotations

import psutil
import pytest

ANSWER = '    def answer(self, labels, cell):\n        return {"test": labels}\n'

#: For each species: what the method's module says, the status, and what the record's message says.
AT_RUN = {
    "syntax": ("class Method(:\n", "failed", "invalid syntax"),
    "missing": ("import no_such_library\n", "failed", "No module named 'no_such_library'"),
    "leaves": ("raise SystemExit('at import')\n", "failed", "at import"),
    "nameless": ("class Other:\n    pass\n", "failed", "has no attribute 'Method'"),
    "signature": ("class Method:\n    def answer(self):\n        pass\n", "failed", "positional argument"),
    "raises": ("class Method:\n    def answer(self, labels, cell):\n        raise ValueError('no')\n", "failed", "no"),
    "hangs": (
        "class Method:\n    def answer(self, labels, cell):\n        while True: pass\n",
        "timeout",
        "longer than 3 s",
    ),
    "exits": (
        "import os\nclass Method:\n    def answer(self, labels, cell):\n        os._exit(7)\n",
        "crashed",
        "code 7",
    ),
    "segfault": (
        "import ctypes\nclass Method:\n    def answer(self, labels, cell):\n        ctypes.string_at(0)\n",
        "crashed",
        "SIGSEGV",
    ),
    "greedy": (
        "class Method:\n    def answer(self, labels, cell):\n        return {'test': bytearray(2**33)}\n",
        "oom",
        "",
    ),
    "nan": (
        "import numpy as np\nclass Method:\n    def answer(self, labels, cell):\n"
        "        return {'test': np.full(len(labels), np.nan)}\n",
        "failed",
        "accuracy",
    ),
    "shape": (
        "class Method:\n    def answer(self, labels, cell):\n        return {'test': labels[:-1]}\n",
        "failed",
        "predictions have shape",
    ),
    "thread": (
        "import threading, time\nclass Method:\n    def answer(self, labels, cell):\n"
        "        threading.Thread(target=time.sleep, args=(600,)).start()\n        return {'test': labels}\n",
        "ok",
        "",
    ),
    "children": (
        "import subprocess, sys\nclass Method:\n    def answer(self, labels, cell):\n"
        "        for loose in (False, True, True):\n"
        "            subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', 'left-behind'],\n"
        "                             start_new_session=loose)\n"
        "        return {'test': labels}\n",
        "ok",
        "",
    ),
}


def left_behind():
    found = []
    for process in psutil.process_iter(["cmdline"]):
        found += [process] if "left-behind" in (process.info["cmdline"] or []) else []
    return found


@pytest.mark.slow
def test_each_species_ends_as_what_it_is_and_harms_nobody(workshop):
    for name, (method, *_) in AT_RUN.items():
        workshop.plugin(name, method=method)
    words = [word for name in AT_RUN for word in ("--plugin", name)]
    done = workshop.run(
        *words, "--plugin", "toy-good[bits=4]", "--timeout", "3", "--executor", "local[memory=3GiB]", timeout=230
    )
    assert done.returncode == 1, done.stderr
    records = workshop.records()
    for name, (_, status, says) in AT_RUN.items():
        for seed in (0, 1):
            record = records[name, seed]
            assert record.status == status, (name, record.error)
            assert says in ("" if record.error is None else record.error.message), name
            assert record.plugins["quantizer"].plugin == name
    for name, accuracy in (("toy-reference", 100.0), ("toy-good", 50.0), ("thread", 100.0), ("children", 100.0)):
        assert [records[name, seed].metrics["accuracy"] for seed in (0, 1)] == [accuracy] * 2
    assert left_behind() == []


@pytest.mark.parametrize(
    ("cards", "says"),
    [
        ("def broken(:\n", "phase import"),
        ("import no_such_library\n", "No module named"),
        ("raise SystemExit('at import')\n", "at import"),
        (
            "from benchsuite.plugin import hookimpl\n@hookimpl\ndef benchsuite_metods():\n    return []\n",
            "benchsuite_metods",
        ),
        (
            "from benchsuite.plugin import hookimpl\n@hookimpl\ndef benchsuite_methods():\n    return 5\n",
            "benchsuite_methods",
        ),
        (
            "from benchsuite.plugin import MethodCard, hookimpl\n@hookimpl\ndef benchsuite_methods():\n"
            "    return [MethodCard(name='toy-good', kind='quantizer', target='m:C', summary='S')]\n",
            "toy-good",
        ),
    ],
    ids=["syntax", "missing", "leaves", "misspelt", "no-list", "duplicate"],
)
def test_a_plugin_that_cannot_be_loaded_is_named_and_the_others_run(workshop, cards, says):
    workshop.plugin("sick", cards=cards)
    done = workshop.run("--plugin", "toy/toy-reference")
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if "sick" in line]
    assert any(says in line for line in told)
    assert [records.status for records in workshop.records().values()] == ["ok", "ok"]


MEDDLER = """
import locale, logging, os, random, signal, sys, tempfile, warnings
import numpy as np

class Method:
    def answer(self, labels, cell):
        random.seed(1); np.random.seed(1); np.seterr(all="raise")
        os.chdir(tempfile.mkdtemp()); os.environ["OMP_NUM_THREADS"] = "7"; os.environ.pop("PATH", None)
        warnings.simplefilter("error"); sys.path.insert(0, "/nowhere"); sys.setrecursionlimit(77_777)
        signal.signal(signal.SIGTERM, signal.SIG_IGN); os.umask(0); logging.disable(logging.CRITICAL)
        locale.setlocale(locale.LC_ALL, "C")
        import torch
        torch.set_default_dtype(torch.float64); torch.set_grad_enabled(False); torch.set_num_threads(2)
        torch.use_deterministic_algorithms(True); torch.autograd.set_detect_anomaly(True)
        torch.set_float32_matmul_precision("medium")
        sys.stdout.close()
        return {"test": labels}
"""

WITNESS = """
import json, os, sys, warnings, signal, logging, random
import numpy as np

class Method:
    def answer(self, labels, cell):
        import torch
        seen = {
            "cwd": os.getcwd(), "threads": os.environ.get("OMP_NUM_THREADS"), "path": "PATH" in os.environ,
            "filters": [str(f) for f in warnings.filters], "nowhere": "/nowhere" in sys.path,
            "limit": sys.getrecursionlimit(),
            "sigterm": getattr(signal.getsignal(signal.SIGTERM), "__name__", "ignored"),
            "disabled": logging.root.manager.disable,
            "numpy": np.geterr(), "torch": [str(torch.get_default_dtype()), torch.is_grad_enabled(),
            torch.get_num_threads(), torch.are_deterministic_algorithms_enabled(), torch.is_anomaly_enabled(),
            torch.get_float32_matmul_precision()],
        }
        umask = os.umask(0); os.umask(umask); seen["umask"] = umask
        print("still heard")
        return {"test": labels, "notes": {"seen": seen, "pid": os.getpid()}}
"""


def test_a_meddler_leaves_no_trace_in_the_worker_that_the_next_cell_gets(workshop):
    workshop.plugin("meddler", method=MEDDLER)
    workshop.plugin("witness", method=WITNESS)
    # Cells run in the order of the command: witness, meddler, witness again, with another seed but in one worker.
    assert workshop.run("--plugin", "witness", "--plugin", "meddler").returncode == 0
    before = workshop.records()["witness", 1].notes["seen"]
    again = workshop.run("--plugin", "meddler", "--plugin", "witness", "--force")
    assert again.returncode == 0, again.stderr
    records = workshop.records()
    assert records["witness", 0].notes["seen"] == before
    assert records["witness", 0].notes["pid"] == records["witness", 1].notes["pid"]


FRAGILE = """
import os, signal
from pathlib import Path

marker = Path(os.environ["TMPDIR"], "was-here-once")
if not marker.exists():
    marker.touch()
    os.kill(os.getpid(), signal.SIGKILL)

class Method:
    def answer(self, labels, cell):
        return {"test": labels}
"""

DOOMED = """
import os, signal
os.kill(os.getpid(), signal.SIGSEGV)
"""


@pytest.mark.slow
def test_a_process_that_dies_before_the_method_has_its_job_is_started_once_more_and_marked(workshop):
    workshop.plugin("fragile", method=FRAGILE)
    workshop.plugin("doomed", method=DOOMED)
    workshop.run("--plugin", "fragile", "--plugin", "doomed", "--plugin", "toy-good[bits=4]")
    records = workshop.records()
    assert [(records["fragile", seed].status, records["fragile", seed].notes) for seed in (0, 1)] == [
        ("ok", {"attempts": 2}),
        ("ok", {}),
    ]
    for seed in (0, 1):
        assert (records["doomed", seed].status, records["doomed", seed].notes) == ("crashed", {"attempts": 2})
        assert "SIGSEGV" in records["doomed", seed].error.message
        assert records["toy-good", seed].status == "ok"


THREAD = """
import os, threading, time

class Method:
    def answer(self, labels, cell):
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        return {"test": labels, "notes": {"pid": os.getpid()}}
"""


@pytest.mark.slow
def test_a_worker_with_a_thread_too_many_gets_no_further_cell(workshop):
    workshop.plugin("thread", method=THREAD)
    assert workshop.run("--plugin", "thread", "--plugin", "toy-good", "--jobs", "2").returncode == 0
    records = [record for record in workshop.records().values() if record.notes]
    haunted = {record.notes["pid"] for (name, _), record in workshop.records().items() if name == "thread"}
    assert len(haunted) == 2
    assert all(record.notes["pid"] not in haunted for record in records if "threads" in record.notes)


LOOSE = """
import subprocess, sys, time

class Method:
    def answer(self, labels, cell):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "left-behind"], start_new_session=True)
        time.sleep(600)
"""


@pytest.mark.slow
def test_a_process_that_cut_itself_loose_ends_with_the_time_of_its_cell(workshop):
    workshop.plugin("loose", method=LOOSE)
    workshop.run("--plugin", "loose", "--timeout", "4")
    assert {record.status for (name, _), record in workshop.records().items() if name == "loose"} == {"timeout"}
    assert left_behind() == []
