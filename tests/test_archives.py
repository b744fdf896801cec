"""What is read of an archive: each form of it, nothing that leads out of it, and damage in one line."""

from __future__ import annotations

import os
import random
import stat
import subprocess
import tarfile
import zipfile

import pytest

from benchsuite.archives import open_source
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
