"""A cached file is made once, by whoever asks first, and is whole or absent."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchsuite.caching import read_or_make
from benchsuite.errors import StoreError


def read(path):
    """Return the text of a file that ends as it should."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return None
    return text if text.endswith("whole") else None


def test_what_is_whole_is_read_and_what_is_not_is_made(tmp_path):
    path, made = tmp_path / "folder" / "file", []

    def make():
        made.append(1)
        return b"the whole"

    assert [read_or_make(path, read, make) for _ in range(3)] == ["the whole"] * 3
    assert len(made) == 1
    path.write_text("the who", encoding="utf-8")
    assert read_or_make(path, read, make) == "the whole"
    assert len(made) == 2


def test_what_cannot_be_made_leaves_nothing_behind(tmp_path):
    path = tmp_path / "file"

    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        read_or_make(path, read, fail)
    assert not path.exists()
    assert read_or_make(path, read, lambda: b"the whole") == "the whole"


def test_what_is_made_wrong_is_an_error(tmp_path):
    with pytest.raises(StoreError, match="was written and cannot be read"):
        read_or_make(tmp_path / "file", read, lambda: b"half")


ASK = """
import sys, time
from pathlib import Path
from benchsuite.caching import read_or_make
path, log = Path(sys.argv[1]), Path(sys.argv[2])
def make():
    with log.open("a") as file:
        file.write("made\\n")
    time.sleep(0.5)
    return b"the whole"
print(read_or_make(path, lambda p: p.read_text() if p.is_file() else None, make))
"""


def test_processes_that_ask_at_once_make_it_once(tmp_path):
    words = [sys.executable, "-c", ASK, str(tmp_path / "file"), str(tmp_path / "log")]
    asked = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate()[0].strip() for process in asked] == ["the whole"] * 3
    assert (tmp_path / "log").read_text() == "made\n"
