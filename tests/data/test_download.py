"""One file from a server on the loopback: whole and checked, resumed where it broke off, or one line."""

from __future__ import annotations

import hashlib
import io
import json
import logging
import random
import re
import shutil
import socket
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from benchsuite.contracts.cards import Download
from benchsuite.data.download import Order, download, require_room
from benchsuite.data.fetch import fetch
from benchsuite.data.planetoid import read_planetoid
from benchsuite.data.presence import find
from benchsuite.errors import MissingDataError, StoreError, UsageError

CONTENT = random.Random(0).randbytes(300_001)
OTHER = random.Random(1).randbytes(300_001)
ORDER = Order("tiny", "Put a.zip into /there by hand")


class Loopback(ThreadingHTTPServer):
    """Serves ``files`` by path. Each request takes the next of ``moods``; without one the server is well.

    Moods: an HTTP status; ``"drop"`` (half of what was asked for, then the line is cut), ``"short"`` (half, and said
    to be all), ``"hang"`` (half, then silence), ``"no ranges"`` (also after one of these), ``"no length"``, ``"page"``
    (a web page), ``"lie"`` (another part than was asked for), ``"slow"``.
    """

    daemon_threads = False  # closing the server waits for its threads and their sockets

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.moods: list[str | int] = []
        self.asked: list[tuple[str, str | None]] = []
        self.tags = True
        self.dates = False
        self.release = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        served = self.server
        served.asked.append((self.path, self.headers["Range"]))
        mood = served.moods.pop(0) if served.moods else "well"
        data = served.files.get(self.path)
        if data is None or isinstance(mood, int):
            self.send_response(404 if data is None else mood)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self._send(data, mood)

    def _send(self, data, mood):
        tag = f'"{hashlib.sha256(data).hexdigest()[:8]}"'
        date = f"Mon, 01 Jan 2024 00:00:{data[0] % 60:02} GMT"
        body, status = data, 200
        validators = [tag] * self.server.tags + [date] * self.server.dates
        asked = re.match(r"bytes=(\d+)-", self.headers["Range"] or "")
        unchanged = self.headers["If-Range"] in (None, *validators)
        extra = {}
        if asked and unchanged and "no ranges" not in mood:
            start = int(asked[1]) + (mood == "lie")
            body, status = data[start:], 206 if start < len(data) else 416
            extra["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}" if body else f"bytes */{len(data)}"
        sent = body[: (len(body) + 1) // 2] if mood.partition(" ")[0] in ("drop", "short", "hang") else body
        self.send_response(status)
        if mood != "no length":
            self.send_header("Content-Length", str(len(sent if mood == "short" else body)))
        if self.server.tags:
            self.send_header("ETag", tag)
        if self.server.dates:
            self.send_header("Last-Modified", date)
        self.send_header("Content-Type", "text/html; charset=utf-8" if mood == "page" else "application/zip")
        for name, value in extra.items():
            self.send_header(name, value)
        self.end_headers()
        if mood == "slow":
            time.sleep(0.3)
        self.wfile.write(sent)
        if str(mood).startswith("hang"):
            self.wfile.flush()
            self.server.release.wait(20)


@contextmanager
def serving(monkeypatch):
    """Give a running server, which no proxy of the environment stands before."""
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")
    served = Loopback()
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served.release.set()
        served.shutdown()
        served.server_close()
        thread.join()


@pytest.fixture
def server(monkeypatch):
    with serving(monkeypatch) as served:
        served.files["/a.zip"] = CONTENT
        yield served


@pytest.fixture
def get(server, tmp_path):
    """Download ``/a.zip``; keyword arguments are what is known of it."""

    def run(meter=None, **known):
        return download(Download(url=f"{server.address}/a.zip", **known), tmp_path, ORDER, meter, patience=0.3)

    return run


def parts(folder):
    return sorted(file.name for file in folder.iterdir())


def half(server, tmp_path, get):
    """Leave a part of the file there, as a download does whose machine died."""
    server.moods = ["drop", 503]
    with pytest.raises(MissingDataError):
        get()
    assert (tmp_path / "a.zip.part").read_bytes() == CONTENT[:150_001]
    server.asked.clear()


def test_a_file_arrives_whole(get, tmp_path, caplog):
    told = []
    with caplog.at_level(logging.INFO, "benchsuite.data"):
        path = get(meter=lambda *words: told.append(words))
    assert path == tmp_path / "a.zip"
    assert path.read_bytes() == CONTENT
    assert parts(tmp_path) == ["a.zip"]
    assert caplog.messages == ["a.zip: 300,001 bytes"]
    assert told[0] == ("a.zip", 0, 300_001)
    assert told[-1] == ("a.zip", 300_001, 300_001)
    assert [done for _, done, _ in told] == sorted({done for _, done, _ in told})


def test_what_is_there_is_not_asked_for_again(get, server):
    get()
    get(sha256=hashlib.sha256(CONTENT).hexdigest())
    assert len(server.asked) == 1


def test_a_line_that_is_cut_is_taken_up_again_where_it_was(get, server):
    server.moods = ["drop", "drop"]
    assert get().read_bytes() == CONTENT
    assert [asked for _, asked in server.asked] == [None, "bytes=150001-", "bytes=225001-"]


def test_another_call_goes_on_from_the_part(get, server, tmp_path):
    half(server, tmp_path, get)
    told = []
    assert get(meter=lambda *words: told.append(words)).read_bytes() == CONTENT
    assert server.asked == [("/a.zip", "bytes=150001-")]
    assert told[0] == ("a.zip", 150_001, 300_001)
    assert parts(tmp_path) == ["a.zip"]


@pytest.mark.parametrize("mood", ["no ranges", "lie"])
def test_a_server_that_does_not_give_the_part_gives_the_whole(get, server, tmp_path, mood):
    half(server, tmp_path, get)
    server.moods = [mood]
    assert get().read_bytes() == CONTENT


@pytest.mark.parametrize(("tags", "dates"), [(True, False), (False, True), (True, True)])
def test_another_version_is_not_joined_to_the_part(get, server, tmp_path, tags, dates):
    server.tags, server.dates = tags, dates
    half(server, tmp_path, get)
    server.files["/a.zip"] = OTHER
    assert get().read_bytes() == OTHER


def test_without_a_tag_a_size_tells_versions_apart(get, server, tmp_path):
    server.tags = False
    half(server, tmp_path, get)
    server.files["/a.zip"] = OTHER[:-1]
    assert get().read_bytes() == OTHER[:-1]


def test_without_a_tag_or_a_size_nothing_is_joined(get, server, tmp_path):
    half(server, tmp_path, get)
    note = tmp_path / "a.zip.part.json"
    note.write_text(json.dumps({"url": f"{server.address}/a.zip"}))
    assert get().read_bytes() == CONTENT
    assert server.asked == [("/a.zip", None)]


@pytest.mark.parametrize("note", ["", "[]", "{}", '{"url": 3}', '{"surprise": 1}', "\0"])
def test_a_damaged_note_beside_the_part_costs_the_part_alone(get, server, tmp_path, note):
    half(server, tmp_path, get)
    (tmp_path / "a.zip.part.json").write_text(note)
    assert get().read_bytes() == CONTENT


def test_a_part_that_is_longer_than_the_file_is_dropped(get, server, tmp_path):
    half(server, tmp_path, get)
    with (tmp_path / "a.zip.part").open("ab") as part:
        part.write(b"x" * 200_000)
    assert get().read_bytes() == CONTENT


def test_a_part_that_was_whole_needs_no_server(get, server, tmp_path):
    """The machine died between the last byte and the name."""
    half(server, tmp_path, get)
    (tmp_path / "a.zip.part").write_bytes(CONTENT)
    assert get().read_bytes() == CONTENT
    assert server.asked == []


def test_a_part_of_another_address_is_not_gone_on_from(get, server, tmp_path):
    half(server, tmp_path, get)
    note = tmp_path / "a.zip.part.json"
    note.write_text(note.read_text().replace("a.zip", "b.zip"))
    assert get().read_bytes() == CONTENT
    assert server.asked == [("/a.zip", None)]


def test_a_file_without_a_length_arrives_too(get, server):
    server.moods = ["no length"]
    assert get().read_bytes() == CONTENT


@pytest.mark.parametrize("mood", ["page", 503])
def test_what_is_there_survives_a_bad_day_of_the_server(get, server, tmp_path, mood):
    half(server, tmp_path, get)
    server.moods = [mood]
    refused(get)
    assert (tmp_path / "a.zip.part").read_bytes() == CONTENT[:150_001]
    assert get().read_bytes() == CONTENT


# What cannot be is one line


def refused(get, **known):
    with pytest.raises(MissingDataError) as caught:
        get(**known)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("status", [403, 404, 500])
def test_a_status(get, server, tmp_path, status):
    server.moods = [status]
    mend = "Put a.zip into /there by hand, or run on a machine with a network (BENCHSUITE_DATA names the root)"
    said = f"data set 'tiny' cannot be fetched: {server.address}/a.zip is out of reach (HTTP {status})"
    assert refused(get) == f"{said}. {mend}"
    assert parts(tmp_path) == []


def test_a_server_that_cuts_the_line_each_time_at_one_place(get, server, tmp_path):
    """It knows no parts: each attempt ends where the one before did, and the second is the last."""
    server.moods = ["drop no ranges"] * 3
    assert "(the connection broke off; 150,001 bytes are here, and the same command goes on from them)" in refused(get)
    assert len(server.asked) == 2


def test_a_server_that_falls_silent(get, server):
    server.moods = ["hang no ranges"] * 2
    assert "is out of reach (timed out: nothing came for 0.3 s" in refused(get)


def test_a_server_that_is_silent_in_the_middle_is_asked_again(get, server):
    server.moods = ["hang"]
    assert get().read_bytes() == CONTENT


def test_nobody_listens(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(MissingDataError, match=r"is out of reach \(Connection refused\)"):
        download(Download(url=f"http://127.0.0.1:{port}/a.zip"), tmp_path, ORDER)


def test_a_name_that_is_no_server(tmp_path):
    with pytest.raises(MissingDataError, match=r"http://no-such-host\.invalid/a\.zip is out of reach \(.+\)"):
        download(Download(url="http://no-such-host.invalid/a.zip"), tmp_path, ORDER)


def test_a_web_page_is_no_file(get, server, tmp_path):
    """As a hotel's network gives, or a shop of files that wants to be asked twice."""
    server.moods = ["page"]
    assert "gives a web page in place of the file" in refused(get)
    assert parts(tmp_path) == []


def test_another_size_is_refused_before_a_byte_is_taken(get, tmp_path):
    assert "offers 300,001 bytes in place of 7: another file" in refused(get, size=7)
    assert parts(tmp_path) == []


def test_fewer_bytes_that_are_said_to_be_all(get, server, tmp_path):
    server.moods = ["short"]
    assert "offers 150,001 bytes in place of 300,001" in refused(get, size=300_001)
    server.moods = ["short"]
    said = "a.zip arrived as 150,001 bytes that are not the original file (sha256 differs)"
    assert refused(get, sha256=hashlib.sha256(CONTENT).hexdigest()).startswith(said)
    assert parts(tmp_path) == []


def test_a_size_that_is_known_is_checked_where_the_server_names_none(get, server):
    server.moods = ["no length"]
    assert "(size differs)" in refused(get, size=300_000)


def test_another_file(get, server, tmp_path):
    server.files["/a.zip"] = OTHER
    assert "sha256 differs" in refused(get, sha256=hashlib.sha256(CONTENT).hexdigest())
    server.files["/a.zip"] = CONTENT
    assert get(sha256=hashlib.sha256(CONTENT).hexdigest()).read_bytes() == CONTENT


def test_room_is_asked_for_first(get, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(1000, 1000, 300_000))
    with pytest.raises(StoreError, match=r"a\.zip needs 300,001 bytes, and the disk of .* has room for 300,000\. Make"):
        get()
    require_room(300_000, tmp_path, "this")


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://x/a.zip", "http://x/", "http://x/..", "http://x/a b", "x"]
)
def test_an_address_that_gives_no_file(url):
    with pytest.raises(ValueError, match="validation error"):
        Download(url=url)


def test_a_file_is_called_after_its_address():
    assert Download(url="https://x/data/arxiv.zip?download=1").file == "arxiv.zip"
    assert Download(url="https://x/download?id=3", name="adj_full.npz").file == "adj_full.npz"


# A data set by its card


@pytest.fixture
def dataset(tiny, tiny_card, server):
    """Put TINY's archive on the server, and return its card."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(tiny.write("made").iterdir()):
            archive.write(file, f"tiny/{file.name}")
    shutil.rmtree(tiny.root)
    server.files["/tiny.zip"] = packed.getvalue()
    return tiny_card.model_copy(update={"downloads": (Download(url=f"{server.address}/tiny.zip"),)})


def everything(root):
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*")) if root.exists() else []


def test_a_data_set_is_fetched_unpacked_and_read(dataset, tiny, caplog):
    with caplog.at_level(logging.INFO, "benchsuite.data"):
        fetch(dataset, tiny.root)
    assert read_planetoid(tiny.facts, tiny.root).test.sum() == 4
    assert [name for name in everything(tiny.root) if "ind." not in name] == [
        "Planetoid",
        "Planetoid/Tiny",
        "Planetoid/Tiny/raw",
    ]
    assert caplog.messages[-1] == f"tiny: is in {tiny.root / 'Planetoid' / 'Tiny' / 'raw'}"


def test_a_data_set_that_is_there_is_not_fetched_but_by_force(dataset, tiny, server, caplog):
    fetch(dataset, tiny.root)
    with caplog.at_level(logging.INFO, "benchsuite.data"):
        fetch(dataset, tiny.root)
    assert caplog.messages == [f"tiny: is in {tiny.root / 'Planetoid' / 'Tiny' / 'raw'} already"]
    assert len(server.asked) == 1
    fetch(dataset, tiny.root, force=True)
    assert len(server.asked) == 2


def test_files_that_are_no_archive_are_put_together(tiny, tiny_card, server):
    for file in tiny.write("made").iterdir():
        server.files[f"/get?id={file.name}"] = file.read_bytes()
    shutil.rmtree(tiny.root)
    ids = [path.rpartition("=")[2] for path in server.files if "id=" in path]
    downloads = tuple(Download(url=f"{server.address}/get?id={name}", name=name) for name in ids)
    server.moods = ["well", "well", "drop", 503]
    card = tiny_card.model_copy(update={"downloads": downloads})
    with pytest.raises(MissingDataError):
        fetch(card, tiny.root)
    assert find(card, tiny.root) is None
    asked = len(server.asked)
    fetch(card, tiny.root)
    assert read_planetoid(tiny.facts, tiny.root).test.sum() == 4
    assert len(server.asked) - asked == 6  # the two that were whole are not asked for again
    assert not (tiny.root / ".incoming").exists()


def test_a_half_fetched_data_set_is_gone_on_from(dataset, tiny, server):
    server.moods = ["drop", 503]
    with pytest.raises(MissingDataError) as caught:
        fetch(dataset, tiny.root)
    folder = tiny.root / "Planetoid" / "Tiny" / "raw"
    assert caught.value.mend == (
        f"Bring tiny.zip by hand (benchsuite data import tiny.zip, or unpack it into {folder}), "
        "or run on a machine with a network (BENCHSUITE_DATA names the root)"
    )
    assert everything(tiny.root) == [
        ".incoming",
        ".incoming/tiny",
        ".incoming/tiny/tiny.zip.part",
        ".incoming/tiny/tiny.zip.part.json",
    ]
    fetch(dataset, tiny.root)
    assert server.asked[-1][1].startswith("bytes=")
    assert everything(tiny.root)[0] == "Planetoid"


@pytest.mark.parametrize("what", ["cut", "text", "another", "damaged", "hostile"])
def test_an_archive_that_is_not_the_data_set_leaves_nothing(dataset, tiny, server, what):
    good = server.files["/tiny.zip"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr({"hostile": "../../evil", "another": "raw/edge.csv.gz"}.get(what, "tiny/ind.tiny.x"), "x")
    server.files["/tiny.zip"] = {"cut": good[:-300], "text": b"sorry"}.get(what, packed.getvalue())
    with pytest.raises(MissingDataError) as caught:
        fetch(dataset, tiny.root)
    assert "\n" not in str(caught.value)
    assert everything(tiny.root) == []
    server.files["/tiny.zip"] = good
    fetch(dataset, tiny.root)
    assert read_planetoid(tiny.facts, tiny.root).test.sum() == 4


def test_a_folder_that_is_not_the_whole_data_set_is_not_overwritten(dataset, tiny, server):
    fetch(dataset, tiny.root)
    (tiny.root / "Planetoid" / "Tiny" / "raw" / "ind.tiny.y").unlink()
    with pytest.raises(UsageError, match=r"raw is there, and is not the whole tiny\. Replace it with --force"):
        fetch(dataset, tiny.root)
    assert len(server.asked) == 1
    fetch(dataset, tiny.root, force=True)
    assert read_planetoid(tiny.facts, tiny.root).test.sum() == 4


def test_an_archive_stays_while_the_disk_has_no_room_for_what_is_in_it(dataset, tiny, server, monkeypatch):
    size = len(server.files["/tiny.zip"])
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(size, size, size))
        with pytest.raises(StoreError, match="data set 'tiny' needs"):
            fetch(dataset, tiny.root)
    assert everything(tiny.root) == [".incoming", ".incoming/tiny", ".incoming/tiny/tiny.zip"]
    fetch(dataset, tiny.root)
    assert len(server.asked) == 1


def test_two_that_fetch_one_set_do_not_meet(dataset, tiny, server):
    """The second waits, and finds it there."""
    server.moods = ["slow"]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda _: fetch(dataset, tiny.root), range(3))) == [None] * 3
    assert len(server.asked) == 1
    assert read_planetoid(tiny.facts, tiny.root).test.sum() == 4
    assert [entry.name for entry in tiny.root.iterdir()] == ["Planetoid"]


def test_no_variable(dataset):
    with pytest.raises(MissingDataError, match="data set 'tiny' cannot be fetched: BENCHSUITE_DATA is not set"):
        fetch(dataset, None)


def test_a_root_that_cannot_be_written(dataset, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(MissingDataError, match=r"'tiny' cannot be written to .*/file/.*raw \(File exists\)"):
        fetch(dataset, tmp_path / "file")
