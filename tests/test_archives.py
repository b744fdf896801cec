"""What is read of an archive: each form of it, nothing that leads out of it, and damage in one line."""

from __future__ import annotations

import os
import random
import stat
import subprocess
import tarfile
import zipfile

import pytest

from benchsuite.archives import open_source, written_whole
from benchsuite.errors import MissingDataError

TEXT = b"".join(b"%d bottles of beer\n" % number for number in range(20_000))


@pytest.fixture
def folder(tmp_path):
    """A folder with a long file below another folder."""
    (tmp_path / "tree" / "deep").mkdir(parents=True)
    (tmp_path / "tree" / "deep" / "long.txt").write_bytes(TEXT)
    (tmp_path / "tree" / "short.txt").write_text("short")
    return tmp_path / "tree"


def pack(folder, path, inside=""):
    """Write an archive of the form that the name says."""
    if path.suffix in (".zip", ".whl"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folder.rglob("*")):
                archive.write(file, inside + file.relative_to(folder).as_posix())
    else:
        with tarfile.open(path, f"w:{path.suffix[1:].replace('tgz', 'gz').replace('tar', '')}") as tape:
            for file in sorted(folder.rglob("*")):
                tape.add(file, inside + file.relative_to(folder).as_posix(), recursive=False)
    return path


@pytest.mark.parametrize("inside", ["", "./"])
@pytest.mark.parametrize("form", ["whl", "zip", "tar", "tar.gz", "tgz", "tar.bz2", "tar.xz"])
def test_each_form_gives_the_same_files(folder, tmp_path, form, inside):
    with open_source(pack(folder, tmp_path / f"archive.{form}", inside)) as source:
        assert source.names == ["deep/long.txt", "short.txt"]
        source.copy("deep/long.txt", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == TEXT


def test_what_the_program_tar_writes_of_a_folder_is_read(folder, tmp_path):
    """It puts ``./`` before every name."""
    subprocess.run(["tar", "czf", tmp_path / "mine.tgz", "-C", folder, "."], check=True)
    with open_source(tmp_path / "mine.tgz") as source:
        assert source.names == ["deep/long.txt", "short.txt"]


def test_a_folder_may_hold_links(folder, tmp_path):
    (folder / "link.txt").symlink_to(folder / "short.txt")
    with open_source(folder) as source:
        source.copy("link.txt", tmp_path / "out")
    assert (tmp_path / "out").read_text() == "short"


# Hostile


@pytest.mark.parametrize("form", ["zip", "tar"])
@pytest.mark.parametrize("name", ["../outside.txt", "/absolute.txt", "a/../../b.txt", "c:\\windows.txt"])
def test_a_name_that_leads_out_is_refused(folder, tmp_path, form, name):
    path = pack(folder, tmp_path / f"evil.{form}")
    if form == "zip":
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(name, "x")
    else:
        with tarfile.open(path, "a") as tape:
            tape.addfile(tarfile.TarInfo(name))
    with pytest.raises(MissingDataError, match=r"which leads out of it\. Do not trust"), open_source(path):
        pass


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_refused(folder, tmp_path, kind):
    path = pack(folder, tmp_path / "evil.tar")
    with tarfile.open(path, "a") as tape:
        member = tarfile.TarInfo("tokenizer.json")
        member.type, member.linkname = kind, "/etc/passwd"
        tape.addfile(member)
    with pytest.raises(MissingDataError, match=r"'tokenizer\.json', which is no plain file"), open_source(path):
        pass


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_links_and_devices_in_a_zip_are_refused(folder, tmp_path, kind):
    path = pack(folder, tmp_path / "evil.zip")
    with zipfile.ZipFile(path, "a") as archive:
        member = zipfile.ZipInfo("tokenizer.json")
        member.create_system, member.external_attr = 3, (kind | 0o644) << 16
        archive.writestr(member, "/etc/passwd")
    with pytest.raises(MissingDataError, match=r"'tokenizer\.json', which is no plain file"), open_source(path):
        pass


def test_an_encrypted_zip_is_one_line(folder, tmp_path):
    path = pack(folder, tmp_path / "secret.zip")
    data = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        place = -1
        while (place := data.find(mark, place + 1)) >= 0:
            data[place + offset] |= 1  # the flag of an encrypted member, in both of its headers
    path.write_bytes(data)
    with open_source(path) as source, pytest.raises(MissingDataError) as caught:
        source.copy("short.txt", tmp_path / "out")
    assert "cannot be unpacked: File 'short.txt' is encrypted" in str(caught.value)
    assert caught.value.mend == "Unpack it yourself, and import the folder"


def lying(path, declared):
    """Let a zip say that each of its members unpacks to ``declared`` bytes (below 4 GiB)."""
    data = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        place = -1
        while (place := data.find(mark, place + 1)) >= 0:
            data[place + offset : place + offset + 4] = declared.to_bytes(4, "little")
    path.write_bytes(data)


def test_a_zip_that_would_swell_is_refused_before_a_byte_is_unpacked(folder, tmp_path):
    path = pack(folder, tmp_path / "bomb.zip")
    lying(path, 2**32 - 2)
    with (
        pytest.raises(MissingDataError, match=r"would unpack to more than .* bytes, out of "),
        open_source(path),
    ):
        pass


def test_a_zip_that_hides_how_much_it_holds_gives_no_more_than_it_says(folder, tmp_path):
    path = pack(folder, tmp_path / "liar.zip")
    lying(path, 1000)
    with open_source(path) as source:
        assert source.size("deep/long.txt") == 1000
        with pytest.raises(MissingDataError, match="cannot be read: Bad CRC-32"):
            source.copy("deep/long.txt", tmp_path / "out")
    assert (tmp_path / "out").stat().st_size <= 1000


@pytest.mark.parametrize("form", ["tar", "tar.gz"])
def test_a_tar_that_would_swell_is_refused_when_it_says_so(tmp_path, form):
    """What its second member says is not waited for: the first is not skipped over."""
    path = tmp_path / f"bomb.{form}"
    with tarfile.open(path, "w:gz" if form.endswith("gz") else "w") as tape:
        for name in ("a", "b"):
            member = tarfile.TarInfo(name)
            member.size = 2**41
            tape.fileobj.write(member.tobuf())
    with pytest.raises(MissingDataError, match="would unpack to more than 2,199,023,255,552 bytes"), open_source(path):
        pass


def test_a_large_archive_of_tables_is_no_bomb(tmp_path):
    """Text that repeats itself packs to a hundredth; what is below a gigabyte is let through whatever it does."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "zeros").write_bytes(bytes(50_000_000))
    path = pack(tmp_path / "tree", tmp_path / "x.zip")
    assert path.stat().st_size < 60_000
    with open_source(path) as source:
        assert source.size("zeros") == 50_000_000


def test_too_many_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("benchsuite.archives._MEMBERS", 9)
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for number in range(10):
            archive.writestr(str(number), "")
    with pytest.raises(MissingDataError, match="holds more than 9 files"), open_source(tmp_path / "many.zip"):
        pass


@pytest.mark.parametrize("names", [("a", "a/b"), ("a/b", "a"), ("a/b/c/d", "a/b"), (".",)])
def test_a_file_that_is_a_folder_too_is_refused(tmp_path, names):
    with zipfile.ZipFile(tmp_path / "odd.zip", "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    with pytest.raises(MissingDataError, match="inside what is a file"), open_source(tmp_path / "odd.zip"):
        pass


def test_an_empty_zip_holds_nothing(tmp_path):
    zipfile.ZipFile(tmp_path / "empty.zip", "w").close()
    with open_source(tmp_path / "empty.zip") as source:
        assert source.names == []


# Whole, or not at all


def test_a_folder_is_written_whole(tmp_path):
    with written_whole(tmp_path / "a" / "b", tmp_path, force=False) as folder:
        assert folder.relative_to(tmp_path).parts[1:] == ("a", "b")
        (folder / "file").write_text("new")
        assert not (tmp_path / "a").exists()
    assert [p.relative_to(tmp_path).as_posix() for p in sorted(tmp_path.rglob("*"))] == ["a", "a/b", "a/b/file"]


def fill(folder):
    (folder / "file").write_text("half")
    raise ValueError("no")


@pytest.mark.parametrize("force", [False, True])
def test_what_fails_leaves_what_was_there(tmp_path, force):
    target = tmp_path / "a"
    target.mkdir()
    (target / "old").touch()
    with pytest.raises(ValueError, match="no"), written_whole(target, tmp_path, force) as folder:
        fill(folder)
    assert [p.relative_to(tmp_path).as_posix() for p in sorted(tmp_path.rglob("*"))] == ["a", "a/old"]


# Damaged


@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
@pytest.mark.parametrize("form", ["zip", "tar", "tar.gz", "tar.xz"])
def test_an_archive_that_is_cut_off_is_one_line(folder, tmp_path, form, share):
    path = pack(folder, tmp_path / f"cut.{form}")
    os.truncate(path, int(path.stat().st_size * share))
    with pytest.raises(MissingDataError, match=r"cut.* cannot be read: .*\. Get it again") as caught, open_source(path):
        pass
    assert "\n" not in str(caught.value)


def test_a_tar_that_is_cut_between_two_members_is_not_taken_for_whole(folder, tmp_path):
    path = pack(folder, tmp_path / "cut.tar")
    with tarfile.open(path) as tape:
        os.truncate(path, tape.getmember("short.txt").offset)
    with pytest.raises(MissingDataError, match="it is cut off"), open_source(path):
        pass


def test_a_flipped_byte_in_a_packed_tar_is_found(folder, tmp_path):
    """Where the packing stores bytes as they are, only its checksum at the very end tells."""
    noise = random.Random(0).randbytes(100_000)
    (folder / "noise").write_bytes(noise)
    path = tmp_path / "flipped.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=0) as tape:
        tape.add(folder / "noise", "noise")
    data = bytearray(path.read_bytes())
    data[data.index(noise[5_000:5_020])] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(MissingDataError, match="CRC check failed"), open_source(path):
        pass


def test_a_tar_that_goes_on_behind_its_end_is_refused(folder, tmp_path):
    path = pack(folder, tmp_path / "long.tar")
    os.truncate(path, path.stat().st_size + 2**24 + 1)
    with pytest.raises(MissingDataError, match="it goes on behind its end"), open_source(path):
        pass


def test_a_flipped_byte_in_a_zip_is_found_when_it_is_copied(folder, tmp_path):
    path = tmp_path / "flipped.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("long.txt", TEXT)
    data = bytearray(path.read_bytes())
    data[len(TEXT) // 2] ^= 0xFF
    path.write_bytes(data)
    with open_source(path) as source, pytest.raises(MissingDataError, match="Bad CRC-32"):
        source.copy("long.txt", tmp_path / "out")


def test_what_is_no_archive_is_said_shortly(tmp_path):
    (tmp_path / "text.whl").write_text("hello")
    with pytest.raises(MissingDataError) as caught, open_source(tmp_path / "text.whl"):
        pass
    said = "cannot be read: it is no wheel, zip, tar or .gguf file, or is cut off. Get it again"
    assert str(caught.value) == f"{tmp_path / 'text.whl'} {said}"


@pytest.mark.parametrize("form", ["zip", "tar", "tar.gz"])
def test_no_damage_ends_in_another_error(tmp_path, form):
    """Whatever byte is wrong, files are read or one line is said."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.txt").write_bytes(TEXT[:2_000])
    (tmp_path / "tree" / "b.txt").write_bytes(TEXT[2_000:4_000])
    whole = pack(tmp_path / "tree", tmp_path / f"whole.{form}").read_bytes()
    path, chance = tmp_path / f"wrong.{form}", random.Random(0)
    refused = 0
    for _ in range(150):
        wrong = bytearray(whole)
        wrong[chance.randrange(len(wrong))] = chance.randrange(256)
        path.write_bytes(wrong)
        try:
            with open_source(path) as source:
                for name in source.names:
                    source.copy(name, tmp_path / "out")
        except MissingDataError:
            refused += 1
    assert refused > 10
