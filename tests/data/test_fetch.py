"""Downloads from a server on the loopback: whole files or none."""

from __future__ import annotations

import gc
import hashlib
import logging
import socket
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from benchsuite.data import checksums, fetch
from benchsuite.data.fetch import fetch_planetoid
from benchsuite.data.planetoid import FACTS, file_names, read_planetoid
from benchsuite.errors import MissingDataError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder silently; what stands in ``spoil`` is damaged on the way."""

    spoil: dict[str, str] = {}  # noqa: RUF012 (each test sets its own)

    def log_message(self, *args):
        self.server.asked.append(self.path)

    def copyfile(self, source, outputfile):
        data = source.read()
        match self.spoil.get(self.path.rpartition("/")[2]):
            case "corrupt":
                data = bytes([data[0] ^ 1]) + data[1:]
            case "cut":
                data = data[: len(data) // 2]
            case "hang":
                self.server.release.wait(20)
        outputfile.write(data)


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Serve a folder as the place that PyTorch Geometric downloads from."""
    from torch_geometric.datasets import Planetoid

    folder = tmp_path / "server"
    folder.mkdir()
    monkeypatch.setattr(Handler, "spoil", {})
    served = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    served.daemon_threads = False  # closing the server waits for its threads and their sockets
    served.asked, served.folder, served.release = [], folder, threading.Event()
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    monkeypatch.setattr(Planetoid, "url", f"http://127.0.0.1:{served.server_port}/data")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")
    yield served
    served.release.set()
    served.shutdown()
    served.server_close()
    thread.join()


@pytest.fixture
def published(tiny, server, tmp_path, monkeypatch):
    """Put TINY's files on the server, and their sums among the known ones."""
    root, tiny.root = tiny.root, server.folder
    folder = tiny.write("data")
    tiny.root = root
    sums = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}
    monkeypatch.setattr(fetch, "SHA256", sums)
    return tiny


def raw(tiny):
    return tiny.root / "Planetoid" / "Tiny" / "raw"


def test_what_arrives_is_read(published, caplog):
    with caplog.at_level(logging.INFO, "benchsuite.data"):
        fetch_planetoid(published.facts, published.root)
    assert sorted(file.name for file in raw(published).iterdir()) == sorted(file_names(published.facts))
    assert read_planetoid(published.facts, published.root).test.sum() == 4
    assert caplog.messages[0] == f"ind.tiny.x: {(raw(published) / 'ind.tiny.x').stat().st_size:,} bytes"
    assert caplog.messages[-1] == f"tiny: all 8 files are in {raw(published)}"


def test_nothing_else_is_left_behind(published):
    fetch_planetoid(published.facts, published.root)
    assert [entry.name for entry in published.root.iterdir()] == ["Planetoid"]


def test_whole_files_are_not_downloaded_again(published, server):
    fetch_planetoid(published.facts, published.root)
    (raw(published) / "ind.tiny.y").write_bytes(b"damaged")
    server.asked.clear()
    fetch_planetoid(published.facts, published.root)
    assert server.asked == ["/data/ind.tiny.y"]
    fetch_planetoid(published.facts, published.root)
    assert server.asked == ["/data/ind.tiny.y"]


def test_a_whole_copy_in_another_layout_is_left_alone(published, server):
    published.write("planetoid")
    fetch_planetoid(published.facts, published.root)
    assert server.asked == []


def test_a_damaged_copy_in_another_layout_is_mended(published):
    (published.write("planetoid") / "ind.tiny.graph").write_bytes(b"damaged")
    fetch_planetoid(published.facts, published.root)
    assert read_planetoid(published.facts, published.root).test.sum() == 4


@pytest.mark.parametrize("how", ["corrupt", "cut"])
def test_bytes_that_are_not_the_original(how, published, server, monkeypatch):
    monkeypatch.setattr(Handler, "spoil", {"ind.tiny.allx": how})
    with pytest.raises(MissingDataError) as caught:
        fetch_planetoid(published.facts, published.root)
    assert "ind.tiny.allx " in caught.value.message
    assert "\n" not in str(caught.value)
    assert not (raw(published) / "ind.tiny.allx").exists()
    with pytest.raises(MissingDataError, match="lacks"):
        read_planetoid(published.facts, published.root)
    monkeypatch.setattr(Handler, "spoil", {})
    fetch_planetoid(published.facts, published.root)
    assert read_planetoid(published.facts, published.root).test.sum() == 4


def test_a_file_that_the_server_lacks(published, server):
    (server.folder / "data" / "ind.tiny.x").unlink()
    with pytest.raises(MissingDataError, match=r"ind\.tiny\.x is out of reach \(HTTP 404\)"):
        fetch_planetoid(published.facts, published.root)
    assert not raw(published).exists()


def test_a_server_that_is_down(tmp_path, monkeypatch):
    from torch_geometric.datasets import Planetoid

    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    monkeypatch.setattr(Planetoid, "url", url)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")
    with pytest.raises(MissingDataError) as caught:
        fetch.cora(tmp_path)
    assert caught.value.message.startswith(f"data set 'cora' cannot be fetched: {url}/ind.cora.x is out of reach (")
    assert "refused" in caught.value.message
    assert caught.value.mend == (
        f"Put ind.cora.* into {tmp_path / 'Planetoid' / 'Cora' / 'raw'} by hand, or run on a machine with a network "
        "(BENCHSUITE_DATA names the root)"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # PyTorch Geometric leaves the socket to the collector
def test_a_server_that_hangs(published, monkeypatch):
    monkeypatch.setattr(Handler, "spoil", {"ind.tiny.x": "hang"})
    monkeypatch.setattr(fetch, "PATIENCE", 0.3)
    with pytest.raises(MissingDataError, match="timed out"):
        fetch_planetoid(published.facts, published.root)
    assert socket.getdefaulttimeout() is None
    gc.collect()


def test_no_variable(tiny):
    with pytest.raises(MissingDataError, match="BENCHSUITE_DATA is not set"):
        fetch_planetoid(tiny.facts, None)


def test_a_root_that_cannot_be_written(published):
    published.root.parent.mkdir(exist_ok=True)
    published.root.write_text("a file")
    with pytest.raises(MissingDataError, match=r"cannot be written to .* \(File exists\)"):
        fetch_planetoid(published.facts, published.root)


def test_a_full_disk(published, monkeypatch):
    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(MissingDataError, match="No space left on device"):
        fetch_planetoid(published.facts, published.root)


def test_a_sum_is_known_for_every_file_of_every_data_set():
    assert set(checksums.SHA256) == {name for facts in FACTS.values() for name in file_names(facts)}
    assert all(len(digest) == 64 for digest in checksums.SHA256.values())


@pytest.mark.data
@pytest.mark.parametrize("name", FACTS)
def test_the_known_sums_are_those_of_the_real_files(name, data_root):
    from benchsuite.data.report import planetoid

    assert "the originals, by sha256" in dict(planetoid(name, data_root))["files"]


@pytest.mark.data
def test_the_real_files_through_the_server(server, data_root, tmp_path):
    from benchsuite.data.planetoid import cora, find

    (server.folder / "data").symlink_to(find(FACTS["cora"], data_root))
    root = tmp_path / "root"
    fetch.cora(root)
    assert cora(root).content_hash() == cora(data_root).content_hash()
