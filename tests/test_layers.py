"""Imports flow one way, plugins see what is meant for them, and listing imports nothing heavy."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "benchsuite"
PLUGINS = ROOT / "plugins"

#: What each part of the suite may import of the others (besides itself, and ``benchsuite`` for its version).
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "archives": {"errors"},
    "caching": {"errors"},
    "contracts": {"errors"},
    "plugin": {"contracts", "errors"},
    "host": {"contracts", "errors"},
    "data": {"archives", "caching", "contracts", "errors"},
    "models": {"archives", "caching", "contracts", "errors"},
    "tasks": {"caching", "contracts", "data", "errors", "models", "plugin"},
    "store": {"contracts", "errors"},
    "engine": {"caching", "contracts", "data", "errors", "host", "models", "store", "tasks"},
    "executors": {"engine", "errors", "store"},
    "boards": {"contracts", "errors", "host", "store", "tasks"},
    "testing": {"boards", "contracts", "data", "engine", "errors", "host", "models", "plugin", "store", "tasks"},
    "cli": {
        "archives",
        "boards",
        "contracts",
        "data",
        "engine",
        "errors",
        "host",
        "models",
        "plugin",
        "store",
        "tasks",
        "testing",
    },
}

#: What a plugin may import of the suite; its tests may use the test kit besides.
PLUGIN_ALLOWED = {"executors", "plugin", "models"}
PLUGIN_TESTS_ALLOWED = {"executors", "plugin", "models", "testing"}

#: Seconds of import each, or a network thread.
HEAVY = {"matplotlib", "numpy", "ogb", "pandas", "scipy", "sklearn", "torch", "torch_geometric", "transformers"}
HEAVY |= {"ray", "submitit"}
#: What ``--help`` needs none of.
NOT_FOR_HELP = HEAVY | {"logging", "platformdirs", "pluggy", "pydantic", "rich"}


class _Imports(ast.NodeVisitor):
    """Collects the modules that a source imports, at its top or inside functions; not those for type checkers."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.found: list[tuple[str, int]] = []

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for child in node.orelse:
                self.visit(child)
        else:
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        self.found += [(alias.name, node.lineno) for alias in node.names]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        parents = self.package.split(".")
        base = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
        module = ".".join(filter(None, (base, node.module)))
        # "from benchsuite import data" imports a part too.
        names = [f"{module}.{alias.name}" for alias in node.names] if module == "benchsuite" else [module]
        self.found += [(name, node.lineno) for name in names]


def imports(path: Path, root: Path) -> list[tuple[str, int]]:
    """Return what the file imports, as (module, line)."""
    visitor = _Imports(".".join(path.relative_to(root).parent.parts))
    visitor.visit(ast.parse(path.read_text(encoding="utf-8")))
    return visitor.found


def parts(path: Path, root: Path) -> list[tuple[str, int]]:
    """Return which parts of the suite the file imports, as (part, line)."""
    found = [(module.split("."), line) for module, line in imports(path, root)]
    return [(names[1], line) for names, line in found if names[0] == "benchsuite" and len(names) > 1]


def sources(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*.py") if "_plugins" not in p.parts)


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_imports_are_seen_wherever_they_stand(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    path = tmp_path / "a" / "b" / "c.py"
    path.write_text(
        "if TYPE_CHECKING:\n    import hidden\nelse:\n    import one\n"
        "def f():\n    from two.x import y\n    from .. import z\n    from .d import e\nfrom benchsuite import data\n"
    )
    assert [module for module, _ in imports(path, tmp_path)] == ["one", "two.x", "a", "a.b.d", "benchsuite.data"]


def test_the_table_has_no_cycle():
    for part, allowed in ALLOWED.items():
        assert part not in allowed
        for other in allowed:
            assert part not in ALLOWED[other], f"{part} and {other} may import each other"


@pytest.mark.parametrize("part", sorted(ALLOWED))
def test_imports_flow_one_way(part):
    files = [path for path in sources(PACKAGE) if part_of(path) == part]
    assert files, f"no module is in {part!r}: take it out of the table"
    allowed = ALLOWED[part] | {part, "__version__"}
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {imported}"
        for path in files
        for imported, line in parts(path, ROOT)
        if imported not in allowed
    ]
    assert wrong == []


def test_every_module_is_in_the_table():
    known = {*ALLOWED, "__init__", "__main__"}
    assert {part_of(path) for path in sources(PACKAGE)} <= known


def test_plugins_import_what_is_meant_for_them():
    wrong = []
    for path in sources(PLUGINS):
        inside = path.relative_to(PLUGINS).parts
        allowed = PLUGIN_TESTS_ALLOWED if inside[1] == "tests" else PLUGIN_ALLOWED
        own = "benchsuite_" + inside[0].replace("-", "_")
        for part, line in parts(path, PLUGINS / inside[0]):
            if part not in allowed:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports benchsuite.{part}")
        for module, line in imports(path, PLUGINS / inside[0]):
            if module.startswith("benchsuite_") and module.split(".")[0] != own:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports another plugin, {module}")
    assert wrong == []


PROBE = """
import contextlib, io, json, sys
from benchsuite.cli.main import main
commands, forbidden = json.loads(sys.argv[1]), set(json.loads(sys.argv[2]))
met = {}
for command in commands:
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            code = main(command)
        except SystemExit as exit:
            code = exit.code
    met[" ".join(command)] = [code, sorted(forbidden & {name.partition(".")[0] for name in sys.modules})]
print(json.dumps(met))
"""


def probe(commands: list[list[str]], forbidden: set[str]) -> dict[str, list]:
    """Run commands in one new process; return for each its exit code and which forbidden modules are there after it."""
    words = [json.dumps(commands), json.dumps(sorted(forbidden))]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("BENCHSUITE_")}
    done = subprocess.run([sys.executable, "-c", PROBE, *words], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_help_imports_click_and_little_else():
    assert probe([["--help"], ["--version"]], NOT_FOR_HELP) == {"--help": [0, []], "--version": [0, []]}


def test_listing_and_showing_import_nothing_heavy():
    lists = [["list", what] for what in ("methods", "tasks", "suites", "plugins", "datasets")]
    shows = [["show", name] for name in ("topgq", "cora-gcn", "cora", "quick", "builtin")]
    commands = [*lists, ["list", "methods", "--json"], ["data", "list"], *shows]
    assert probe(commands, HEAVY) == {" ".join(command): [0, []] for command in commands}


def test_the_probe_sees_what_it_should():
    """A probe that can find nothing would pass for ever."""
    assert probe([["list", "methods"]], {"pydantic", "click"}) == {"list methods": [0, ["click", "pydantic"]]}
