"""Bring a trained checkpoint that lies in an archive or a folder below ``BENCHSUITE_DATA/models``.

Nothing of the archive is run or unpickled. Members are read one by one and written under names of our choosing.
"""

from __future__ import annotations

import importlib.util
import logging
import lzma
import secrets
import shutil
import tarfile
import zipfile
import zlib
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any

from benchsuite.errors import MissingDataError, StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_log = logging.getLogger(__name__)

#: What is taken of a transformers folder: weights, configuration, tokenizer.
_TAKEN = (".safetensors", ".json", ".txt")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, EOFError, NotImplementedError, zlib.error, lzma.LZMAError, OSError)
"""What reading a damaged archive may raise."""
_LONG = 50 * 2**20
"""Bytes from which a copy is worth a line."""


class Source:
    """The files of a folder, a zip (a wheel is one) or a tar, by their paths inside it."""

    def __init__(self, path: Path, names: Sequence[str], opener: Any) -> None:
        self._path = path
        self.names = [name for name in names if not name.endswith("/")]
        self._open = opener

    def copy(self, name: str, target: Path) -> None:
        """Write the file ``name`` to ``target``."""
        with target.open("wb") as out:
            for block in self._blocks(name):
                out.write(block)
        if target.stat().st_size > _LONG:
            _log.info("%s: %.0f MB", name, target.stat().st_size / 1e6)

    def _blocks(self, name: str) -> Iterator[bytes]:
        with _damage_told(self._path):
            opened: IO[bytes] = self._open(name)
            with opened as file:
                yield from iter(lambda: file.read(2**20), b"")


@contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        cause = " ".join(str(error).split()) or type(error).__name__
        raise MissingDataError(f"{path} is damaged or no archive: {cause}", "Get it again") from error


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Open a folder, a ``.whl`` or ``.zip``, or a tar of any compression.

    Raises:
        MissingDataError: it is none of these, is damaged, or holds a name that leads out of it.
    """
    if path.is_dir():
        yield Source(path, sorted(p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file()), _in(path))
        return
    with ExitStack() as stack:
        # The names alone: what the caller does with them may fail for reasons of its own.
        with _damage_told(path):
            if zipfile.is_zipfile(path):
                archive = stack.enter_context(zipfile.ZipFile(path))
                source = Source(path, _inside(path, archive.namelist()), archive.open)
            else:
                tape = stack.enter_context(tarfile.open(path))
                _require_end(tape)
                files = [member.name for member in tape.getmembers() if _plain(path, member)]
                source = Source(path, _inside(path, files), tape.extractfile)
        yield source


def _in(folder: Path) -> Any:
    return lambda name: (folder / name).open("rb")


def _require_end(tape: tarfile.TarFile) -> None:
    """Refuse a tar without its mark of the end: one that was cut between two members looks whole otherwise."""
    tape.getmembers()
    file = tape.fileobj
    assert file is not None
    file.seek(tape.offset)
    if len(file.read(tarfile.BLOCKSIZE)) < tarfile.BLOCKSIZE:
        raise tarfile.ReadError("it is cut off")


def _plain(path: Path, member: tarfile.TarInfo) -> bool:
    if not (member.isfile() or member.isdir()):
        raise MissingDataError(f"{path} holds {member.name!r}, which is no plain file", "Do not trust this archive")
    return member.isfile()


def _inside(path: Path, names: Sequence[str]) -> Sequence[str]:
    for name in names:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts or "\\" in name or ":" in name:
            raise MissingDataError(f"{path} holds {name!r}, which leads out of it", "Do not trust this archive")
    return names


def find_member(source: Source, path: Path, wanted: str | None) -> str:
    """Return the folder with ``config.json`` and ``*.safetensors``, or the ``.gguf`` file, that ``source`` holds.

    Args:
        source: of :func:`open_source`.
        path: for messages.
        wanted: which one, where there are several; None where there is one.

    Raises:
        MissingDataError: there is none; where there are pickles, the line says why they are not read.
        UsageError: there are several, or none is ``wanted``.
    """
    found = _checkpoints(source.names)
    if not found:
        pickled = next((name for name in source.names if name.endswith(_PICKLES)), None)
        if pickled is not None:
            raise MissingDataError(
                f"{path} holds its weights as a pickle ({pickled}), which could run code and is not read",
                "Convert it to safetensors where you trust it",
            )
        raise MissingDataError(
            f"{path} holds no checkpoint: neither config.json beside *.safetensors, nor a .gguf file",
            "docs/data.md names packages that do",
        )
    if wanted is not None:
        if wanted not in found:
            raise UsageError(f"{path} has no checkpoint {wanted!r}", f"It has {', '.join(found)}")
        return wanted
    if len(found) > 1:
        raise UsageError(f"{path} holds {len(found)} checkpoints: {', '.join(found)}", "Choose one with --member")
    return found[0]


def _checkpoints(names: Sequence[str]) -> list[str]:
    folders = {str(PurePosixPath(name).parent) for name in names if name.endswith(".safetensors")}
    whole = {folder for folder in folders if str(PurePosixPath(folder, "config.json")) in names}
    return sorted([*whole, *(name for name in names if name.endswith(".gguf"))])


def import_checkpoint(path: Path, root: Path, name: str, member: str | None = None, force: bool = False) -> Path:
    """Copy the checkpoint in ``path`` to ``root/models/name`` and return that folder. It is there whole, or not at all.

    A ``.gguf`` file is turned into float32 safetensors.

    Args:
        path: an archive or a folder.
        root: the data folder.
        name: of the new folder.
        member: which checkpoint, where the archive holds several.
        force: replace a folder that is there.

    Raises:
        UsageError: the folder is there already, or ``member`` is needed or unknown.
        MissingDataError: the archive is absent, damaged, hostile, or holds no checkpoint that can be read.
        StoreError: the data folder cannot be written.
    """
    if not path.exists():
        raise MissingDataError(f"{path} is not there", "Name an archive or a folder")
    target = root / "models" / name
    if target.exists() and not force:
        raise UsageError(f"{target} is there already", "Choose another --name, or replace it with --force")
    with open_source(path) as source:
        found = find_member(source, path, member)
        with _written_whole(target) as folder:
            if found.endswith(".gguf"):
                _convert(source, found, folder)
            else:
                _take(source, found, folder)
    return target


@contextmanager
def _written_whole(target: Path) -> Iterator[Path]:
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
    try:
        temporary.mkdir(parents=True)
        yield temporary
        if target.exists():
            shutil.rmtree(target)
        temporary.rename(target)
    except OSError as error:
        message = f"{target} cannot be written: {error.strerror or error}"
        raise StoreError(message, "Mend the folder or the disk") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _take(source: Source, folder: str, target: Path) -> None:
    for name in source.names:
        inner = PurePosixPath(name)
        if str(inner.parent) == folder and inner.suffix in _TAKEN:
            source.copy(name, target / inner.name)


def _convert(source: Source, name: str, target: Path) -> None:
    if importlib.util.find_spec("gguf") is None:
        raise UsageError(f"{name} is a GGUF file, which needs the library gguf", "pip install 'benchsuite[gguf]'")
    from benchsuite.models.zoo.build import quiet, transformers

    file = PurePosixPath(name).name
    source.copy(name, target / file)
    _log.info("%s: turning it into float32 safetensors", file)
    options: dict[str, Any] = {"gguf_file": file, "local_files_only": True, "trust_remote_code": False}
    with quiet():
        try:
            read = transformers().AutoModelForCausalLM.from_pretrained(target, **options)
            tokenizer = transformers().AutoTokenizer.from_pretrained(target, **options)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the tokenizers library panics, which is no Exception
            cause = " ".join(str(error).split())[:200]
            mend = "transformers lists the GGUF files that it knows"
            raise MissingDataError(f"{name} cannot be read: {cause}", mend) from error
        # What was read keeps the mark of a quantized model, and would be saved as one.
        del read.config.quantization_config
        model = transformers().AutoModelForCausalLM.from_config(read.config).float()
        model.load_state_dict(read.state_dict())
        model.save_pretrained(target)
        tokenizer.save_pretrained(target)
    (target / file).unlink()
