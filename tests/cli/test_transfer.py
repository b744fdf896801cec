"""How a download is shown: lines now and then for a pipe, a bar for a terminal."""

from __future__ import annotations

import logging

import pytest
from rich.console import Console

from benchsuite.cli import transfer
from benchsuite.cli.transfer import transfers

LOG = logging.getLogger("benchsuite.data.anything")


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves when it is told to."""
    now = [100.0]
    monkeypatch.setattr(transfer.time, "monotonic", lambda: now[0])

    def move(seconds):
        now[0] += seconds

    return move


def test_a_pipe_gets_a_line_every_ten_seconds(clock, capsys):
    with transfers() as meter:
        meter("a.zip", 1_000_000, 90_000_000)
        clock(9)
        meter("a.zip", 10_000_000, 90_000_000)
        clock(2)
        meter("a.zip", 23_000_000, 90_000_000)
        clock(1)
        meter("a.zip", 24_000_000, 90_000_000)
        clock(10)
        meter("a.zip", 45_000_000, None)
        LOG.info("a.zip: done")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "a.zip: 23.0 MB of 90.0 MB, 2.0 MB/s",
        "a.zip: 45.0 MB, 2.0 MB/s",
        "a.zip: done",
    ]


def test_a_short_download_is_told_by_its_last_line_alone(capsys):
    with transfers() as meter:
        meter("a.zip", 5, 5)
        LOG.info("a.zip: 5 bytes")
    assert capsys.readouterr().err == "a.zip: 5 bytes\n"


def test_nothing_is_left_of_it_afterwards(capsys):
    logger = logging.getLogger("benchsuite")
    before = (logger.level, list(logger.handlers))
    with pytest.raises(KeyError), transfers():
        raise KeyError
    assert (logger.level, list(logger.handlers)) == before


def test_a_terminal_gets_a_bar(monkeypatch):
    out = Console(force_terminal=True, width=100, file=__import__("io").StringIO(), markup=False, highlight=False)
    monkeypatch.setattr(transfer, "console", lambda stderr: out)
    with transfers() as meter:
        meter("a\x1b[31m.zip", 0, 90_000_000)
        meter("a\x1b[31m.zip", 45_000_000, 90_000_000)
        LOG.info("b.zip: done")
    text = out.file.getvalue()
    assert "45.0/90.0 MB" in text
    assert "b.zip: done" in text
    assert "\x1b[31m.zip" not in text
