"""``benchsuite new``: the folder of a new plugin, complete but for the method itself."""

from __future__ import annotations

import builtins
import json
import keyword
import re
import shutil
import tempfile
from pathlib import Path

import click

from benchsuite import plugin as api
from benchsuite.cli.common import BUILTINS
from benchsuite.contracts.cards import KINDS
from benchsuite.errors import UsageError, near
from benchsuite.host import HostOptions, load_catalogue
from benchsuite.host.discovery import bundled_folder

__all__ = ["new", "scaffold"]

TEMPLATES = Path(__file__).parent / "templates"

#: File of the scaffold -> template; braces are filled in.
FILES = {
    "pyproject.toml": "pyproject.toml.j2",
    "README.md": "README.md.j2",
    "{package}/__init__.py": "card.py.j2",
    "{package}/method.py": "method.py.j2",
    "tests/conftest.py": "conftest.py.j2",
    "tests/test_{module}.py": "test.py.j2",
}

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST = 40


@click.command()
@click.argument("kind")
@click.argument("name")
@click.option(
    "--dir",
    "parent",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("plugins"),
    show_default=True,
    metavar="FOLDER",
    help="Where the plugin's folder goes.",
)
@click.option("--author", default="", metavar="NAME", help="Goes into pyproject.toml.")
def new(kind: str, name: str, parent: Path, author: str) -> None:
    """Write a new plugin called NAME, of KIND quantizer: card, method file and tests.

    The tests pass but for those that need the method, which is yours to write.
    """
    _check_kind(kind)
    _check_free(name)
    folder = scaffold(name, parent, author)
    click.echo(f"wrote {folder}; next:")
    path = "" if _is_found_by_itself(parent) else f" --plugin-path {parent}"
    for step in (
        f"write the method in {folder / _package(name) / 'method.py'}",
        f"pytest {folder}",
        f"benchsuite check {folder}",
        f"benchsuite run --plugin {name} --task digits-knn-gcn --seeds 2{path}",
    ):
        click.echo(f"  {step}")


def scaffold(name: str, parent: Path, author: str = "") -> Path:
    """Write the folder ``parent/name`` and return it; either all of it is there in the end or nothing.

    Args:
        name: of the plugin and its method.
        parent: made where it does not exist.
        author: goes into ``pyproject.toml``; empty leaves it out.

    Raises:
        UsageError: the name is no plugin's name, the author is no line, the folder exists, or it cannot be written.
    """
    _check_name(name)
    if not author.isprintable():
        raise UsageError("--author takes one line of printable text", "Example: --author 'Ada Lovelace'")
    folder = parent / name
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{folder} exists already", "Take another name or another --dir; nothing was written")
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=parent) as temporary:
            draft = Path(temporary) / name
            for file, text in _render(name, author).items():
                (draft / file).parent.mkdir(parents=True, exist_ok=True)
                (draft / file).write_text(text, encoding="utf-8")
            shutil.move(draft, folder)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror or error}", "Name another --dir") from error
    return folder


def _render(name: str, author: str) -> dict[str, str]:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES / "quantizer"),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # it writes Python, TOML and Markdown; the only free text goes through the filter
    )
    environment.filters["toml"] = json.dumps  # JSON's strings are TOML's basic strings
    words = {"name": name, "package": _package(name), "module": name.replace("-", "_"), "author": author}
    words["class_name"] = _class_name(name)
    return {path.format(**words): environment.get_template(file).render(words) for path, file in FILES.items()}


def _check_kind(kind: str) -> None:
    if kind == "quantizer":
        return
    if kind in KINDS:
        raise UsageError(
            f"only a quantizer can be scaffolded so far, not a {kind}",
            f"Its contract is in benchsuite/contracts/{kind}.py",
        )
    raise UsageError(f"there is no kind {kind!r}", near(kind, KINDS))


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        rule = f"lower-case letters and digits, hyphens between words, {_LONGEST} characters at most"
        raise UsageError(f"{name!r} cannot be a plugin's name", f"It takes {rule}: my-quant")


def _check_free(name: str) -> None:
    """Refuse a name that a plugin or a method has: nobody would get it."""
    catalogue = load_catalogue(HostOptions(builtins=BUILTINS))
    for info in catalogue.plugins:
        if info.name == name:
            raise UsageError(f"there is a plugin {name!r} already, in {info.location}", "Take another name")
    if name in catalogue.methods:
        owner = catalogue.plugin_of(name).name
        raise UsageError(f"the plugin {owner!r} offers a method {name!r} already", "Take another name")


def _is_found_by_itself(parent: Path) -> bool:
    bundled = bundled_folder()
    return bundled is not None and parent.resolve() == bundled.resolve()


def _package(name: str) -> str:
    return f"benchsuite_{name.replace('-', '_')}"


def _class_name(name: str) -> str:
    """Return ``my-quant`` as ``MyQuant``, with ``Quantizer`` before it where that is no usable class name."""
    camel = "".join(word.capitalize() for word in name.split("-"))
    taken = keyword.iskeyword(camel) or camel[0].isdigit() or camel in api.__all__ or hasattr(builtins, camel)
    return f"Quantizer{camel}" if taken else camel
