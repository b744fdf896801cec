"""Methods that guess labels, some of them badly."""

# ruff: noqa: T201

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np


class Right:
    def answer(self, labels, cell):
        return {"test": labels}


class Share:
    def __init__(self, bits, share):
        self.bits, self.share = bits, share

    def answer(self, labels, cell):
        wrong = np.arange(len(labels)) >= self.share * len(labels)
        notes = {"pid": os.getpid(), "group": os.getpgrp(), "threads": os.environ.get("OMP_NUM_THREADS")}
        return {"test": np.where(wrong, -1 - cell.seed, labels), "notes": {**notes, "torch": "torch" in sys.modules}}


class Slow:
    def __init__(self, seconds):
        self.seconds = seconds

    def answer(self, labels, cell):
        time.sleep(self.seconds)
        return {"test": np.where(np.arange(len(labels)) > cell.seed, labels, -1)}


class Bad:
    def __init__(self, how):
        self.how = how.replace("-", "_")

    def answer(self, labels, cell):
        return getattr(self, self.how)(labels, cell)

    def raise_(self, labels, cell):
        print("on the way")
        raise ValueError("this method\ncannot count")

    def nan(self, labels, cell):
        return {"test": np.full(len(labels), np.nan)}

    def shape(self, labels, cell):
        return {"test": labels[:-1]}

    def objects(self, labels, cell):
        return {"test": np.array([object()] * len(labels))}

    def exit(self, labels, cell):
        print("last words")
        os._exit(3)

    def exit_zero(self, labels, cell):
        os._exit(0)

    def exit_python(self, labels, cell):
        sys.exit("enough")

    def interrupt(self, labels, cell):
        raise KeyboardInterrupt

    def kill(self, labels, cell):
        os.kill(os.getpid(), signal.SIGSEGV)

    def kill_parent(self, labels, cell):
        """Only for cells whose worker's parent is not the host: take the cluster's own process down."""
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)

    def loop(self, labels, cell):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(0.1)

    def loud(self, labels, cell):
        for _ in range(200_000):
            print("the same line over and over")
        os.write(2, b"and one from below Python\n")
        raise RuntimeError("hoarse")

    def memory(self, labels, cell):
        raise MemoryError("too much")

    def late_death(self, labels, cell):
        """Answer well and die after the answer was sent."""
        threading.Timer(0.2, os._exit, (9,)).start()
        return {"test": labels}

    def child(self, labels, cell):
        """Leave a process behind and hang."""
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        Path(cell.cache, "child.pid").write_text(str(child.pid))
        time.sleep(60)

    def thread(self, labels, cell):
        """Answer well and leave a thread behind."""
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        return {"test": labels, "notes": {"pid": os.getpid()}}

    def nothing(self, labels, cell):
        return None

    def notes(self, labels, cell):
        return {"test": labels, "notes": {"object": object()}}

    def surrogate(self, labels, cell):
        raise ValueError("half a character: \ud800")

    def infinite(self, labels, cell):
        return {"test": labels, "measurements": {"ratio": float("inf"), "gap": float("nan"), "none": None}}


setattr(Bad, "raise", Bad.raise_)
